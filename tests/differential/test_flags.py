"""Every flag and variable in llama-server's help is followed here, harmless, or refused with a reason."""

from __future__ import annotations

import re
import subprocess

import pytest

from slotview.engine.flags import FlagError, parse_flags
from slotview.engine.flags.flag import Kind
from slotview.engine.flags.table import FLAGS, HARMLESS, OWN, REFUSED, REFUSED_VARIABLES

from .servers import REAL, WHY_NOT

pytestmark = [
    pytest.mark.llama_server,
    pytest.mark.skipif(not REAL, reason=WHY_NOT),
]

OPTION = re.compile(r"(?<![\w-])--?[A-Za-z][\w.-]*")
FREE = {"HF_TOKEN", "MTMD_BACKEND_DEVICE"}  # not llama-server's alone
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


def test_every_variable_is_known(options: list[tuple[set[str], str]]) -> None:
    variables = {flag.env for flag in FLAGS} | REFUSED_VARIABLES.keys() | FREE
    assert {variable for _, variable in options if variable} - variables == set()


def test_no_option_is_taken_that_llama_server_does_not_know(options: list[tuple[set[str], str]]) -> None:
    names = set().union(*(names for names, _ in options))
    ours = {name for flag in OWN for name in flag.names}
    assert {name for flag in FLAGS for name in (*flag.names, *flag.negative)} - ours - names == set()


@pytest.mark.parametrize("word", ["5", "abc", "on", "none", "auto"])
def test_a_harmless_option_takes_the_words_that_llama_server_takes(word: str) -> None:
    """What follows a wrong option shows that the options before it were read."""
    for flag in HARMLESS:
        if (flag.kind is Kind.TEXT and flag.read is str) or flag.kind is Kind.SWITCH or flag.complaint:
            continue
        told = subprocess.run([REAL, flag.names[0], word, "--wrong"], capture_output=True, text=True, check=False)
        takes = "invalid argument: --wrong" in told.stderr + told.stdout
        assert takes == is_taken([flag.names[0], word]), flag.names[0]


def is_taken(words: list[str]) -> bool:
    try:
        parse_flags(words)
    except FlagError:
        return False
    return True
