"""The llama network in NumPy: one batched pass for all sequences of a step.

Shapes: N = tokens of the batch, E = width, H = query heads, J = KV heads, D = head dimension, F = feed-forward width.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from .attention import Attention
from .attention_plan import Share, plan_attention
from .blas import one_thread
from .crew import Crew, usable_cores
from .hparams import HParams
from .interface import FloatRows, KvShape, SequenceRun
from .kv_store import TypedKvStore
from .kv_types_float import Floats
from .layer import Layer, TensorSource, load_layer
from .matmul import Matrix, split_rows, usable_rows
from .rope import Rope
from .workspace import Workspace

__all__ = ["Transformer"]

MOST_TOKENS = 512
MOST_THREADS = 8
LEAST_TO_SHARE = 1_500_000
"""Multiplications from which on a product is worth waking other threads."""


@dataclass(frozen=True, slots=True)
class _Step:
    """What all layers of one batch share. ``rows``: [n] rows of the store that take the new K and V."""

    turns: NDArray[np.complex64]
    rows: NDArray[np.intp]
    shares: Sequence[Share]
    kv: TypedKvStore


class Transformer:
    """Weights and scratch memory; `forward` and `shift` as in `Model`. Not to be called from two threads at once."""

    def __init__(self, hparams: HParams, tensor: TensorSource, n_threads: int | None = None) -> None:
        self.hparams = hparams
        self._n_q = hparams.n_head * hparams.head_dim_k
        self._n_qk = self._n_q + hparams.n_head_kv * hparams.head_dim_k
        self._crew = Crew(n_threads or min(usable_cores(), MOST_THREADS))
        self._attentions = [Attention() for _ in range(self._crew.size)]
        self._work = Workspace()
        self._rope = Rope(hparams, tensor("rope_freqs.weight") if hparams.has_rope_freqs else None)
        self._embedding = tensor("token_embd.weight")
        self._output_norm = tensor("output_norm.weight")
        self._output = split_rows(self._embedding if hparams.tied else tensor("output.weight"), self._crew.size)
        self._layers = [load_layer(hparams, tensor, number, self._crew.size) for number in range(hparams.n_layer)]

    @property
    def kv_shape(self) -> KvShape:
        """What one cell holds."""
        h = self.hparams
        return KvShape(h.n_layer, h.n_head_kv, h.head_dim_k, h.head_dim_v)

    def new_kv(self, n_stream: int, n_cells: int, type_k: str, type_v: str) -> TypedKvStore:
        """Allocate a store. Raises `ValueError` for a type that cannot be used."""
        return TypedKvStore(self.kv_shape, n_stream, n_cells, type_k, type_v)

    def forward(self, runs: Sequence[SequenceRun], kv: TypedKvStore) -> FloatRows:
        """Logits [R, V] of the runs that want them, in order; valid until the next call. Stores K and V."""
        n_wanted = sum(run.wants_logits for run in runs)
        last = self._work.floats("last", usable_rows(n_wanted), self.hparams.n_embd)
        last[n_wanted:] = 0
        n_done = 0
        with np.errstate(all="ignore"), one_thread():
            for piece in _pieces(runs):
                ends = np.cumsum([len(run.tokens) for run in piece])
                wanted = ends[[run.wants_logits for run in piece]] - 1
                hidden = self._hidden(piece, kv)
                last[n_done : n_done + len(wanted)] = hidden[wanted]
                n_done += len(wanted)
            return self._logits(last)[:n_wanted]

    def shift(self, kv: TypedKvStore, stream: int, cells: NDArray[np.intp], deltas: NDArray[np.int32]) -> None:
        """Rotate the K of cells by deltas positions (spec §3.4); V stays."""
        moved = deltas != 0
        rows = kv.rows(stream, cells[moved])
        turns = self._rope.by(deltas[moved])
        for layer in range(self.hparams.n_layer):
            keys = kv.k.rotate(kv.k.get(layer, rows))
            self._rope.rotate(keys.reshape(len(rows), self.hparams.n_head_kv, -1), turns)
            kv.k.put(layer, rows, kv.k.rotate(keys))

    def _hidden(self, runs: Sequence[SequenceRun], kv: TypedKvStore) -> Floats:
        """Output of the last layer [N, E]; a lone token gets a silent companion."""
        positions = np.concatenate([np.arange(run.first_pos, len(run.cells)) for run in runs])
        rows = np.concatenate([kv.rows(run.stream, run.cells[run.first_pos :]) for run in runs])
        shares = plan_attention(runs, kv, self._crew.size)
        n = len(rows)
        step = _Step(self._rope.at(positions), rows, shares, kv)
        x = self._work.floats("x", usable_rows(n), self.hparams.n_embd)
        x[:n] = self._embedding[np.concatenate([run.tokens for run in runs])]
        x[n:] = 0
        self._work.floats("mixed", len(x), self.hparams.n_head * self.hparams.head_dim_v)[n:] = 0
        for number, layer in enumerate(self._layers):
            self._attention(x, number, layer, step)
            self._feed_forward(x, layer)
        return x

    def _attention(self, x: Floats, number: int, layer: Layer, step: _Step) -> None:
        """Add the attention's output to x, after storing the new K and V."""
        h, kv, n = self.hparams, step.kv, len(step.rows)
        qkv = self._product(layer.qkv, self._normed(x), "qkv")[:n]
        self._rope.rotate(qkv[:, : self._n_qk].reshape(n, -1, h.head_dim_k), step.turns)
        kv.k.put(number, step.rows, kv.k.rotate(qkv[:, self._n_q : self._n_qk]))
        kv.v.put(number, step.rows, kv.v.rotate(qkv[:, self._n_qk :]))
        mixed = self._work.floats("mixed", len(x), h.n_head * h.head_dim_v)
        q = kv.k.rotate(qkv[:, : self._n_q])
        pairs = zip(self._attentions, step.shares, strict=False)
        self._crew.run([partial(part.attend, share, number, kv, q, mixed) for part, share in pairs])
        x += self._product(layer.out, kv.v.rotate(mixed), "back")

    def _feed_forward(self, x: Floats, layer: Layer) -> None:
        """Add down(silu(gate) × up) to x; each thread takes a part of the inner width."""
        rows = self._normed(x)
        back = self._work.floats("parts", len(layer.feed_forward), *x.shape)
        tasks = [partial(part.run, rows, out) for part, out in zip(layer.feed_forward, back, strict=True)]
        self._share(tasks, 3 * self.hparams.n_ff * x.size)
        for out in back:
            x += out

    def _product(self, parts: Sequence[Matrix], rows: Floats, name: str) -> Floats:
        """rows [n, n_in] times a matrix whose rows are split among the threads: [n, n_out] in scratch memory."""
        out = self._work.floats(name, len(rows), sum(part.n_out for part in parts))
        tasks: list[Callable[[], None]] = []
        begin = 0
        for part in parts:
            tasks.append(partial(part.product, rows, out[:, begin : begin + part.n_out]))
            begin += part.n_out
        self._share(tasks, rows.size * begin)
        return out

    def _share(self, tasks: Sequence[Callable[[], None]], n_products: int) -> None:
        """Do tasks at the same time where there is enough to do, else one after the other."""
        if n_products >= LEAST_TO_SHARE:
            self._crew.run(tasks)
            return
        for task in tasks:
            task()

    def _normed(self, x: Floats) -> Floats:
        """x / root mean square, the norm's weights being part of the next matrix. [N, E]"""
        scale = np.vecdot(x, x)
        scale *= np.float32(1 / x.shape[1])
        scale += np.float32(self.hparams.rms_eps)
        np.sqrt(scale, out=scale)
        normed = self._work.floats("normed", *x.shape)
        np.divide(x, scale[:, None], out=normed)
        return normed

    def _logits(self, last: Floats) -> FloatRows:
        normed = self._normed(last)
        normed *= self._output_norm
        return self._product(self._output, normed, "logits")


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
    middle = run.first_pos + n
    head = replace(run, tokens=run.tokens[:n], cells=run.cells[:middle], wants_logits=False)
    return head, replace(run, tokens=run.tokens[n:], first_pos=middle)
