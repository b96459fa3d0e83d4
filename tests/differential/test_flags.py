"""Every flag and variable in llama-server's help is followed here, harmless, or refused with a reason."""

from __future__ import annotations

import re
import subprocess

import pytest

from slotview.engine.flag_table import FLAGS, HARMLESS, REFUSED, REFUSED_VARIABLES

from .servers import REAL

pytestmark = [
    pytest.mark.llama_server,
    pytest.mark.skipif(not REAL, reason="LLAMA_SERVER_BIN names no llama-server"),
]

OPTION = re.compile(r"(?<![\w-])--?[A-Za-z][\w.-]*")
OURS_ELSEWHERE = {"-h", "--help", "--usage", "--version"}  # of `slotview serve` itself


@pytest.fixture(scope="module")
def options() -> list[tuple[set[str], str]]:
    """The names and the variable of each option."""
    text = subprocess.run([REAL, "--help"], capture_output=True, text=True, check=True).stdout
    found = []
    for block in re.split(r"\n(?=-)", text):
        names = re.split(r" {2,}(?=[^-])|\n| (?=[A-Z<{\[])", re.sub(r",\s+", ",", block))[0]
        variable = re.search(r"\(env: (\w+)\)", block)
        found.append((set(OPTION.findall(names)), variable[1] if variable else ""))
    return [one for one in found if one[0]]


def test_every_flag_is_known(options: list[tuple[set[str], str]]) -> None:
    known = {name for flag in FLAGS for name in (*flag.names, *flag.negative)} | REFUSED.keys() | OURS_ELSEWHERE
    assert len(options) > 200
    assert set().union(*(names for names, _ in options)) - known == set()


def test_every_variable_of_what_is_no_harmless_flag_is_known(options: list[tuple[set[str], str]]) -> None:
    harmless = {name for flag in HARMLESS for name in flag.names}
    variables = {flag.env for flag in FLAGS} | REFUSED_VARIABLES.keys()
    assert {variable for names, variable in options if variable and not names & harmless} - variables == set()
