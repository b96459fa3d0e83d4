"""Lines of text with tones: what widgets draw, compare and turn into strips.

A tone says what a piece of text means (a generating slot, a warning); the theme says which colour that is. A line is a
plain tuple, so that two of them are compared in no time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from rich.cells import cell_len, chop_cells, set_cell_size
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

__all__ = [
    "TONES",
    "TONE_RULES",
    "Line",
    "Span",
    "break_text",
    "component",
    "cut",
    "cut_middle",
    "fit",
    "flow",
    "join",
    "line_width",
    "pad",
    "to_strip",
    "wrap",
]

Span = tuple[str, str]
"""Text and its tone; "" = the widget's own colour."""
Line = tuple[Span, ...]

_WORDS = re.compile(r"\S+\s*|\s+")
_RULES = {
    "plain": "text-style: none",
    "strong": "text-style: bold",
    "dim": "color: $foreground 60%",
    "faint": "color: $foreground 25%",
    "prompt": "color: $text-primary",
    "generating": "color: $text-success",
    "cached": "color: $foreground 75%",
    "waiting": "color: $text-warning",
    "good": "color: $text-success",
    "warning": "color: $text-warning",
    "error": "color: $text-error",
    "track": "background: $foreground 10%",
    "bar-prompt": "color: $primary 80%; background: $foreground 10%",
    "bar-generating": "color: $success 75%; background: $foreground 10%",
    "bar-cached": "color: $foreground 40%; background: $foreground 10%",
    "bar-waiting": "color: $warning 80%; background: $foreground 10%",
    "bar-error": "color: $error 90%; background: $foreground 10%",
    "heading": "color: $foreground 60%; text-style: bold",
    "badge": "background: $warning; color: $background; text-style: bold",
    "cursor": "background: $foreground 8%",
    "cursor-focused": "background: $primary 35%",
}


def component(tone: str) -> str:
    """Name of a tone's component class. The widget's own colour has one too, since Textual keeps those at hand."""
    return f"tone--{tone or 'plain'}"


TONES = {component(tone) for tone in _RULES}
TONE_RULES = "\n".join(f"& > .{component(tone)} {{ {rule}; }}" for tone, rule in _RULES.items())
"""CSS to nest in a widget's own rules."""


def cut(text: str, width: int) -> str:
    """At most ``width`` cells of a text, the loss shown by "…"; wide characters are never halved."""
    if cell_len(text) <= width:
        return text
    return set_cell_size(text, width - 1).rstrip() + "…" if width > 0 else ""


def cut_middle(text: str, width: int) -> str:
    """At most ``width`` cells of a text, its beginning and its end: texts that begin alike stay apart."""
    if cell_len(text) <= width:
        return text
    head = cut(text, width - width // 2)
    rest = width - cell_len(head)
    tail = ""
    for char in reversed(text):
        if cell_len(char + tail) > rest:
            break
        tail = char + tail
    return head + tail


def pad(text: str, width: int, right: bool = False) -> str:
    """Exactly ``width`` cells; ``right`` puts the text at the right."""
    shown = cut(text, width)
    space = " " * (width - cell_len(shown))
    return space + shown if right else shown + space


def wrap(text: str, width: int) -> list[str]:
    """Break a text at blanks into lines of at most ``width`` cells; words that are longer are broken anywhere."""
    return [row.rstrip() for row in break_text(text, width)]


def break_text(text: str, width: int) -> list[str]:
    """Break a text as `wrap` does, each row with the blanks at its end: together they are the text again.

    A window of no width gets rows of one cell.
    """
    width = max(1, width)
    rows: list[str] = []
    row = ""
    for word in _WORDS.findall(text):
        if row and cell_len(row) + cell_len(word.rstrip()) > width:
            rows.append(row)
            row = ""
        row += word
        if cell_len(row.rstrip()) > width:
            *full, row = chop_cells(row, width)
            rows += full
    return [*rows, row]


def fit(line: Line, width: int) -> Line:
    """A line of at most ``width`` cells, the loss shown by "…"."""
    if line_width(line) <= width:
        return line
    kept: list[Span] = []
    for text, tone in line:
        kept.append((cut(text, width), tone))
        width -= cell_len(text)
        if width < 0:
            break
    return tuple(kept)


def line_width(line: Iterable[Span]) -> int:
    """Cells a line takes."""
    return sum(cell_len(text) for text, _ in line)


def join(parts: Sequence[Line], gap: str = " · ") -> Line:
    """Set parts side by side."""
    spans: list[Span] = []
    for part in parts:
        if spans:
            spans.append((gap, "faint"))
        spans += part
    return tuple(spans)


def flow(parts: Sequence[Line], width: int, gap: str = " · ") -> list[Line]:
    """Set parts side by side, on a new line where one does not fit."""
    lines: list[Line] = []
    row: list[Line] = []
    for part in parts:
        if row and line_width(join([*row, part], gap)) > width:
            lines.append(join(row, gap))
            row = []
        row.append(part)
    return [*lines, join(row, gap)] if row else lines


def to_strip(line: Iterable[Span], width: int, style_of: Callable[[str], Style]) -> Strip:
    """Make a strip of exactly ``width`` cells."""
    segments = [Segment(text, style_of(tone)) for text, tone in line if text]
    return Strip(segments).adjust_cell_length(width, style_of(""))
