"""Files of API keys (``--api-key-file``, spec §1.4)."""

from __future__ import annotations

from pathlib import Path

__all__ = ["keys_in"]


def keys_in(path: str) -> tuple[str, ...]:
    """One a line; empty lines and those that begin with # are passed over. Raises `OSError`, `UnicodeError`."""
    lines = Path(path).read_text(encoding="utf-8").splitlines()
    return tuple(line for line in lines if line and not line.startswith("#"))
