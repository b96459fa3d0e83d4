"""Mends how Textual reads from the terminal."""

from __future__ import annotations

import codecs
import os
import sys

__all__ = ["mend_keyboard"]

HUNG_UP = 129
"""The exit code after SIGHUP, the signal that a terminal sends when it goes away, if it can."""


def mend_keyboard() -> None:
    """Mend two habits of Textual's keyboard thread.

    It decodes strictly, so that a single byte of pasted text that is not UTF-8 would end the app: here it becomes "�".
    And it goes on reading from a terminal that is gone, while the app waits for ever to write to it: here the process
    ends, as there is nothing left to restore.
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
