"""Servers for the whole run, and the count at its end."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from .pairs import Pairs

COUNTS = pytest.StashKey[str]()


@pytest.fixture(scope="session")
def pairs(request: pytest.FixtureRequest) -> Iterator[Pairs]:
    """Both servers; afterwards the number of scenarios and fields that agreed is printed."""
    both = Pairs()
    yield both
    both.stop()
    late = f", {len(both.missed)} set up anew" if both.missed else ""
    request.config.stash[COUNTS] = f"{both.scenarios} scenarios compared, {both.fields} fields agreed{late}"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print the count."""
    if COUNTS in config.stash:
        terminalreporter.write_sep("=", config.stash[COUNTS])
