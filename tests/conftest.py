"""How the tests are spread over processes, and what a run of them says at its end."""

from __future__ import annotations

import os
from collections import Counter

import pytest


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """One process for some of the tests, which it runs at once, and for a real server, which wants all cores."""
    is_some = config.args_source is not pytest.Config.ArgsSource.TESTPATHS
    return 0 if is_some or "LLAMA_SERVER_BIN" in os.environ else None


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say why tests were skipped, each reason once."""
    skipped = terminalreporter.stats.get("skipped", [])
    reasons = Counter(report.longrepr[2].removeprefix("Skipped: ") for report in skipped)
    for reason, number in reasons.most_common():
        terminalreporter.write_line(f"{number} skipped: {reason}")
