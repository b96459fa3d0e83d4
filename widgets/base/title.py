"""Titles in a widget's border."""

from __future__ import annotations

from textual.widget import Widget

__all__ = ["set_title"]


def set_title(widget: Widget, title: str) -> None:
    """Set a title, in markup, unless it is the same: Textual would redraw the whole widget."""
    if widget.border_title != title:
        widget.border_title = title
