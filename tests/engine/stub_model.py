"""A model without a network for scheduler tests: its logits hash the sequence as found through the cells.

Every cell stores (token, position) as its K and V. The next token of a sequence is a hash of all its stored tokens and
positions, so a mistake in the bookkeeping of cells, streams or shifts changes the text.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from slotview.engine.context.kv_size import KvShape
from slotview.engine.model.interface import CellIds, Floats, KvStore, SequenceRun, TokenIds

__all__ = ["ByteTokenizer", "StubKv", "StubModel", "tokens"]

EOS = 0
SMALLEST = KvShape(n_layer=1, n_head_kv=1, head_dim_k=1, head_dim_v=1)
HEADER = struct.pack("<4I", 0, 1, 0, 0)


def tokens(*values: int) -> TokenIds:
    """A prompt of token ids."""
    return np.array(values, np.int32)


class ByteTokenizer:
    """One token per byte; 0 is the only end-of-generation token. ``pieces`` spells single tokens otherwise."""

    def __init__(self, n_vocab: int = 256, add_bos: bool = False, pieces: Mapping[int, bytes] | None = None) -> None:
        self.n_vocab = n_vocab
        self.bos: int | None = 1 if add_bos else None
        self.eos: int | None = EOS
        self.eog = frozenset({EOS})
        self.add_bos = add_bos
        self.chat_template: str | None = None
        self.warnings: tuple[str, ...] = ()
        self._pieces = dict(pieces or {})

    def encode(self, text: str, *, add_special: bool = True, parse_special: bool = True) -> TokenIds:
        """Bytes as tokens, after the beginning token where there is one."""
        del parse_special
        start = [1] if add_special and self.add_bos else []
        return np.array([*start, *text.encode()], np.int32)

    def piece(self, token: int, *, special: bool = False) -> bytes:
        """The byte; nothing for the end."""
        if token == EOS:
            return b"<end>" if special else b""
        return self._pieces.get(token, bytes([token % 256]))

    def prompt_text(self, tokens: Sequence[int]) -> str:
        """Text of the bytes, the end spelled out."""
        return self.decode(tokens, special=True)

    def decode(self, tokens: Sequence[int], *, special: bool = False) -> str:
        """Text of the bytes."""
        return b"".join(self.piece(int(token), special=special) for token in tokens).decode("utf-8", "replace")


class StubKv:
    """``kept`` [n_stream, n_cells, 2]: token and position of each cell."""

    def __init__(self, n_stream: int, n_cells: int, type_k: str = "f32", type_v: str = "f32") -> None:
        self.type_k = type_k
        self.type_v = type_v
        self.v_transposed = False
        self.kept = np.full((n_stream, n_cells, 2), -1, np.int32)

    @property
    def nbytes(self) -> int:
        """Bytes of the array."""
        return int(self.kept.nbytes)

    def copy_stream(self, source: int, target: int) -> None:
        """Copy all cells."""
        self.kept[target] = self.kept[source]

    def read(self, stream: int, cells: CellIds) -> bytes:
        """A header and a row for each cell, as the real store gives."""
        k, v = self.kept[stream, cells, 0], self.kept[stream, cells, 1]
        row = struct.pack("<iQ", 0, 4)
        return b"".join((HEADER, row, k.tobytes(), row, v.tobytes()))

    def write(self, stream: int, cells: CellIds, data: bytes | memoryview) -> int:
        """Inverse of `read`."""
        n = 4 * len(cells)
        view, size = memoryview(data), 16 + 2 * (12 + n)
        if bytes(view[:16]) != HEADER or len(view) < size:
            raise ValueError("not the state of this model")
        self.kept[stream, cells, 0] = np.frombuffer(view[28 : 28 + n], np.int32)
        self.kept[stream, cells, 1] = np.frombuffer(view[40 + n : 40 + 2 * n], np.int32)
        return size


class StubModel:
    """``script`` maps a prompt's text to the answer it is given, token by token; other prompts get hashed tokens.

    ``allowed`` is the range of tokens that hashing yields, so that answers stay readable and do not end by themselves.
    ``may_lack``: so many tokens may be missing at the beginning of a sequence, as in an output of a full pool.
    """

    path = ""
    name = "stub"
    ftype = "F32"
    n_params = 0
    size_bytes = 0
    n_embd = 1
    metadata: Mapping[str, object] = {}

    def __init__(
        self,
        n_ctx_train: int = 8192,
        tokenizer: ByteTokenizer | None = None,
        script: Mapping[str, Sequence[int]] | None = None,
        allowed: range = range(97, 123),
        kv_shape: KvShape = SMALLEST,
        may_lack: int = 0,
    ) -> None:
        self.kv_shape = kv_shape
        self.n_ctx_train = n_ctx_train
        self.tokenizer = tokenizer or ByteTokenizer()
        self.n_vocab = self.tokenizer.n_vocab
        self.n_forward = 0
        self._script = {tuple(text.encode()): tuple(answer) for text, answer in (script or {}).items()}
        self._allowed = allowed
        self._may_lack = may_lack

    def new_kv(self, n_stream: int, n_cells: int, type_k: str, type_v: str) -> StubKv:
        """Allocate; the types are only remembered."""
        return StubKv(n_stream, n_cells, type_k, type_v)

    def forward(self, runs: Sequence[SequenceRun], kv: KvStore) -> Floats:
        """Store the runs' tokens and hash what each sequence then holds."""
        assert isinstance(kv, StubKv)
        self.n_forward += 1
        rows = []
        for run in runs:
            self._check(run)
            first, own = run.first_pos, run.cells[-len(run.tokens) :]
            kv.kept[run.stream, own, 0] = run.tokens
            kv.kept[run.stream, own, 1] = np.arange(first, first + len(run.tokens))
            if run.wants_logits:
                rows.append(self._logits(kv.kept[run.stream, run.cells]))
        return np.array(rows, np.float32).reshape(len(rows), self.n_vocab)

    def _check(self, run: SequenceRun) -> None:
        missing = run.first_pos + len(run.tokens) - len(run.cells)
        assert missing in (0, self._may_lack), "cells do not reach to the last token"
        ascending = run.cells - run.cells[0] == np.arange(len(run.cells))
        assert run.start == (int(run.cells[0]) if ascending.all() else None), "start does not tell the run of cells"

    def _logits(self, held: NDArray[np.int32]) -> NDArray[np.float32]:
        row = np.zeros(self.n_vocab, np.float32)
        row[self._next(held)] = 1
        return row

    def _next(self, held: NDArray[np.int32]) -> int:
        missing = int(held[0, 1])
        assert missing in (0, self._may_lack), "the beginning of a sequence is not there"
        in_order = np.array_equal(held[:, 1], missing + np.arange(len(held)))
        assert in_order, "a cell holds another position than the sequence says"
        sequence = tuple(held[:, 0].tolist())
        for prompt, answer in self._script.items():
            n = len(sequence) - len(prompt)
            if sequence[: len(prompt)] == prompt and 0 <= n < len(answer) and sequence[len(prompt) :] == answer[:n]:
                return answer[n]
        mixed = 17
        for token in sequence:
            mixed = (mixed * 1_000_003 ^ token) & 0xFFFFFFFF
        return self._allowed[mixed % len(self._allowed)]

    def shift(self, kv: KvStore, rows: CellIds, deltas: NDArray[np.int32]) -> None:
        """Move the stored positions."""
        assert isinstance(kv, StubKv)
        kv.kept.reshape(-1, 2)[rows, 1] += deltas
