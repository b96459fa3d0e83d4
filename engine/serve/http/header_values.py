"""What the values of headers are made of: lists with commas, and whole numbers."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["list_entries", "whole_number"]

DECISIVE = 21  # digits: a number of so many is above 64 bits


def list_entries(values: Iterable[bytes]) -> list[bytes]:
    """The entries of a list with commas, which may go over several lines of a header; empty ones are none."""
    return [word for value in values for entry in value.split(b",") if (word := entry.strip(b" \t"))]


def whole_number(digits: bytes) -> int:
    """The number that digits say. Of those above 64 bits only that much is told, since Python reads no long ones."""
    return int(digits.lstrip(b"0")[:DECISIVE] or b"0")
