"""The llama network in NumPy: one batched pass for all sequences of a step.

Shapes: N = tokens of the batch, E = width, H = query heads, J = KV heads, D = head dimension, F = feed-forward width.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from ..arrays import CellIds, Floats, as_slice
from ..gguf.hparams import HParams
from ..interface import KvShape, SequenceRun
from ..kv.store import TypedKvStore
from ..threads.blas import one_thread
from ..threads.crew import Crew, usable_cores
from .attention import Attention, StepAttention
from .attention_plan import plan_attention
from .batch_pass import BatchPass
from .layer import Mixture, TensorSource, load_layers, optional
from .matmul import Matrix, Product, product_of, usable_rows
from .rope import Rope, Ropes, Turns
from .workspace import Workspace

__all__ = ["Transformer"]

MOST_TOKENS = 512
MOST_THREADS = 8
ROWS_TO_SHIFT = 4096


class Transformer:
    """Weights and scratch memory; `forward` and `shift` as in `Model`. Not to be called from two threads at once."""

    def __init__(self, hparams: HParams, tensor: TensorSource, n_threads: int | None = None) -> None:
        self.hparams = hparams
        self._crew = Crew(n_threads or min(usable_cores(), MOST_THREADS))
        self._attention = Attention(self._crew)
        self._work = Workspace()
        self._sum_epsilon = hparams.rms_eps * hparams.n_embd
        self._ropes = Ropes(hparams, partial(optional, tensor))
        self._embedding = Matrix.of(tensor("token_embd.weight"))
        self._output_norm = tensor("output_norm.weight") * np.float32(hparams.n_embd**0.5)
        self._output = self._embedding if hparams.tied else Matrix.of(tensor("output.weight"))
        self._layers = load_layers(hparams, tensor)
        self._pass: BatchPass | None = None
        self._to_logits: Product | None = None

    @property
    def kv_shape(self) -> KvShape:
        """What one cell holds."""
        h = self.hparams
        return KvShape(h.n_layer, h.n_head_kv, h.head_dim_k, h.head_dim_v)

    def new_kv(self, n_stream: int, n_cells: int, type_k: str, type_v: str) -> TypedKvStore:
        """Allocate a store. Raises `ValueError` for a type that cannot be used."""
        return TypedKvStore(self.kv_shape, n_stream, n_cells, type_k, type_v)

    def forward(self, runs: Sequence[SequenceRun], kv: TypedKvStore) -> Floats:
        """Logits [R, V] of the runs that want them, in order; valid until the next call. Stores K and V."""
        wanted: list[Floats] = []
        with np.errstate(all="ignore"), one_thread(), self._crew.shift():
            for piece in _pieces(runs):
                ends = np.cumsum([len(run.tokens) for run in piece])
                hidden = self._hidden(piece, kv)
                wanted.append(hidden[ends[[run.wants_logits for run in piece]] - 1])
            return self._logits(np.concatenate(wanted) if wanted else np.empty((0, self.hparams.n_embd), np.float32))

    def shift(self, kv: TypedKvStore, rows: NDArray[np.intp], deltas: NDArray[np.int32]) -> None:
        """Rotate the K of rows by deltas positions (spec §3.4); V stays.

        llama.cpp turns all cells of all streams, most of them by 0. That changes them where rotated keys get longer.
        """
        rope = self._ropes.of(kv.n_cells)
        if rope.lengthens:
            all_deltas = np.zeros(kv.n_stream * kv.n_cells, np.int32)
            all_deltas[rows] = deltas
            rows, deltas = np.arange(len(all_deltas)), all_deltas
        for first in range(0, len(rows), ROWS_TO_SHIFT):
            part = slice(first, first + ROWS_TO_SHIFT)
            self._shift_part(kv, rows[part], rope, rope.by(deltas[part]))

    def _shift_part(self, kv: TypedKvStore, rows: NDArray[np.intp], rope: Rope, turns: Turns) -> None:
        for layer in range(self.hparams.n_layer):
            keys = kv.k.rotate(kv.k.get(layer, rows))
            rope.rotate(keys.reshape(len(rows), self.hparams.n_head_kv, -1), turns)
            kv.k.put(layer, rows, kv.k.rotate(keys))

    def _hidden(self, runs: Sequence[SequenceRun], kv: TypedKvStore) -> Floats:
        """Output of the last layer [N, E]; beside a lone token stands a row of zeros, as `usable_rows` wants it."""
        positions = np.concatenate([run.first_pos + np.arange(len(run.tokens)) for run in runs])
        rows = np.concatenate([kv.rows(run.stream, run.cells[-len(run.tokens) :]) for run in runs])
        n, places = len(rows), as_slice(rows)
        batch = self._pass_of(usable_rows(n))
        batch.x[:n] = self._embedding.rows(np.concatenate([run.tokens for run in runs]))
        batch.x[n:] = 0
        batch.mixed[n:] = 0
        crew, rope = self._crew, self._ropes.of(kv.n_cells)
        turns = rope.at(positions)
        attention = self._attention.prepare(plan_attention(runs, kv, crew.size), kv, batch.mixed)
        for number, layer in enumerate(self._layers):
            batch.norm(self._sum_epsilon)
            batch.to_qkv.run(layer.qkv, crew)
            rope.rotate(batch.heads[:n], turns)
            self._attend(batch, number, kv, n, places, attention)
            batch.to_width.run(layer.out, crew)
            np.add(batch.x, batch.back, out=batch.x)
            batch.norm(self._sum_epsilon)
            if isinstance(layer.feed, Mixture):
                batch.mixture.run(layer.feed, n, crew)
            else:
                batch.feed.run(layer.feed, crew)
            np.add(batch.x, batch.back, out=batch.x)
        return batch.x

    def _pass_of(self, n: int) -> BatchPass:
        """Scratch memory of n rows; mostly that of the step before, since as many sequences go on."""
        if self._pass is None or len(self._pass.x) != n:
            self._pass = BatchPass(self.hparams, n, self._work, self._crew.size)
        return self._pass

    def _attend(
        self, batch: BatchPass, layer: int, kv: TypedKvStore, n: int, rows: CellIds | slice, attention: StepAttention
    ) -> None:
        """Store the new K and V at n ``rows`` and put the attention's result in ``batch.mixed``."""
        kv.k.put(layer, rows, kv.k.rotate(batch.k[:n]))
        kv.v.put(layer, rows, kv.v.rotate(batch.v[:n]))
        attention.attend(layer, kv.k.query(batch.q[:n]))
        if kv.v.rotation is not None:
            batch.mixed[:n] = kv.v.rotate(batch.mixed[:n])

    def _logits(self, last: Floats) -> Floats:
        """Logits [R, V] of hidden rows [R, E]."""
        product = self._logits_of(usable_rows(len(last)))
        normed = product.rows
        scale = np.sqrt(np.vecdot(last, last) + np.float32(self._sum_epsilon))
        np.multiply(last / scale[:, None], self._output_norm, out=normed[: len(last)])
        normed[len(last) :] = 0
        product.run(self._output, self._crew)
        return product.out[: len(last), : self._output.n_out]

    def _logits_of(self, n: int) -> Product:
        if self._to_logits is None or len(self._to_logits.rows) != n:
            normed = self._work.floats("last", n, self.hparams.n_embd)
            out = self._work.floats("logits", n, self._output.n_padded)
            self._to_logits = product_of(normed, out, self._crew.size)
        return self._to_logits


def _pieces(runs: Sequence[SequenceRun]) -> Iterator[list[SequenceRun]]:
    """Cut runs into batches of at most `MOST_TOKENS`, so that scratch memory stays small."""
    piece: list[SequenceRun] = []
    room = MOST_TOKENS
    for run in runs:
        rest = run
        while len(rest.tokens) > room:
            head, rest = _cut(rest, room)
            yield [*piece, head] if room else piece
            piece, room = [], MOST_TOKENS
        piece.append(rest)
        room -= len(rest.tokens)
    if piece:
        yield piece


def _cut(run: SequenceRun, n: int) -> tuple[SequenceRun, SequenceRun]:
    """The first n tokens of a run, without logits, and the rest."""
    head = replace(run, tokens=run.tokens[:n], cells=run.cells[: n - len(run.tokens)], wants_logits=False)
    return head, replace(run, tokens=run.tokens[n:], first_pos=run.first_pos + n)
