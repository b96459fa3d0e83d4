"""Run scenarios outside pytest: `python -m tests.differential [WORD …]` prints every difference of those so named."""

from __future__ import annotations

import sys
import time

from . import cases
from .pairs import Pairs
from .scenario import ALL

assert cases.__all__


def main(words: list[str]) -> None:
    """Run what is chosen and print what differs."""
    both = Pairs()
    for scenario in sorted(ALL, key=lambda one: (one.flags, one.environment, not one.fresh)):
        if words and not any(word in scenario.name for word in words):
            continue
        begun = time.monotonic()
        try:
            lines = both.run(scenario).differences
        except Exception as error:
            lines = [f"{type(error).__name__}: {error}"]
        print(
            f"{'ok ' if not lines else 'NOT'} {scenario.name}  ({time.monotonic() - begun:.1f} s: {both.seconds})",
            flush=True,
        )
        for line in lines:
            print(f"      {line}")
    both.stop()
    print(f"{both.scenarios} scenarios compared, {both.fields} fields agreed")


if __name__ == "__main__":
    main(sys.argv[1:])
