"""Which requests arrive when: mixes that are the same in every run."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator

from msgspec import Struct

from ..text.plural import plural

__all__ = ["Arrival", "Lengths", "Workload", "WorkloadError", "burst", "parse_workload", "poisson"]

MOST_REQUESTS = 100_000
LONGEST = 1_000_000  # tokens
TAIL = 0.7  # sigma of the log-normal lengths


class WorkloadError(ValueError):
    """A workload that makes no sense; the text is one line."""


class Lengths(Struct, frozen=True):
    """Numbers of tokens: ``low``, uniform from ``low`` to ``high``, or around ``low`` with a long tail (log-normal)."""

    low: int
    high: int | None = None
    tailed: bool = False

    def draw(self, dice: random.Random) -> int:
        """One length, at least 1."""
        if self.tailed:
            return max(1, min(LONGEST, round(self.low * math.exp(dice.gauss(0.0, TAIL)))))
        return self.low if self.high is None else dice.randint(self.low, self.high)

    def __str__(self) -> str:
        if self.tailed:
            return f"about {self.low}"
        return str(self.low) if self.high is None else f"{self.low} to {self.high}"


class Arrival(Struct, frozen=True):
    """A request: when it arrives (seconds), and the tokens of its prompt and of its answer."""

    at: float
    n_prompt: int
    n_answer: int


class Workload(Struct, frozen=True):
    """Arrivals in order of time. The first ``shared`` tokens are the same in all prompts; ``seed`` makes the rest."""

    about: str
    arrivals: tuple[Arrival, ...]
    shared: int = 0
    seed: int = 0


def burst(
    count: int,
    prompt: Lengths,
    answer: Lengths,
    *,
    every: float = 0.0,
    times: int = 1,
    shared: int = 0,
    seed: int = 0,
) -> Workload:
    """``count`` requests at once, ``times`` times, ``every`` seconds apart. Raises `WorkloadError`."""
    _check(count * times, "n")
    dice = random.Random(seed)
    moments = (every * number for number in range(times) for _ in range(count))
    again = f", {times} times, every {every:g} s" if times > 1 else ""
    about = f"{plural(count, 'request')} at once{again}: {prompt} prompt and {answer} answer tokens"
    return Workload(about, tuple(_arrivals(moments, prompt, answer, dice)), shared, seed)


def poisson(
    rate: float, seconds: float, prompt: Lengths, answer: Lengths, *, shared: int = 0, seed: int = 0
) -> Workload:
    """Requests that arrive independently, ``rate`` a second on average, for ``seconds``. Raises `WorkloadError`."""
    if not (0 < rate < math.inf and 0 < seconds < math.inf):
        raise WorkloadError("rate and seconds must be above 0, as in poisson rate=0.5 seconds=60")
    _check(rate * seconds, "rate × seconds")
    dice = random.Random(seed)
    about = f"{rate:g} requests a second for {seconds:g} s: {prompt} prompt and {answer} answer tokens"
    arrivals = tuple(_arrivals(_moments(rate, seconds, dice), prompt, answer, dice))
    if not arrivals:
        raise WorkloadError(f"no request arrives in {seconds:g} s at rate={rate:g}; make one of them larger")
    return Workload(about, arrivals, shared, seed)


def _moments(rate: float, seconds: float, dice: random.Random) -> Iterator[float]:
    at = dice.expovariate(rate)
    while at < seconds:
        yield at
        at += dice.expovariate(rate)


def _arrivals(moments: Iterator[float], prompt: Lengths, answer: Lengths, dice: random.Random) -> Iterator[Arrival]:
    return (Arrival(at, prompt.draw(dice), answer.draw(dice)) for at in moments)


def _check(count: float, name: str) -> None:
    if not 1 <= count <= MOST_REQUESTS:
        raise WorkloadError(f"{name} comes to {count:g} requests; it must be 1 to {MOST_REQUESTS}")


def parse_workload(text: str) -> Workload:
    """Read ``burst n=8 prompt=61 answer=64`` or ``poisson rate=0.5 seconds=60 prompt=20..800 answer=100~ seed=1``.

    A length is a number, ``20..800`` (uniform) or ``100~`` (around 100 with a long tail). Other words: ``every`` and
    ``times`` (burst), ``shared`` (number of tokens that all prompts begin with), ``seed``. Raises `WorkloadError`.
    """
    kind, *words = text.replace(",", " ").split() or [""]
    values = _Values(words)
    prompt, answer = values.lengths("prompt", "64"), values.lengths("answer", "64")
    shared, seed = values.count("shared", 0), values.count("seed", 0)
    if kind == "burst":
        n, every, times = values.count("n", 8), values.seconds("every", 0.0), values.count("times", 1)
        workload = burst(n, prompt, answer, every=every, times=times, shared=shared, seed=seed)
    elif kind == "poisson":
        rate, seconds = values.seconds("rate", 1.0), values.seconds("seconds", 60.0)
        workload = poisson(rate, seconds, prompt, answer, shared=shared, seed=seed)
    else:
        raise WorkloadError(f"no such workload: {kind or 'nothing'}; it begins with burst or poisson")
    values.refuse_rest()
    return workload


class _Values:
    """``name=value`` words, each taken once."""

    def __init__(self, words: list[str]) -> None:
        self._texts: dict[str, str] = {}
        for word in words:
            name, equals, value = word.partition("=")
            if not equals or not value:
                raise WorkloadError(f"{word}: write name=value, as in prompt=64")
            self._texts[name] = value

    def _take(self, name: str, default: str, read: Callable[[str], float]) -> float:
        text = self._texts.pop(name, default)
        try:
            number = read(text)
        except ValueError:
            number = -1
        if not 0 <= number < math.inf:
            raise WorkloadError(f"{name}={text} is not a number that makes sense here")
        return number

    def count(self, name: str, default: int) -> int:
        """A whole number."""
        return int(self._take(name, str(default), int))

    def seconds(self, name: str, default: float) -> float:
        """A number of seconds, or per second."""
        return self._take(name, str(default), float)

    def lengths(self, name: str, default: str) -> Lengths:
        """``64``, ``20..800`` or ``100~``."""
        text = self._texts.pop(name, default)
        low, dots, high = text.removesuffix("~").partition("..")
        numbers = [int(part) if part.isascii() and part.isdigit() else 0 for part in (low, high or low)]
        if not 1 <= numbers[0] <= numbers[1] <= LONGEST or (dots and text.endswith("~")):
            raise WorkloadError(f"{name}={text}: write 64, 20..800 or 100~ (at most {LONGEST} tokens)")
        return Lengths(numbers[0], numbers[1] if dots else None, text.endswith("~"))

    def refuse_rest(self) -> None:
        """Complain about the names that were not taken."""
        for name in self._texts:
            raise WorkloadError(f"{name}: there is no such word in this workload")
