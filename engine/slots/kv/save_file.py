"""The file of a saved slot (spec §7.5): little endian, readable by llama-server with the same model and flags."""

from __future__ import annotations

import struct

import numpy as np
from msgspec import Struct

from slotview.engine.model.interface import CellIds, TokenIds

__all__ = ["HeadError", "SaveFileError", "SavedSlot", "pack", "unpack"]

MAGIC = 0x67677371
VERSION = 4
INT32 = np.dtype("<i4")
CELL = np.dtype([("position", "<i4"), ("n_sequences", "<u4"), ("sequence", "<i4")])


class SaveFileError(ValueError):
    """The bytes are not a save file of this server's shape."""


class HeadError(SaveFileError):
    """Its first words tell that they are no save file's, or that it is cut off in its tokens."""


class SavedSlot(Struct, frozen=True, eq=False):
    """Tokens [n], the positions [n] of its cells in the file's order, K and V and what follows.

    There may be cells without tokens: a slot that was restored from an empty one's file keeps its own (spec §7.5).

    ``n_before`` are the bytes of the file before K and V, ``n_behind`` those of the empty streams' counts behind them.
    """

    tokens: TokenIds
    positions: CellIds
    state: memoryview
    n_before: int
    n_behind: int

    def check_end(self, used: int) -> None:
        """Raise `SaveFileError` where the file ends too early; ``used`` are the bytes of K and V."""
        if len(self.state) - used < self.n_behind:
            raise SaveFileError("the file is cut off behind its cells")


def pack(tokens: TokenIds, positions: CellIds, state: bytes, place: tuple[int, int], sequence: int) -> bytes:
    """Return the file of one sequence. ``place``: its stream, of how many. An empty one has no state at all."""
    stream, n_stream = place
    words = np.concatenate(([-1, 1, len(tokens)], tokens, [0])).astype(INT32)
    head = struct.pack("<3I", MAGIC, VERSION, len(words)) + words.tobytes() + struct.pack("<I", n_stream)
    if not len(positions):
        return head + bytes(4 * n_stream)
    cells = np.zeros(len(positions), CELL)
    cells["position"], cells["n_sequences"], cells["sequence"] = positions, 1, sequence
    before, behind = bytes(4 * stream), bytes(4 * (n_stream - stream - 1))
    return head + before + struct.pack("<I", len(positions)) + cells.tobytes() + state + behind


def unpack(data: bytes, n_stream: int) -> SavedSlot:
    """Take a file apart; raises `SaveFileError` where it is cut off or of another shape. Later bytes are ignored."""
    at, tokens = _tokens(data)
    (found,) = _numbers(data, at, 1)
    if found != n_stream:
        raise SaveFileError("n_stream mismatch")
    at += 4
    for stream in range(n_stream):
        (count,) = _numbers(data, at, 1)
        at += 4
        if count:
            return _with_cells(data, at, count, tokens, 4 * (n_stream - stream - 1))
    if len(tokens):
        raise SaveFileError("the file has tokens but no cells")
    return SavedSlot(tokens, np.empty(0, np.intp), memoryview(b""), at, 0)


def _tokens(data: bytes) -> tuple[int, TokenIds]:
    """Where the tokens end in the file, and the tokens, with or without the words that the server puts around them."""
    magic, version, n_words = _numbers(data, 0, 3)
    if magic != MAGIC or version != VERSION:
        raise HeadError(f"unknown (magic, version) for sequence state file: {magic:08x}, {version:08x}")
    end = 12 + 4 * n_words
    if end > len(data):
        most = (len(data) - 12) // 4
        raise HeadError(f"token count in sequence state file exceeds the file size! {n_words} > {most}")
    words = np.frombuffer(data, INT32, n_words, 12).astype(np.int32)
    if n_words >= 4 and words[0] == -1 and words[1] == 1:
        if words[2] != n_words - 4:
            raise SaveFileError("the file's token count does not match")
        words = words[3:-1]
    return end, words


def _with_cells(data: bytes, at: int, count: int, tokens: TokenIds, n_behind: int) -> SavedSlot:
    """The slot whose ``count`` cells begin at ``at``."""
    if (len(tokens) and count != len(tokens)) or at + count * CELL.itemsize > len(data):
        raise SaveFileError("the file is cut off in its cells")
    cells = np.frombuffer(data, CELL, count, at)
    positions = cells["position"].astype(np.intp)
    if not np.array_equal(np.sort(positions), np.arange(count)):
        raise SaveFileError("the file's positions are not those of its tokens")
    at += count * CELL.itemsize
    return SavedSlot(tokens, positions, memoryview(data)[at:], at, n_behind)


def _numbers(data: bytes, at: int, n: int) -> tuple[int, ...]:
    if at + 4 * n > len(data):
        raise SaveFileError("the file is cut off")
    return struct.unpack_from(f"<{n}I", data, at)
