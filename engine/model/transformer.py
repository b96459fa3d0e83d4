"""The llama network in NumPy: one batched pass for all sequences of a step.

Shapes: N = tokens of the batch, E = width, H = query heads, J = KV heads, D = head dimension, F = feed-forward width.
Weights of norms are multiplied into the matrices that follow them, the attention scale into the queries', and matrices
with the same input are one matrix.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from .attention import AttentionPlan, attend, plan_attention
from .hparams import HParams
from .interface import FloatRows, KvShape, SequenceRun
from .kv_store import TypedKvStore
from .kv_types_float import Floats
from .matmul import Matrix
from .rope import Rope
from .workspace import Workspace

__all__ = ["Transformer"]

TensorSource = Callable[[str], Floats]
MOST_TOKENS = 512


@dataclass(frozen=True, slots=True)
class _Layer:
    """``qkv``: [(H + J) × D + J × Dv, E]; ``out``: [E, H × Dv]; ``gate_up``: [2F, E], negated; ``down``: [E, F]."""

    qkv: Matrix
    out: Matrix
    gate_up: Matrix
    down: Matrix


@dataclass(frozen=True, slots=True)
class _Step:
    """What all layers of one batch share. ``rows``: rows of the store that take the new K and V."""

    turns: NDArray[np.complex64]
    rows: NDArray[np.intp]
    plan: AttentionPlan
    kv: TypedKvStore


class Transformer:
    """Weights and scratch memory; `forward` and `shift` as in `Model`. Not to be called from two threads at once."""

    def __init__(self, hparams: HParams, tensor: TensorSource) -> None:
        self.hparams = hparams
        self._n_q = hparams.n_head * hparams.head_dim_k
        self._n_qk = self._n_q + hparams.n_head_kv * hparams.head_dim_k
        self._work = Workspace()
        self._rope = Rope(hparams, tensor("rope_freqs.weight") if hparams.has_rope_freqs else None)
        self._embedding = tensor("token_embd.weight")
        self._output_norm = tensor("output_norm.weight")
        self._output = Matrix(self._embedding if hparams.tied else tensor("output.weight"))
        self._layers = [_load_layer(hparams, tensor, number) for number in range(hparams.n_layer)]

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
        last = self._work.floats("last", n_wanted, self.hparams.n_embd)
        n_done = 0
        with np.errstate(over="ignore", under="ignore"):
            for piece in _pieces(runs):
                ends = np.cumsum([len(run.tokens) for run in piece])
                wanted = ends[[run.wants_logits for run in piece]] - 1
                hidden = self._hidden(piece, kv)
                np.take(hidden, wanted, axis=0, out=last[n_done : n_done + len(wanted)])
                n_done += len(wanted)
            return self._logits(last)

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
        """Output of the last layer [N, E]."""
        positions = np.concatenate([np.arange(run.first_pos, len(run.cells)) for run in runs])
        rows = np.concatenate([kv.rows(run.stream, run.cells[run.first_pos :]) for run in runs])
        step = _Step(self._rope.at(positions), rows, plan_attention(runs, kv), kv)
        x = self._work.floats("x", len(rows), self.hparams.n_embd)
        np.take(self._embedding, np.concatenate([run.tokens for run in runs]), axis=0, out=x)
        for number, layer in enumerate(self._layers):
            self._attention(x, number, layer, step)
            self._feed_forward(x, layer)
        return x

    def _attention(self, x: Floats, number: int, layer: _Layer, step: _Step) -> None:
        h, kv, n = self.hparams, step.kv, len(x)
        qkv = layer.qkv.product(self._normed(x), self._work.floats("qkv", n, layer.qkv.n_out))
        self._rope.rotate(qkv[:, : self._n_qk].reshape(n, -1, h.head_dim_k), step.turns)
        kv.k.put(number, step.rows, kv.k.rotate(qkv[:, self._n_q : self._n_qk]))
        kv.v.put(number, step.rows, kv.v.rotate(qkv[:, self._n_qk :]))
        mixed = self._work.floats("mixed", n, layer.out.n_in)
        attend(kv.k.rotate(qkv[:, : self._n_q]), step.plan, number, kv, mixed, self._work)
        x += layer.out.product(kv.v.rotate(mixed), self._work.floats("back", n, h.n_embd))

    def _feed_forward(self, x: Floats, layer: _Layer) -> None:
        """Add down(silu(gate) × up). With -gate and -up at hand that is gate × up / (1 + exp(-gate))."""
        n, n_ff = len(x), layer.down.n_in
        both = layer.gate_up.product(self._normed(x), self._work.floats("gate_up", n, 2 * n_ff))
        gate, up = both[:, :n_ff], both[:, n_ff:]
        inner = np.multiply(gate, up, out=self._work.floats("inner", n, n_ff))
        np.exp(gate, out=gate)
        np.add(gate, np.float32(1), out=gate)
        np.divide(inner, gate, out=inner)
        x += layer.down.product(inner, self._work.floats("back", n, self.hparams.n_embd))

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
        return self._output.product(normed, self._work.floats("logits", len(last), self._output.n_out))


def _load_layer(h: HParams, tensor: TensorSource, number: int) -> _Layer:
    def get(name: str) -> Floats:
        return tensor(f"blk.{number}.{name}.weight")

    attn_norm, ffn_norm = get("attn_norm"), get("ffn_norm")
    q = get("attn_q") * np.float32(h.head_dim_k**-0.5)
    qkv = np.concatenate([q, get("attn_k"), get("attn_v")])
    gate_up = np.concatenate([get("ffn_gate"), get("ffn_up")])
    return _Layer(
        qkv=Matrix(np.multiply(qkv, attn_norm, out=qkv)),
        out=Matrix(get("attn_output")),
        gate_up=Matrix(np.multiply(gate_up, -ffn_norm, out=gate_up)),
        down=Matrix(get("ffn_down")),
    )


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
