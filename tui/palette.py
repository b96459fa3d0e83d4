"""Mends Textual's command palette and its lists: keys and clicks that come too fast would end the app."""

from __future__ import annotations

from textual.await_complete import AwaitComplete
from textual.command import CommandPalette
from textual.events import Click
from textual.widgets import Input, OptionList

__all__ = ["mend_palette"]

_move_page = OptionList._move_page
_on_click = OptionList._on_click
_select = CommandPalette._select_or_command
_dismiss = CommandPalette.dismiss


def mend_palette() -> None:
    """Let page keys do nothing while the list is not laid out, nor clicks on what has just left it.

    And let the palette close once, with one command. The class itself is mended, as Textual opens more than one of it:
    the list of themes is another.
    """
    OptionList._move_page = _move_page_if_laid_out  # type: ignore[method-assign, assignment]
    OptionList._on_click = _click_if_there  # type: ignore[method-assign, assignment]
    CommandPalette._select_or_command = _select_once  # type: ignore[method-assign, assignment]
    CommandPalette.dismiss = _dismiss_once  # type: ignore[method-assign, assignment]


def _move_page_if_laid_out(options: OptionList, direction: int) -> None:
    if (options.highlighted or 0) in options._index_to_line:
        _move_page(options, direction)  # type: ignore[arg-type]


async def _click_if_there(options: OptionList, event: Click) -> None:
    clicked = event.style.meta.get("option")
    if clicked is not None and clicked < options.option_count:
        await _on_click(options, event)


def _select_once(palette: CommandPalette, event: Input.Submitted | None = None) -> None:
    if palette.app.screen is palette:
        _select(palette, event)
        if palette.app.screen is not palette:
            palette._selected_command = None  # it runs, and no further Enter runs it again


def _dismiss_once(palette: CommandPalette, result: None = None) -> AwaitComplete:
    return _dismiss(palette, result) if palette.app.screen is palette else AwaitComplete()
