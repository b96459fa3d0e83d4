"""The text of one request as it streams, and what is known about the request."""

from __future__ import annotations

from slotview.engine.backend import RequestState, RequestView
from slotview.engine.text.plain import plain

from .base.following_scroll import FollowingScroll
from .base.line import Line, break_text, flow, wrap
from .look import Look
from .numbers import count, duration, rate

__all__ = ["RequestText"]


class RequestText(FollowingScroll):
    """Prompt and answer, wrapped; follows the end while that is in view."""

    DEFAULT_CSS = """
    RequestText { height: 1fr; min-height: 3; }
    """

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 (Textual's name)
        super().__init__(id=id, classes=classes)
        self._shown: tuple[RequestView, str] | None = None
        self._facts: list[Line] = []
        self._prompt = _Wrapped("dim")
        self._answer = _Wrapped("")
        self._end: list[Line] = []

    @property
    def n_lines(self) -> int:
        """Lines of all parts, with empty lines between them."""
        return 0 if self._shown is None else sum(map(len, self._parts)) + len(self._parts) - 1

    @property
    def _parts(self) -> list[list[Line]]:
        """Facts, prompt and answer, and how it ended: last, since the end is what is in view."""
        return [self._facts, self._prompt.lines, self._answer.lines, *([self._end] if self._end else [])]

    def draw_line(self, index: int, width: int) -> Line:
        """Make one line."""
        for lines in self._parts:
            if index < len(lines):
                return lines[index]
            index -= len(lines) + 1
            if index < 0:
                break
        return ()

    def show(self, look: Look) -> None:
        """Update the facts of the request; its text comes through `show_request`."""
        if self._shown is not None:
            view, text = self._shown
            same = (request for request in look.requests if request.number == view.number)
            self.show_request(next(same, view), text)

    def show_request(self, view: RequestView, text: str) -> None:
        """Show a request with all its text so far; only what is new is wrapped."""
        if self._shown != (view, text):
            self._shown = (view, text)
            self.lay_out()

    def lay_out(self) -> None:
        """Wrap what is new, or everything if the width changed."""
        width = self.row_width
        if self._shown is not None and width > 0:
            view, text = self._shown
            self._facts = flow(_facts(view), width)
            self._prompt.update(view.prompt, width)
            self._answer.update(text, width)
            self._end = _end(view, width)
        super().lay_out()


class _Wrapped:
    """A growing text in rows. New text changes only the last row, so the others are kept."""

    def __init__(self, tone: str) -> None:
        self.lines: list[Line] = []
        self._tone = tone
        self._text = ""
        self._width = 0
        self._last = 0  # where the last row begins in the text

    def update(self, text: str, width: int) -> None:
        """Take in the text so far; if it does not begin with the one before, it is another text."""
        if width != self._width or not text.startswith(self._text):
            self._last, self.lines = 0, []
        elif text == self._text and self.lines:
            return
        rest = text[self._last :]
        rows = [row for part in rest.split("\n") for row in break_text(plain(part, len(part)), width)]
        self.lines[-1:] = [((row.rstrip(), self._tone),) for row in rows]
        self._text, self._width, self._last = text, width, len(text) - len(rows[-1])


def _facts(view: RequestView) -> list[Line]:
    facts: list[tuple[str, str]] = [("state", str(view.state))]
    if view.slot is not None:
        facts.append(("slot", str(view.slot)))
    if view.task is not None:
        facts.append(("task", str(view.task)))
    facts += [
        ("waited", duration(view.queue_wait)),
        ("first token after", duration(view.first_token)),
        ("prompt", f"{count(view.n_prompt)} tokens, {count(view.n_cached)} cached"),
        ("decoded", count(view.n_decoded)),
        ("tok/s", rate(view.tokens_per_second)),
    ]
    if view.total_seconds is not None:
        facts.append(("took", f"{duration(view.total_seconds)} in all"))
    return [((f"{name} ", "dim"), (value, "")) for name, value in facts]


def _end(view: RequestView, width: int) -> list[Line]:
    if not view.finish:
        return []
    tone = "error" if view.state is RequestState.FAILED else "dim"
    return [((row, tone),) for row in wrap(f"end: {plain(view.finish, 300)}", width)]
