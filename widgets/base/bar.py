"""Bars drawn in eighths of a block; the bar of a tone has the tone "bar-…"."""

from __future__ import annotations

from collections.abc import Sequence

from .line import Line, Span

__all__ = ["bar", "parts_bar", "shares"]

_EIGHTHS = " ▏▎▍▌▋▊▉"


def bar(fraction: float, width: int, tone: str) -> Line:
    """A bar of ``width`` cells, filled by a fraction from 0 to 1; any fraction above 0 shows."""
    inside = min(1.0, max(0.0, fraction))
    eighths = min(8 * width, max(round(inside * width * 8), 1 if inside > 0 else 0))
    full, rest = divmod(eighths, 8)
    text = "█" * full + (_EIGHTHS[rest] if rest else "")
    return _filled(((text, f"bar-{tone}"), (" " * (width - len(text)), "track")))


def parts_bar(parts: Sequence[tuple[float, str]], whole: float, width: int) -> Line:
    """Consecutive parts of a whole, each (amount, tone), and the rest. If they exceed the whole, they fill the bar."""
    amounts = [max(0.0, amount) for amount, _ in parts]
    free = max(0.0, whole - sum(amounts))
    cells = shares([*amounts, free], width)
    spans = [("█" * n, f"bar-{tone}") for n, (_, tone) in zip(cells, parts, strict=False)]
    return _filled((*spans, (" " * cells[-1], "track")))


def shares(amounts: Sequence[float], width: int) -> list[int]:
    """Divide ``width`` cells by amounts (largest remainder); amounts above 0 get a cell, as far as there are any."""
    total = sum(amounts)
    if total <= 0:
        return [0] * (len(amounts) - 1) + [width]
    exact = [amount * width / total for amount in amounts]
    cells = [max(int(value), 1 if value > 0 else 0) for value in exact]
    while sum(cells) > width:
        cells[max(range(len(cells)), key=lambda i: (cells[i] - exact[i] if cells[i] > 1 else -1.0, cells[i]))] -= 1
    while sum(cells) < width:
        cells[max(range(len(cells)), key=lambda i: exact[i] - cells[i])] += 1
    return cells


def _filled(spans: Sequence[Span]) -> Line:
    return tuple((text, tone) for text, tone in spans if text)
