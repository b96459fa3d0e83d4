"""Messages that cross the app."""

from __future__ import annotations

from textual.message import Message

__all__ = ["Refreshed"]


class Refreshed(Message):
    """The feed has something new. The look is taken when the message is handled, so that a late one is not stale."""

    def can_replace(self, message: Message) -> bool:
        """One waiting message is enough."""
        return isinstance(message, Refreshed)
