"""Attention of single tokens of many sequences: a group of them at once, with all heads, padded to one length.

Shapes as in `attention`, and B = sequences of a group. Buffers and views are laid out once for a step and used by every
layer, since in a small model laying them out would take as long as the arithmetic.

In each layer a few groups make a round: one thread weighs the cells of all of them by their keys, another one widens
their values, and then they are mixed.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from ..arrays import Floats
from ..kv.store import KvTensor, TypedKvStore
from ..threads.crew import Crew
from .attention_math import exponentials, key_operands
from .attention_plan import Group
from .workspace import Workspace

__all__ = ["GroupAttention", "GroupMemory"]

GROUPS_AT_ONCE = 4
"""Groups of a round."""
LEAST_TO_SHARE = 1 << 16
"""Values of V from which on they are widened by another thread at the same time as K."""


class GroupMemory:
    """Scratch memory for all steps.

    ``lasting``: for each group of a round what it needs to the round's end. ``passing_k``, ``passing_v``: what each
    group needs while its keys or values are read, one after the other.
    """

    def __init__(self) -> None:
        self.lasting = [Workspace() for _ in range(GROUPS_AT_ONCE)]
        self.passing_k = Workspace()
        self.passing_v = Workspace()


class GroupAttention:
    """The groups of one step; ``out`` [N, H × Dv] takes the results."""

    def __init__(self, groups: Sequence[Group], kv: TypedKvStore, out: Floats, crew: Crew, memory: GroupMemory) -> None:
        self._crew = crew
        works = [_GroupWork(group, kv, out, memory, number % GROUPS_AT_ONCE) for number, group in enumerate(groups)]
        self._rounds = [works[first : first + GROUPS_AT_ONCE] for first in range(0, len(works), GROUPS_AT_ONCE)]

    def attend(self, layer: int, q: Floats) -> None:
        """Attend with q [N, H × D], scaled and rotated as K is."""
        for works in self._rounds:
            tasks = [partial(_weigh_all, works, layer, q), partial(_widen_all, works, layer)]
            if self._crew.size > 1 and sum(work.n_values for work in works) >= LEAST_TO_SHARE:
                self._crew.run(tasks)
            else:
                for task in tasks:
                    task()
            for work in works:
                work.mix()


class _Gathered:
    """Rows of K or V, widened: ``floats`` [B × T, J × D]."""

    def __init__(self, tensor: KvTensor, group: Group, floats: Floats, passing: Workspace) -> None:
        self._tensor = tensor
        self._rows = group.rows.reshape(-1)
        self._stored = passing.items("stored", tensor.items.dtype, len(self._rows), tensor.items.shape[2])
        self._floats = floats

    def read(self, layer: int) -> None:
        """Read those of a layer."""
        self._tensor.items[layer].take(self._rows, 0, self._stored, "clip")
        self._tensor.kind.decode(self._stored, self._floats)


class _GroupWork:
    """One group, ``place`` in its round."""

    def __init__(self, group: Group, kv: TypedKvStore, out: Floats, memory: GroupMemory, place: int) -> None:
        (n, length), n_kv = group.shape, kv.shape.n_head_kv
        dim_k, dim_v = kv.shape.head_dim_k, kv.shape.head_dim_v
        n_group = out.shape[1] // (n_kv * dim_v)
        lasting, passing_k, passing_v = memory.lasting[place], memory.passing_k, memory.passing_v
        keys = passing_k.floats("k", n * length, n_kv * dim_k)
        values = lasting.floats("v", n * length, n_kv * dim_v)
        self._keys, self._values = _Gathered(kv.k, group, keys, passing_k), _Gathered(kv.v, group, values, passing_v)
        self._scales = kv.k.kind.scale, kv.v.kind.scale
        self._tokens, self._mask, self._out = group.tokens, group.mask, out
        self._queries = lasting.floats("q", n, n_kv * n_group * dim_k)
        self._scores = lasting.floats("scores", n, n_kv, n_group, length)
        self._total = lasting.floats("total", n, n_kv, n_group, 1)
        self._mixed = lasting.floats("mixed", n, n_kv, n_group, dim_v)
        queries = self._queries.reshape(n, n_kv, n_group, dim_k)
        self._to_scores = key_operands(queries, keys.reshape(n, length, n_kv, dim_k), self._scores)
        self._values_by_head = values.reshape(n, length, n_kv, dim_v).transpose(0, 2, 1, 3)
        self.n_values = values.size

    def weigh(self, layer: int, q: Floats) -> None:
        """Compute the weights of the cells [B, J, G, T] and their sums [B, J, G, 1]."""
        scale_k, scale_v = self._scales
        self._keys.read(layer)
        np.multiply(q[self._tokens], scale_k, out=self._queries)
        queries, keys, scores = self._to_scores
        np.matmul(queries, keys, out=scores)
        if self._mask is not None:
            np.add(self._scores, self._mask, out=self._scores)
        exponentials(self._scores, self._total)
        if scale_v != 1:
            np.multiply(self._scores, scale_v, out=self._scores)

    def widen_values(self, layer: int) -> None:
        """Read V of the cells."""
        self._values.read(layer)

    def mix(self) -> None:
        """Put the weighted mean of V into the rows of the group's tokens."""
        np.matmul(self._scores, self._values_by_head, out=self._mixed)
        np.divide(self._mixed, self._total, out=self._mixed)
        self._out[self._tokens] = self._mixed.reshape(len(self._mixed), -1)


def _weigh_all(works: Sequence[_GroupWork], layer: int, q: Floats) -> None:
    for work in works:
        work.weigh(layer, q)


def _widen_all(works: Sequence[_GroupWork], layer: int) -> None:
    for work in works:
        work.widen_values(layer)
