"""What the scheduler needs from a model: tokens in, logits out, over a KV store that the caller addresses by cells.

Shapes: n = tokens of one sequence in this batch, R = rows of logits asked for, V = vocabulary.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from ..context.kv_size import KvShape
from .arrays import CellIds, Floats, TokenIds

__all__ = ["CellIds", "Floats", "KvShape", "KvStore", "Model", "SequenceRun", "TokenIds", "Tokenizer"]


class SequenceRun(Struct, frozen=True):
    """The new tokens of one sequence in a batch.

    ``tokens``: [n], at positions from ``first_pos`` on. ``cells``: the cell of every position that the sequence holds,
    new ones at the end; a view that is valid during the call only. That is [first_pos + n], unless the sequence lacks
    its beginning. ``start`` is the first cell where all cells lie in one ascending run, else None. ``wants_logits``:
    whether the logits after the last token are wanted.
    """

    tokens: TokenIds
    first_pos: int
    stream: int
    cells: CellIds
    start: int | None
    wants_logits: bool


class KvStore(Protocol):
    """K and V of all cells, held once, in their types' own bytes.

    ``v_transposed``: a save file holds V value by value, as llama-server writes it without flash attention.
    """

    v_transposed: bool

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""

    @property
    def type_k(self) -> str:
        """Name of K's type, as in ``-ctk``."""

    @property
    def type_v(self) -> str:
        """Name of V's type, as in ``-ctv``."""

    def copy_stream(self, source: int, target: int) -> None:
        """Copy all cells of one stream to another (spec §3.4, seq_cp across streams)."""

    def read(self, stream: int, cells: CellIds) -> bytes:
        """Serialise cells as in a save file, from ``4 × u32 v_transposed …`` to its end (spec §7.5)."""

    def write(self, stream: int, cells: CellIds, data: bytes | memoryview) -> int:
        """Inverse of `read`; returns the bytes used. Raises `ValueError` when layers, types or sizes do not match."""


class Tokenizer(Protocol):
    """Text to token ids and back; one vocabulary. Two are the same only if they are one object."""

    def __hash__(self) -> int: ...

    @property
    def n_vocab(self) -> int:
        """Number of tokens."""

    @property
    def bos(self) -> int | None:
        """Token put at the beginning of a text, where the model has one."""

    @property
    def eos(self) -> int | None:
        """The main end-of-generation token."""

    @property
    def eog(self) -> frozenset[int]:
        """All end-of-generation tokens."""

    @property
    def add_bos(self) -> bool:
        """Whether the model wants ``bos`` before a text."""

    @property
    def chat_template(self) -> str | None:
        """Jinja source from the model file."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the user should know about the vocabulary, a line each."""

    def encode(self, text: str, *, add_special: bool = True, parse_special: bool = True) -> TokenIds:
        """Tokenize. ``parse_special``: spellings such as <|im_end|> become their token."""

    def piece(self, token: int, *, special: bool = False) -> bytes:
        """Bytes of one token; b"" for special tokens unless ``special``."""

    def decode(self, tokens: Sequence[int], *, special: bool = False) -> str:
        """Text of tokens; invalid UTF-8 becomes U+FFFD."""

    def prompt_text(self, tokens: Sequence[int]) -> str:
        """Text of a whole prompt, special tokens included, as llama-server shows it."""


class Model(Protocol):
    """A causal transformer with its tokenizer."""

    @property
    def name(self) -> str:
        """Name to show: general.name, else the file's name."""

    @property
    def path(self) -> str:
        """File it came from ("" for stubs)."""

    @property
    def n_params(self) -> int:
        """Number of weights."""

    @property
    def size_bytes(self) -> int:
        """Bytes of all tensors in the file."""

    @property
    def ftype(self) -> str:
        """Name of the file's main tensor type, such as "F32" or "Q4_1"."""

    @property
    def n_embd(self) -> int:
        """Width."""

    @property
    def n_vocab(self) -> int:
        """Columns of the logits."""

    @property
    def n_ctx_train(self) -> int:
        """Trained context in tokens."""

    @property
    def kv_shape(self) -> KvShape:
        """What one cell holds."""

    @property
    def tokenizer(self) -> Tokenizer:
        """Its tokenizer."""

    @property
    def metadata(self) -> Mapping[str, object]:
        """Scalar metadata of the file."""

    def new_kv(self, n_stream: int, n_cells: int, type_k: str, type_v: str) -> KvStore:
        """Allocate a store of ``n_stream`` × ``n_cells`` cells. Raises `ValueError` for a type that cannot be used."""

    def forward(self, runs: Sequence[SequenceRun], kv: KvStore) -> Floats:
        """Compute all runs at once, storing K and V in their last cells.

        Returns logits [R, V], one row for each run that wants them, in the runs' order. The array may be reused by the
        next call.
        """

    def shift(self, kv: KvStore, rows: CellIds, deltas: NDArray[np.int32]) -> None:
        """Rotate the K of cells, counted through all streams, by ``deltas`` positions (spec §3.4); V stays."""
