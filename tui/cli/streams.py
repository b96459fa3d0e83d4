"""Standard input and output: open, able to take any character, and quiet once nobody can write to them."""

from __future__ import annotations

import os
import sys
from io import TextIOWrapper

__all__ = ["drop_output", "prepare_streams"]

_NAMES = (("stdin", "r"), ("stdout", "w"), ("stderr", "w"))


def prepare_streams() -> None:
    """Open those that were closed, lest a file takes their number; show "?" for what the encoding does not have."""
    for name, mode in _NAMES:
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 (for as long as we run)
        elif mode == "w" and isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")


def drop_output() -> None:
    """Let what is still to be written to standard output go nowhere: Python tries again as it ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
