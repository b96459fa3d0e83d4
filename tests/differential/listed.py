"""Keys of the table of known differences."""

from __future__ import annotations

import re
from pathlib import Path

__all__ = ["ROUNDING", "TABLE", "listed_keys"]

TABLE = Path(__file__).parents[2] / "docs" / "differences.md"
ROUNDING = "rounded-cache"  # shown by the greedy texts, not by a scenario
ROW = re.compile(r"^\| `([a-z0-9-]+)` \|", re.MULTILINE)


def listed_keys(text: str | None = None) -> list[str]:
    """Keys in the order of the table's rows."""
    return ROW.findall(TABLE.read_text(encoding="utf-8") if text is None else text)
