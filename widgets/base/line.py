"""Lines of text with tones: what widgets draw, compare, and turn into strips.

A tone says what a piece of text means (a generating slot, a warning); the theme says which colour that is. A line is a
plain tuple, so that comparing two of them costs almost nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache

from rich.cells import cell_len, chop_cells, set_cell_size
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip
from textual.style import Style as VisualStyle
from textual.widget import Widget

__all__ = [
    "TONES",
    "Line",
    "Span",
    "break_text",
    "cut",
    "cut_middle",
    "fit",
    "flow",
    "join",
    "line_width",
    "pad",
    "to_strip",
    "tone_style",
    "wrap",
]

Span = tuple[str, str]
"""Text and its tone; "" = the widget's own colour."""
Line = tuple[Span, ...]

_WORDS = re.compile(r"(?:\S*?\d(?: \d{3})+(?!\d))+\S*\s*|\S+\s*|\s+")
"""Words with the spaces behind them; a number in groups of three digits is one word."""
TONES = {
    "": "",
    "strong": "bold",
    "dim": "$foreground 70%",
    "faint": "$foreground 50%",
    "prompt": "$text-primary",
    "generating": "$text-success",
    "cached": "$foreground 75%",
    "waiting": "$text-warning",
    "good": "$text-success",
    "warning": "$text-warning",
    "error": "$text-error",
    "track": "on $foreground 10%",
    "bar-prompt": "$text-primary 70% on $foreground 10%",
    "bar-generating": "$text-success 70% on $foreground 10%",
    "bar-cached": "$foreground 40% on $foreground 10%",
    "bar-waiting": "$text-warning 70% on $foreground 10%",
    "bar-error": "$text-error 80% on $foreground 10%",
    "heading": "bold $foreground 70%",
    "badge": "bold auto on $warning",
    "cursor": "on $foreground 8%",
    "cursor-focused": "on $primary 25%",
    "track-ansi": "underline",
    "cursor-ansi": "underline",
    "cursor-focused-ansi": "reverse",
}
"""What each tone adds to the style of the widget that it is drawn on.

The terminal's own colours cannot be mixed: a theme of those uses the tone with "-ansi" at its end, if there is one.

These are not component classes, since Textual recomputes the styles of those for a widget whenever one of its own
classes changes, which took a fifth of the time to the first frame.
"""


def tone_style(widget: Widget, tone: str, cursor: str = "") -> Style:
    """The style of a tone in the current theme, on the widget's colours or on a cursor's; bars have their own."""
    ground = "" if tone == "track" or tone.startswith("bar-") else cursor
    theme = widget.app.current_theme
    return _blended(widget.visual_style, ground, tone, theme.name, theme.ansi)


@lru_cache(maxsize=1024)
def _blended(colours: VisualStyle, ground: str, tone: str, theme: str, ansi: bool) -> Style:
    parts = [TONES.get(f"{name}-ansi", TONES[name]) if ansi else TONES[name] for name in (ground, tone)]
    return sum(map(VisualStyle.parse, parts), start=colours).rich_style


def cut(text: str, width: int) -> str:
    """At most ``width`` cells of a text, with "…" in place of the rest; wide characters are never halved."""
    if cell_len(text) <= width:
        return text
    return set_cell_size(text, width - 1).rstrip() + "…" if width > 0 else ""


def cut_middle(text: str, width: int) -> str:
    """At most ``width`` cells of a text, from its beginning and its end, so that texts with a common start differ."""
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
    """Pad or cut a text to exactly ``width`` cells; ``right`` aligns it to the right."""
    shown = cut(text, width)
    space = " " * (width - cell_len(shown))
    return space + shown if right else shown + space


def wrap(text: str, width: int, most: int | None = None) -> list[str]:
    """Break a text at spaces into lines of at most ``width`` cells; longer words are broken anywhere.

    If there are more than ``most`` lines, the last of those ends in "…".
    """
    rows = [row.rstrip() for row in break_text(text, width)]
    if most is None or len(rows) <= most:
        return rows
    return [*rows[: most - 1], cut(f"{rows[most - 1]}…", max(1, width))] if most > 0 else []


def break_text(text: str, width: int) -> list[str]:
    """Break a text as `wrap` does, but keep the spaces at the ends of rows: joined, the rows are the text again.

    A width of 0 counts as 1.
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
    """Cut a line to at most ``width`` cells, with "…" in place of the rest."""
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
    """How many cells a line takes."""
    return sum(cell_len(text) for text, _ in line)


def join(parts: Sequence[Line], gap: str = " · ") -> Line:
    """Put parts side by side."""
    spans: list[Span] = []
    for part in parts:
        if spans:
            spans.append((gap, "faint"))
        spans += part
    return tuple(spans)


def flow(parts: Sequence[Line], width: int, gap: str = " · ") -> list[Line]:
    """Put parts side by side, starting a new line whenever one does not fit."""
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
