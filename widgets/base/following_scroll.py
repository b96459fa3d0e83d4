"""Base of what grows at its end: the end stays in view, also at another size, until one scrolls up."""

from __future__ import annotations

from .line_scroll import LineScroll

__all__ = ["FollowingScroll"]


class FollowingScroll(LineScroll):
    """Follows its end, also while it is hidden; scrolled up it stays, and scrolled down to the end it follows again."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 (Textual's name)
        super().__init__(id=id, classes=classes)
        self._follows = True

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Follow the end once the user scrolls down to it, until they scroll up."""
        super().watch_scroll_y(old_value, new_value)
        if self.size:
            self._follows = new_value >= self.max_scroll_y

    def lay_out(self) -> None:
        """Draw all again; the view stays at the end."""
        follows = self._follows
        super().lay_out()
        if follows:
            self.scroll_end(animate=False)
            self._follows = True
