"""The letters that stand for bytes in byte-level BPE vocabularies."""

from __future__ import annotations

__all__ = ["BYTE_OF", "LETTER_OF"]


def _letters() -> list[str]:
    """For each byte itself where it prints, else a letter from U+0100 on."""
    printing = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = iter(range(0x100, 0x200))
    return [chr(byte if byte in printing else next(others)) for byte in range(256)]


LETTER_OF = _letters()
BYTE_OF = {letter: byte for byte, letter in enumerate(LETTER_OF)}
