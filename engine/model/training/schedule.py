"""What each training step does: its row length, its number of rows and its learning rate."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

__all__ = ["PLAN", "Plan", "Step"]


@dataclass(frozen=True)
class Step:
    """One optimizer step over ``rows`` rows of ``length`` tokens at learning rate ``rate``."""

    rows: int
    length: int
    rate: float


_SHORT, _MIDDLE, _LONG = (8, 512), (4, 2048), (1, 8192)


@dataclass(frozen=True)
class Plan:
    """Four parts with this many steps: short rows, then middle, then long ones, then a mixture.

    Every third step of the middle and long parts is a short one, and every sixteenth of the mixture a long one, so that
    nothing is forgotten. The rate rises for ``warmup`` steps, holds, falls by a third in the long part, then to zero.
    """

    warmup: int = 60
    short: int = 1200
    middle: int = 180
    long: int = 120
    mixed: int = 500
    peak: float = 4e-3

    @property
    def steps(self) -> int:
        """Steps in total."""
        return self.short + self.middle + self.long + self.mixed

    def _rate(self, number: int) -> float:
        mixed_begins = self.steps - self.mixed
        rise = ((-1, 0.0), (self.warmup, 1.0), (mixed_begins - self.long, 1.0))
        fall = ((mixed_begins, 2 / 3), (self.steps, 0.0))
        for (begin, low), (end, high) in pairwise(rise + fall):
            if number < end:
                return self.peak * (low + (high - low) * (number - begin) / (end - begin))
        return 0.0

    def _form(self, number: int) -> tuple[int, int]:
        if number >= self.steps - self.mixed:
            return _LONG if number % 16 == 0 else _SHORT
        if number < self.short or number % 3 == 2:
            return _SHORT
        return _MIDDLE if number < self.short + self.middle else _LONG

    def step(self, number: int) -> Step:
        """The step with this number, from 0."""
        return Step(*self._form(number), self._rate(number))


PLAN = Plan()
