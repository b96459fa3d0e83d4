"""One request's text as it streams, and what is known about it."""

from __future__ import annotations

from slotview.engine.backend import RequestView
from slotview.engine.plain import plain

from .line import Line, flow, wrap
from .line_scroll import LineScroll
from .look import Look
from .numbers import count, duration, rate

__all__ = ["RequestText"]

_LONGEST = 200_000


class RequestText(LineScroll):
    """Prompt and answer, wrapped; follows the end while it is in view."""

    DEFAULT_CSS = """
    RequestText { height: 1fr; min-height: 3; }
    """

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 (Textual's name)
        super().__init__(id=id, classes=classes)
        self._lines: list[Line] = []
        self._shown: tuple[RequestView, str, int] | None = None

    @property
    def n_lines(self) -> int:
        """Lines of everything."""
        return len(self._lines)

    def draw_line(self, index: int, width: int) -> Line:
        """Make one line."""
        return self._lines[index]

    def show(self, look: Look) -> None:
        """A request is shown by `show_request`."""

    def show_request(self, view: RequestView, text: str) -> None:
        """Show a request with all its text so far."""
        width = self.row_width
        if width <= 0 or self._shown == (view, text, width):
            return
        self._shown = (view, text, width)
        at_end = self.scroll_offset.y >= self.max_scroll_y
        self._lines = [*flow(_facts(view), width), (), *_wrapped(view.prompt, width, "dim")]
        self._lines += [(), *_wrapped(text, width, "")]
        self.lay_out()
        if at_end:
            self.scroll_end(animate=False)

    def lay_out(self) -> None:
        """Wrap again where the width changed."""
        if self._shown is not None and self._shown[2] != self.row_width:
            view, text, _ = self._shown
            self._shown = None
            self.show_request(view, text)
            return
        super().lay_out()


def _wrapped(text: str, width: int, tone: str) -> list[Line]:
    """A text's own lines, each broken to the width."""
    lines = text[-_LONGEST:].split("\n")
    return [((part, tone),) for line in lines for part in wrap(plain(line, _LONGEST), width) or [""]]


def _facts(view: RequestView) -> list[Line]:
    facts: list[tuple[str, str]] = [("state", str(view.state))]
    if view.slot is not None:
        facts.append(("slot", str(view.slot)))
    facts += [
        ("waited", duration(view.queue_wait)),
        ("first token after", duration(view.first_token)),
        ("prompt", f"{count(view.n_prompt)} tokens, {count(view.n_cached)} cached"),
        ("decoded", count(view.n_decoded)),
        ("tok/s", rate(view.tokens_per_second)),
    ]
    if view.finish:
        facts.append(("end", plain(view.finish, 300)))
    return [((f"{name} ", "dim"), (value, "")) for name, value in facts]
