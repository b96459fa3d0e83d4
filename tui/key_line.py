"""The keys of a screen in one line. Textual's Footer mounts a widget per key, and remounts them all at each change."""

from __future__ import annotations

from itertools import accumulate

from textual.binding import ActiveBinding
from textual.content import Content
from textual.events import Leave, MouseDown, MouseMove
from textual.reactive import reactive
from textual.screen import Screen
from textual.style import Style
from textual.widget import Widget

__all__ = ["KeyLine"]


class KeyLine(Widget):
    """Shows the keys that do something now, the palette's at the right; a click does the same as the key."""

    DEFAULT_CSS = """
    KeyLine {
        dock: bottom; height: 1; text-wrap: nowrap; text-overflow: clip;
        color: $footer-foreground; background: $footer-background;
        &:hover { pointer: pointer; }
    }
    """
    ALLOW_SELECT = False

    keys: reactive[tuple[ActiveBinding, ...]] = reactive(())
    pointed: reactive[int | None] = reactive(None)
    """Index of the key under the mouse."""

    def on_mount(self) -> None:
        """Subscribe to changes."""
        self.screen.bindings_updated_signal.subscribe(self, self._read_keys)

    def _read_keys(self, screen: Screen[object]) -> None:
        if not screen.app.app_focus:
            return  # nothing has the focus then, but what had it will get it back
        active = screen.active_bindings
        shown: dict[str, ActiveBinding] = {}
        for key in active.values():
            if key.binding.show:
                shown.setdefault(key.binding.action, key)  # the first of several keys for one action
        palette = active.get(self.app.COMMAND_PALETTE_BINDING)
        self.keys = (*shown.values(), *([palette] if palette else []))

    def render(self) -> Content:
        """The keys one after the other, as many as fit beside the palette's."""
        parts = [self._part(index, key) for index, key in enumerate(self.keys)]
        if not parts or self.keys[-1].binding.key != self.app.COMMAND_PALETTE_BINDING:
            return Content("").join(_fitting(parts, self.size.width))
        last = Content.assemble(("▏", "$foreground 20%"), parts.pop()[1:])
        room = self.size.width - last.cell_length
        return Content("").join(_fitting(parts, room)).truncate(room, pad=True) + last

    def _part(self, index: int, key: ActiveBinding) -> Content:
        part = Content.assemble(
            (f" {self.app.get_key_display(key.binding)} ", "bold $footer-key-foreground on $footer-key-background"),
            (f"{key.binding.description} ", "$footer-description-foreground on $footer-description-background"),
        )
        if index == self.pointed:
            part = part.stylize_before("on $block-hover-background")
        return part.stylize("" if key.enabled else "dim").stylize(Style.from_meta({"key": index}))

    def on_mouse_move(self, event: MouseMove) -> None:
        """Highlight what a click would press, and say what it does."""
        self.pointed = event.style.meta.get("key")

    def on_leave(self, event: Leave) -> None:
        """Highlight nothing."""
        self.pointed = None

    def watch_pointed(self) -> None:
        """Explain the key under the mouse."""
        key = self._pointed_key
        self.tooltip = (key.tooltip or key.binding.description) if key else None

    def on_mouse_down(self, event: MouseDown) -> None:
        """Press the key."""
        self.pointed = event.style.meta.get("key")
        key = self._pointed_key
        if key and key.enabled:
            self.app.simulate_key(key.binding.key)
        elif key:
            self.app.bell()

    @property
    def _pointed_key(self) -> ActiveBinding | None:
        return self.keys[self.pointed] if self.pointed is not None and self.pointed < len(self.keys) else None


def _fitting(parts: list[Content], room: int) -> list[Content]:
    """Leave out the last parts if they do not fit."""
    ends = accumulate(part.cell_length for part in parts)
    return [part for part, end in zip(parts, ends, strict=True) if end <= room]
