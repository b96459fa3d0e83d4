"""The header Range, by cpp-httplib's rules: it is looked at, and then the whole answer is sent all the same."""

from __future__ import annotations

import re

__all__ = ["Ranges", "lie_outside", "read_ranges"]

RANGE = re.compile(rb"([0-9]*)-([0-9]*)")
MOST_RANGES = 1024
MOST_OVERLAPPING = 2
LARGEST = 2**63 - 1
DECISIVE = 20  # digits: a number of so many is above LARGEST
Ranges = list[tuple[int | None, int | None]]
"""First and last byte of each range; None = not given."""


def read_ranges(value: bytes) -> Ranges | None:
    """Read ``bytes=`` and ranges; None where something else stands there, or a first byte behind its last."""
    entries = [word for entry in value.removeprefix(b"bytes=").split(b",") if (word := entry.strip(b" \t"))]
    if not entries or not value.startswith(b"bytes="):
        return None
    ranges: Ranges = []
    for entry in entries:
        found = RANGE.fullmatch(entry)
        first, last = (None, None) if found is None else (_number(found[1]), _number(found[2]))
        if last is not None and last > LARGEST:
            last = None
        if (first is None and last is None) or (first is not None and first > LARGEST):
            return None
        if first is not None and last is not None and first > last:
            return None
        ranges.append((first, last))
    return ranges


def _number(digits: bytes) -> int | None:
    """The number that digits say, None for no digits; of a longer one only that it is above `LARGEST`."""
    return int(digits.lstrip(b"0")[:DECISIVE] or b"0") if digits else None


def lie_outside(ranges: Ranges, size: int) -> bool:
    """Whether an answer of ``size`` bytes lacks what is asked for, or is asked for it too often."""
    seen: list[tuple[int, int]] = []
    n_overlapping = 0
    for one in ranges:
        first, last = _placed(*one, size)
        if not 0 <= first <= last:
            return True
        n_overlapping += any(first <= end and begin <= last for begin, end in seen)
        seen.append((first, last))
    return len(ranges) > MOST_RANGES or n_overlapping > MOST_OVERLAPPING


def _placed(first: int | None, last: int | None, size: int) -> tuple[int, int]:
    """The first and the last byte in an answer; without a first one so many at its end are meant."""
    if first is None:
        return size - (last or 0), size - 1
    return first, size - 1 if last is None else min(last, size - 1)
