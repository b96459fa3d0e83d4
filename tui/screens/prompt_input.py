"""An input for a prompt, which may have several lines."""

from __future__ import annotations

from textual.events import Paste
from textual.widgets import Input

__all__ = ["PromptInput"]


class PromptInput(Input):
    r"""One line on the screen; pasted line breaks become "\n", whereas Textual would keep only the first line."""

    def _on_paste(self, event: Paste) -> None:
        event.stop()
        event.prevent_default()
        self.replace(r"\n".join(event.text.splitlines()), *self.selection)

    def action_paste(self) -> None:
        """Paste what was copied inside the app."""
        self.post_message(Paste(self.app.clipboard))
