"""One request's sampler: its chain, its history, its own random numbers (spec §8.4)."""

from __future__ import annotations

import copy
import math
import secrets
from collections import deque
from collections.abc import Iterable
from random import Random

import numpy as np

from ..interface import FloatRows, Tokenizer
from ..sampling_params import DEFAULT_SAMPLERS, RANDOM_SEED, SamplingParams
from .candidates import Candidates, Floats, Ids
from .errors import SamplerError
from .mirostat import Mirostat
from .penalties import apply_dry, apply_penalties, breaker_tokens, has_dry, has_penalties
from .steps import STEPS

__all__ = ["Sampler"]


class Sampler:
    """Built once a request. ``sample`` and ``accept`` take turns; `prime` begins anew.

    ``is_greedy``: the best logit after the bias is always the answer. ``is_plain``: only top-k, top-p, min-p and a
    fixed temperature above 0 are active, in the default order. Both kinds can be sampled many rows at once.
    """

    def __init__(self, params: SamplingParams, tokenizer: Tokenizer) -> None:
        if not _has_reciprocal(params.repeat_penalty):
            raise SamplerError("penalty_repeat must be finite and greater than 0")
        self.params = params
        self._uses_penalties = has_penalties(params) and "penalties" in params.samplers
        self._uses_dry = has_dry(params) and "dry" in params.samplers
        self._breakers = breaker_tokens(tokenizer, params.dry_sequence_breakers) if self._uses_dry else frozenset()
        self._mirostat = Mirostat(params, tokenizer.n_vocab) if params.mirostat else None
        self._history: deque[int] = deque(maxlen=max(1, params.repeat_last_n, params.dry_penalty_last_n))
        self._keeps_history = self._uses_penalties or self._uses_dry
        self.bias_ids, self.bias = _bias(params, tokenizer)
        self.left: Candidates | None = None  # what the last draw was made from
        self.is_greedy, self.is_plain = self._kind()
        self._seed(params.seed)

    def _kind(self) -> tuple[bool, bool]:
        params = self.params
        simple = params.xtc_probability <= 0 and params.typical_p >= 1 and params.dynatemp_range <= 0
        simple &= params.mirostat == 0 and not self._keeps_history
        greedy = simple and params.temperature <= 0 and "temperature" in params.samplers
        plain = simple and params.temperature > 0 and params.top_n_sigma <= 0 and params.top_k > 0
        return greedy, plain and params.samplers == DEFAULT_SAMPLERS

    def _seed(self, seed: int) -> None:
        self.seed = secrets.randbits(32) if seed == RANDOM_SEED else seed
        self.random = Random(self.seed)
        self._xtc_random = Random(self.seed ^ 0x5C7C)

    def clone(self, seed: int | None = None) -> Sampler:
        """A copy with the same history, drawing from another seed where one is given."""
        twin = copy.copy(self)
        twin._history = deque(self._history, self._history.maxlen)
        twin._mirostat = copy.copy(self._mirostat)
        twin.random = copy.deepcopy(self.random)
        twin._xtc_random = copy.deepcopy(self._xtc_random)
        if seed is not None:
            twin._seed(seed)
        return twin

    def prime(self, tokens: Iterable[int]) -> None:
        """Begin anew, with a prompt as the history."""
        if self._keeps_history:
            self._history.clear()
            self._history.extend(int(token) for token in tokens)
        if self._mirostat is not None:
            self._mirostat = Mirostat(self.params, self._mirostat._n_vocab)

    def accept(self, token: int) -> None:
        """Remember a token that was said."""
        if self._keeps_history:
            self._history.append(token)

    def sample(self, logits: FloatRows) -> int:
        """Pick a token from one row, [V], which stays as it is."""
        row: Floats = self.biased(logits)
        if self.is_greedy:
            best = int(row.argmax())
            self.left = Candidates(np.array([best]), row[best : best + 1], True)
            return best
        left = self._chain(row)
        self.left = left
        if self._mirostat is not None:
            place = self._mirostat.sample(left, self.random)  # cuts the candidates
            return int(left.ids[place])
        chances = np.cumsum(left.probabilities())
        place = int(np.searchsorted(chances, self.random.random() * chances[-1], "right"))
        return int(left.ids[min(place, len(left) - 1)])

    def biased(self, logits: Floats) -> Floats:
        """The row with the request's bias, copied where there is one."""
        if not len(self.bias_ids):
            return logits
        row = logits.copy()
        np.add.at(row, self.bias_ids, self.bias)
        return row

    def _chain(self, row: Floats) -> Candidates:
        """Run every step but the draw."""
        names = ("temperature",) if self._mirostat is not None else self.params.samplers
        left: Candidates | None = None
        if self._mirostat is None and self._keeps_history:
            row = row.copy()
        for name in names:
            if name in ("penalties", "dry"):
                self._look_back(name, row, left)
                continue
            if left is None:
                left = Candidates.of(row)
            if name in STEPS:
                STEPS[name](left, self.params, self._xtc_random)
        return Candidates.of(row) if left is None else left

    def _look_back(self, name: str, row: Floats, left: Candidates | None) -> None:
        """Penalties and DRY, wherever they stand in the chain."""
        uses = self._uses_penalties if name == "penalties" else self._uses_dry
        if not uses:
            return
        target = row
        if left is not None:
            target = np.full(len(row), -np.inf, np.float32)
            target[left.ids] = left.logits
        history = list(self._history)
        if name == "penalties":
            apply_penalties(target, history, self.params)
        else:
            apply_dry(target, history, self.params, self._breakers)
        if left is not None:
            left.logits, left.is_sorted = target[left.ids], False


def _has_reciprocal(penalty: float) -> bool:
    """Whether a penalty is positive and finite, and 1 / penalty too, in 32 bits."""
    with np.errstate(all="ignore"):
        own = np.float32(penalty)
        return bool(own > 0 and np.isfinite(own) and np.isfinite(np.float32(1) / own))


def _bias(params: SamplingParams, tokenizer: Tokenizer) -> tuple[Ids, Floats]:
    """Token ids and what is added to their logits; ``ignore_eos`` forbids every end-of-generation token."""
    pairs = [pair for pair in params.logit_bias if 0 <= pair[0] < tokenizer.n_vocab]
    if params.ignore_eos:
        pairs += [(token, -math.inf) for token in sorted(tokenizer.eog)]
    ids = np.array([token for token, _ in pairs], np.intp)
    return ids, np.array([bias for _, bias in pairs], np.float32)
