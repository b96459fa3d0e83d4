"""Findings: what limits the server now, the evidence for it, and what to change."""

from __future__ import annotations

from slotview.engine.events import Severity
from slotview.engine.observe.observation import Finding
from slotview.engine.text.plain import plain

from .base.line import Line, wrap
from .base.line_scroll import LineScroll
from .base.title import set_title
from .look import Look

__all__ = ["FindingsList"]

_MARKS: dict[Severity, tuple[str, str]] = {
    "information": ("i", "prompt"),
    "warning": ("!", "warning"),
    "error": ("✗", "error"),
}


class FindingsList(LineScroll):
    """Each finding with its evidence and its advice."""

    DEFAULT_CSS = """
    FindingsList { height: 1fr; min-height: 3; }
    """

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 (Textual's name)
        super().__init__(id=id, classes=classes)
        self.border_title = "Findings"
        self._findings: tuple[Finding, ...] = ()
        self._lines: list[Line] = []

    @property
    def n_lines(self) -> int:
        """Lines of all findings."""
        return len(self._lines)

    def draw_line(self, index: int, width: int) -> Line:
        """Make one line."""
        return self._lines[index]

    def draw_empty(self) -> str:
        """Say that nothing was found."""
        return "nothing to report"

    def show(self, look: Look) -> None:
        """Draw the findings of a look."""
        findings = look.observation.findings
        if findings != self._findings:
            self._findings = findings
            set_title(self, f"Findings: {len(findings)}" if findings else "Findings")
            self.lay_out()

    def lay_out(self) -> None:
        """Wrap the texts to the current width."""
        width = self.row_width
        self._lines = [line for finding in self._findings for line in _lines(finding, width)] if width > 4 else []
        super().lay_out()


def _lines(finding: Finding, width: int) -> list[Line]:
    mark, tone = _MARKS[finding.severity]
    first, *more = wrap(plain(finding.text, 400), width - 2)
    lines: list[Line] = [((f"{mark} ", tone), (first, "strong")), *((("  ", ""), (part, "strong")) for part in more)]
    for text, shade in ((finding.evidence, "dim"), (finding.advice and f"→ {finding.advice}", "")):
        lines += [(("  ", ""), (part, shade)) for part in wrap(plain(text, 400), width - 2) if part]
    return lines
