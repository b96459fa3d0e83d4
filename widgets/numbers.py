"""Numbers as text. None means not known and shows as a dash, never as 0."""

from __future__ import annotations

from math import isfinite

__all__ = ["UNKNOWN", "coarse", "count", "duration", "percent", "rate", "size"]

UNKNOWN = "–"
_STEPS = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


def count(value: float | None, width: int | None = None) -> str:
    """A whole number in groups of three, "51 200"; if that does not fit into ``width`` cells, "51.2k"."""
    if value is None or not isfinite(value):
        return UNKNOWN
    text = f"{round(value):,}".replace(",", " ")
    return text if width is None or len(text) <= width else _short(value)


def rate(value: float | None, *, at_least: bool = False) -> str:
    """Tokens per second: "0.42", "12.3", "1 900", "≥ 12.3"."""
    if value is None or not isfinite(value):
        return UNKNOWN
    if at_least:
        return f"≥ {rate(value)}"
    if 0 < abs(value) < 1:
        return f"{value:.2f}"
    return f"{value:.1f}" if abs(value) < 99.95 else count(value)


def duration(seconds: float | None) -> str:
    """A length of time: "0.4 s", "12 s", "2 m 05 s", "1 h 03 m"."""
    if seconds is None or not isfinite(seconds):
        return UNKNOWN
    if seconds < 9.95:
        return f"{max(0.0, seconds):.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} m {whole % 60:02} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02} m"


def coarse(seconds: float) -> str:
    """A length of time in few cells: "95 s", "10 m", "3 h"."""
    if seconds < 100:
        return f"{int(seconds)} s"
    return f"{int(seconds / 60)} m" if seconds < 6000 else f"{int(seconds / 3600)} h"


def percent(part: float | None, whole: float | None) -> str:
    """A share in percent, "9 %"; unknown if either is unknown or the whole is 0."""
    if part is None or not whole:
        return UNKNOWN
    share = 100 * part / whole
    return "< 1 %" if 0 < share < 0.5 else f"{round(share)} %"


def size(n_bytes: float | None) -> str:
    """Bytes in binary units: "512 KiB", "24.0 MiB"."""
    if n_bytes is None:
        return UNKNOWN
    value, unit = float(n_bytes), "B"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        if value < 1024:
            break
        value, unit = value / 1024, larger
    return f"{value:.0f} {unit}" if value >= 100 or unit == "B" else f"{value:.1f} {unit}"


def _short(value: float) -> str:
    for step, letter in _STEPS:
        if abs(value) >= 0.9995 * step:
            scaled = value / step
            return f"{scaled:.0f}{letter}" if abs(scaled) >= 99.95 else f"{scaled:.1f}{letter}"
    return f"{value:.0f}"
