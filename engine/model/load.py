"""Open a model file: tokenizer and network behind the `Model` protocol."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from .arrays import Floats
from .gguf.file import ModelFile, load_model_file
from .interface import KvShape, KvStore, SequenceRun, Tokenizer
from .kv.store import TypedKvStore
from .network.transformer import Transformer
from .threads.crew import usable_cores
from .vocab.tokenizer import load_tokenizer

__all__ = ["FileModel", "load_model"]


class FileModel:
    """`Model` over an open file."""

    def __init__(self, file: ModelFile, tokenizer: Tokenizer, network: Transformer) -> None:
        self._file = file
        self._tokenizer = tokenizer
        self._network = network

    @property
    def name(self) -> str:
        """general.name, else the file's name without its ending."""
        return self._file.name

    @property
    def path(self) -> str:
        """The file."""
        return str(self._file.path)

    @property
    def n_params(self) -> int:
        """Number of weights."""
        return self._file.n_params

    @property
    def size_bytes(self) -> int:
        """Bytes of all tensors in the file."""
        return self._file.size_bytes

    @property
    def ftype(self) -> str:
        """Name of the file's main tensor type."""
        return self._file.ftype

    @property
    def n_embd(self) -> int:
        """Width."""
        return self._file.hparams.n_embd

    @property
    def n_vocab(self) -> int:
        """Columns of the logits."""
        return self._file.hparams.n_vocab

    @property
    def n_ctx_train(self) -> int:
        """Trained context in tokens."""
        return self._file.hparams.n_ctx_train

    @property
    def kv_shape(self) -> KvShape:
        """What one cell holds."""
        return self._network.kv_shape

    @property
    def tokenizer(self) -> Tokenizer:
        """The file's tokenizer."""
        return self._tokenizer

    @property
    def metadata(self) -> Mapping[str, object]:
        """Scalar metadata of the file."""
        return self._file.metadata

    def new_kv(self, n_stream: int, n_cells: int, type_k: str, type_v: str) -> KvStore:
        """Allocate a store. Raises `ValueError` for a type that cannot be used."""
        return self._network.new_kv(n_stream, n_cells, type_k, type_v)

    def forward(self, runs: Sequence[SequenceRun], kv: KvStore) -> Floats:
        """Logits [R, V] of the runs that want them; the array is reused by the next call."""
        return self._network.forward(runs, _own(kv))

    def shift(self, kv: KvStore, rows: NDArray[np.intp], deltas: NDArray[np.int32]) -> None:
        """Rotate the K of cells, counted through all streams, by ``deltas`` positions (spec §3.4); V stays."""
        self._network.shift(_own(kv), rows, deltas)


def _own(kv: KvStore) -> TypedKvStore:
    if not isinstance(kv, TypedKvStore):
        raise TypeError(f"a store made by new_kv is needed, not {type(kv).__name__}")
    return kv


def load_model(path: str | os.PathLike[str], n_threads: int | None = None) -> FileModel:
    """Open a GGUF file. Raises `ModelFileError` with one line that names the file and what is wrong.

    ``n_threads``: for its products, as far as there are cores; None = as many as are usually worth it.
    """
    file = load_model_file(path)
    with ThreadPoolExecutor(1) as beside:
        tokenizer = beside.submit(load_tokenizer, file)
        with np.errstate(all="ignore"):
            network = Transformer(file.hparams, file.tensor, n_threads and min(n_threads, usable_cores()))
        return FileModel(file, tokenizer.result(), network)
