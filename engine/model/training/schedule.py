"""What each training step does: its row length, its number of rows and its learning rate."""

from __future__ import annotations

from itertools import pairwise

from msgspec import Struct

__all__ = ["PLAN", "Plan", "Step"]


class Step(Struct, frozen=True):
    """One optimizer step over ``rows`` rows of ``length`` tokens at learning rate ``rate``."""

    rows: int
    length: int
    rate: float


_TINY, _SHORT, _MIDDLE, _LONG = (16, 256), (8, 512), (4, 2048), (1, 8192)


class Plan(Struct, frozen=True):
    """Four parts with this many steps: tiny rows, short ones, middle ones, then a mixture of short and long.

    Every third step of the middle part is a short one, and every fourth of the mixture a long one, so that nothing is
    forgotten. The rate rises for ``warmup`` steps, holds, and falls to zero over the mixture.
    """

    warmup: int = 100
    tiny: int = 5700
    short: int = 700
    middle: int = 200
    mixed: int = 560
    peak: float = 2.5e-3

    @property
    def steps(self) -> int:
        """Steps in total."""
        return self.tiny + self.short + self.middle + self.mixed

    def _rate(self, number: int) -> float:
        corners = ((-1, 0.0), (self.warmup, 1.0), (self.steps - self.mixed, 1.0), (self.steps, 0.0))
        for (begin, low), (end, high) in pairwise(corners):
            if number < end:
                return self.peak * (low + (high - low) * (number - begin) / (end - begin))
        return 0.0

    def _form(self, number: int) -> tuple[int, int]:
        if number >= self.steps - self.mixed:
            return _LONG if number % 4 == 0 else _SHORT
        if number < self.tiny:
            return _TINY
        return _SHORT if number < self.tiny + self.short or number % 3 == 2 else _MIDDLE

    def step(self, number: int) -> Step:
        """The step with this number, from 0."""
        return Step(*self._form(number), self._rate(number))


PLAN = Plan()
