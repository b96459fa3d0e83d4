"""Mends how Textual pages through a list, as of commands, that has just come up."""

from __future__ import annotations

from textual.widgets import OptionList

__all__ = ["mend_paging"]

_move_page = OptionList._move_page


def mend_paging() -> None:
    """Let page keys do nothing in a list that is not laid out yet; Textual's way would end the app with a KeyError."""
    OptionList._move_page = _move_page_if_laid_out  # type: ignore[method-assign]


def _move_page_if_laid_out(options: OptionList, direction: int) -> None:
    if (options.highlighted or 0) in options._index_to_line:
        _move_page(options, direction)  # type: ignore[arg-type]
