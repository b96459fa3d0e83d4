"""What the terminal sends."""

from __future__ import annotations

import codecs
import os
import sys

__all__ = ["mend_keyboard"]

HUNG_UP = 129
"""The exit code after a SIGHUP, the signal that a terminal sends when it goes, if it can."""


def mend_keyboard() -> None:
    """Mend two habits of Textual's keyboard thread.

    It decodes strictly, so that one byte in a pasted text that is no UTF-8 would end the app: it becomes "�". And it
    reads from a terminal that is gone again and again, while the app waits for ever to write to it: the process ends,
    with nothing left to restore.
    """
    if sys.platform != "win32":
        from textual.drivers import linux_driver

        linux_driver.getincrementaldecoder = lambda encoding: _Decoder  # type: ignore[attr-defined, assignment]


class _Decoder(codecs.getincrementaldecoder("utf-8")):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__("replace")

    def decode(self, data: bytes, final: bool = False) -> str:
        if not data and not final:
            os._exit(HUNG_UP)
        return str(super().decode(data, final))
