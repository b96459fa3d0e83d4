"""One request's sampler: its chain, its history, its own random numbers (spec §8.4)."""

from __future__ import annotations

import math
import secrets
from collections import deque
from collections.abc import Iterable
from random import Random

import numpy as np
from msgspec.structs import replace

from ..arrays import Floats
from ..interface import Tokenizer
from ..sampling_params import DEFAULT_SAMPLERS, RANDOM_SEED, SamplingParams
from .adaptive import AdaptiveP
from .best import Ids
from .candidates import Candidates
from .dry import Breakers, apply_dry, find_breakers, has_dry
from .errors import SamplerError
from .infill import apply_infill
from .mirostat import Mirostat
from .penalties import apply_penalties, has_penalties, has_reciprocal
from .steps import STEPS

__all__ = ["Sampler"]

XTC_SEED = 0x5C7C


class Sampler:
    """Built once a request. ``sample`` and ``accept`` take turns; `prime` begins anew.

    ``is_greedy``: the best logit after the bias is always the answer. ``is_plain``: only top-k, top-p, min-p and a
    fixed temperature above 0 are active, in the default order. Both kinds can be sampled many rows at once; plain ones
    with the same ``group`` together.
    """

    def __init__(self, params: SamplingParams, tokenizer: Tokenizer) -> None:
        if not has_reciprocal(params.repeat_penalty):
            raise SamplerError("penalty_repeat must be finite and greater than 0")
        self.params = params
        self._tokenizer = tokenizer
        self._steps = params if params.mirostat == 0 else replace(params, dynatemp_range=0.0)
        self._names = params.samplers if params.mirostat == 0 else ("temperature",)
        self._uses_penalties = has_penalties(params) and "penalties" in self._names
        self._uses_dry = has_dry(params) and "dry" in self._names
        self._breakers: Breakers = find_breakers(tokenizer, params.dry_sequence_breakers) if self._uses_dry else {}
        self._mirostat = Mirostat(params, tokenizer.n_vocab) if params.mirostat else None
        self._adaptive = AdaptiveP(params) if "adaptive_p" in self._names else None
        self._history: deque[int] = deque(maxlen=max(1, params.repeat_last_n, params.dry_penalty_last_n))
        self._keeps_history = self._uses_penalties or self._uses_dry
        self.bias_ids, self.bias = _bias(params, tokenizer)
        self.left: Candidates | None = None  # what the last draw was made from
        self.is_greedy, self.is_plain = self._kind()
        self.group = (params.top_k, params.top_p, params.min_p, params.temperature, params.min_keep)
        self.seed = secrets.randbits(32) if params.seed == RANDOM_SEED else params.seed
        self.random = Random(self.seed)
        self._xtc_random = Random(self.seed ^ XTC_SEED)

    def _kind(self) -> tuple[bool, bool]:
        params = self.params
        simple = params.xtc_probability <= 0 and params.typical_p >= 1 and params.dynatemp_range <= 0
        simple &= params.mirostat == 0 and not self._keeps_history and "infill" not in params.samplers
        greedy = simple and params.temperature <= 0 and "temperature" in params.samplers
        plain = simple and params.temperature > 0 and params.top_n_sigma <= 0 and params.top_k > 0
        plain &= not (params.post_sampling_probs and params.n_probs > 0)
        return greedy, plain and params.samplers == DEFAULT_SAMPLERS

    def prime(self, tokens: Iterable[int]) -> None:
        """Begin anew, with a prompt as the history."""
        if self._keeps_history:
            self._history.clear()
            self._history.extend(int(token) for token in tokens)
        if self._mirostat is not None:
            self._mirostat.reset()
        if self._adaptive is not None:
            self._adaptive.reset()

    def accept(self, token: int) -> None:
        """Remember a token that was said."""
        if self._keeps_history:
            self._history.append(token)
        if self._adaptive is not None:
            self._adaptive.accept(token)

    def sample(self, logits: Floats) -> int:
        """Pick a token from one row, [V], which stays as it is."""
        row: Floats = self.biased(logits)
        if self.is_greedy:
            best = int(row.argmax())
            self.left = Candidates(np.array([best]), row[best : best + 1], True)
            return best
        with np.errstate(all="ignore"):
            self.left = left = self._chain(row)
            return self._draw(left)

    def _draw(self, left: Candidates) -> int:
        if self._mirostat is not None:
            return self._mirostat.sample(left, self.random)
        if self._adaptive is not None:
            return self._adaptive.sample(left, self.random.random())
        return int(left.ids[left.place_at(self.random.random())])

    def biased(self, logits: Floats) -> Floats:
        """The row with the request's bias, copied where there is one."""
        if not len(self.bias_ids):
            return logits
        row = logits.copy()
        row[self.bias_ids] += self.bias
        return row

    def _chain(self, row: Floats) -> Candidates:
        """Run every step but the draw."""
        left: Candidates | None = None
        if self._keeps_history:
            row = row.copy()
        for name in self._names:
            if name in ("penalties", "dry"):
                self._look_back(name, row, left)
                continue
            left = Candidates.of(row) if left is None else left
            if name == "infill":
                apply_infill(left, self._tokenizer)
            elif name in STEPS:
                STEPS[name](left, self._steps, self._xtc_random)
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


def _bias(params: SamplingParams, tokenizer: Tokenizer) -> tuple[Ids, Floats]:
    """Token ids, each once, and what is added to their logits; ``ignore_eos`` forbids all that end a generation."""
    pairs = [pair for pair in params.logit_bias if 0 <= pair[0] < tokenizer.n_vocab]
    if params.ignore_eos:
        pairs += [(token, -math.inf) for token in sorted(tokenizer.eog)]
    sums: dict[int, float] = {}
    for token, bias in pairs:
        sums[token] = sums.get(token, 0.0) + bias
    return np.fromiter(sums.keys(), np.intp, len(sums)), np.fromiter(sums.values(), np.float32, len(sums))
