"""A model without weights, for experiments in which only times and places of tokens count.

The scheduler above it is the real one. Every answer is token 1 again and again, K and V take no memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ..context import ModelFacts
from ..context.kv_size import KvShape, kv_bytes
from ..model.interface import CellIds, Floats, KvStore, SequenceRun, TokenIds, Tokenizer

__all__ = ["VOCABULARY", "GhostKv", "GhostModel"]

VOCABULARY = 256
_SHAPE = KvShape(1, 1, 64, 64)


class GhostKv:
    """Cells that hold nothing; ``nbytes`` is what they would take."""

    def __init__(self, shape: KvShape, n_cells: int, type_k: str, type_v: str) -> None:
        self.nbytes = kv_bytes(shape, n_cells, type_k, type_v)
        self.type_k, self.type_v = type_k, type_v
        self.v_transposed = False

    def copy_stream(self, source: int, target: int) -> None:
        """Nothing to copy."""

    def read(self, stream: int, cells: CellIds) -> bytes:
        """Nothing to read."""
        return b""

    def write(self, stream: int, cells: CellIds, data: bytes | memoryview) -> int:
        """Nothing to write."""
        return 0


class GhostTokenizer:
    """Bytes as tokens; no token ends a generation."""

    n_vocab = VOCABULARY
    bos: int | None = None
    eos: int | None = None
    eog: frozenset[int] = frozenset()
    add_bos = False
    chat_template: str | None = None
    warnings: tuple[str, ...] = ()

    def encode(self, text: str, *, add_special: bool = True, parse_special: bool = True) -> TokenIds:
        """One token for each byte."""
        return np.frombuffer(text.encode(), np.uint8).astype(np.int32)

    def piece(self, token: int, *, special: bool = False) -> bytes:
        """Every token reads as a dot."""
        return b"."

    def decode(self, tokens: Sequence[int], *, special: bool = False) -> str:
        """Dots."""
        return "." * len(tokens)

    def prompt_text(self, tokens: Sequence[int]) -> str:
        """Dots."""
        return self.decode(tokens)


class GhostModel:
    """Implements `Model` with the facts of a real one."""

    name = "ghost"
    path = ""
    n_params = 0
    ftype = "none"
    n_embd = 1
    n_vocab = VOCABULARY

    def __init__(self, facts: ModelFacts) -> None:
        self.n_ctx_train = facts.n_ctx_train
        self.size_bytes = facts.weight_bytes
        self.kv_shape = facts.shape or _SHAPE
        self.tokenizer: Tokenizer = GhostTokenizer()
        self.metadata: Mapping[str, object] = {}
        self._rows: Floats = np.zeros((256, VOCABULARY), np.float32)
        self._rows[:, 1] = 1.0

    def new_kv(self, n_stream: int, n_cells: int, type_k: str, type_v: str) -> KvStore:
        """Make cells that hold nothing."""
        return GhostKv(self.kv_shape, n_stream * n_cells, type_k, type_v)

    def forward(self, runs: Sequence[SequenceRun], kv: KvStore) -> Floats:
        """Logits in which token 1 wins, one row for each run that wants them."""
        return self._rows[: sum(run.wants_logits for run in runs)]

    def shift(self, kv: KvStore, rows: CellIds, deltas: NDArray[np.int32]) -> None:
        """Nothing to rotate."""
