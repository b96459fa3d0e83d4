"""What the terminal sends."""

from __future__ import annotations

import codecs
import sys
from functools import partial

__all__ = ["tolerate_bad_bytes"]


def tolerate_bad_bytes() -> None:
    """Read bytes that are no UTF-8 as "�": Textual decodes strictly, so one in a pasted text would end the app."""
    if sys.platform != "win32":
        from textual.drivers import linux_driver

        decoder = partial(codecs.getincrementaldecoder("utf-8"), "replace")
        linux_driver.getincrementaldecoder = lambda encoding: decoder  # type: ignore[attr-defined]
