"""The header Range, by cpp-httplib's rules: it is looked at, and then the whole answer is sent all the same."""

from __future__ import annotations

import re

from .header_values import list_entries, whole_number

__all__ = ["Ranges", "lie_outside", "read_ranges"]

RANGE = re.compile(rb"([0-9]*)-([0-9]*)")
MOST_RANGES = 1024
MOST_OVERLAPPING = 2
LARGEST = 2**63 - 1
Range = tuple[int | None, int | None]
"""First and last byte; None = not given."""
Ranges = list[Range]


def read_ranges(value: bytes) -> Ranges | None:
    """Read ``bytes=`` and ranges; None where something else stands there, or a first byte behind its last."""
    if not value.startswith(b"bytes="):
        return None
    ranges: Ranges = []
    for entry in list_entries([value.removeprefix(b"bytes=")]):
        one = _read_range(entry)
        if one is None:
            return None
        ranges.append(one)
    return ranges or None


def _read_range(entry: bytes) -> Range | None:
    """Read one; a last byte that 63 bits do not count is as good as none."""
    found = RANGE.fullmatch(entry)
    if found is None:
        return None
    first, last = (whole_number(digits) if digits else None for digits in found.groups())
    if last is not None and last > LARGEST:
        last = None
    is_wrong = last is None if first is None else first > (LARGEST if last is None else last)
    return None if is_wrong else (first, last)


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
