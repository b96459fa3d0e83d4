"""A llama-server of which everything is known at every moment: what it answers, and what is true."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from tests.engine.remote.recorded import metrics
from tests.fake_server import NOT_FOUND, Reply, json_reply

__all__ = ["Run", "TrueServer"]


@dataclass(frozen=True)
class Run:
    """A request and its time in a slot: the prompt at once, then a token every so often."""

    task: int
    slot: int
    arrived: float
    begun: float
    prompt: int
    prompt_seconds: float
    gap: float
    tokens: int

    @property
    def ended(self) -> float:
        return self.begun + self.prompt_seconds + self.gap * (self.tokens - 1)

    def decoded(self, now: float) -> int:
        """Tokens so far; the first one comes with the end of the prompt."""
        after = now - self.begun - self.prompt_seconds
        return min(self.tokens, 1 + int(after / self.gap + 1e-9)) if after >= 0 else 0

    def decoded_between(self, start: float, end: float) -> int:
        return self.decoded(end) - self.decoded(start)


class TrueServer:
    """Serves ``requests`` in order of arrival from ``born`` on, each in the first free one of ``n_slots`` slots."""

    def __init__(self, rng: random.Random, born: float, n_slots: int, longest: int, *, marked: bool) -> None:
        self.born, self.n_slots = born, n_slots
        self.mark = f"mark-{born}" if marked else None
        self.runs = list(self._planned(rng, longest))

    def _planned(self, rng: random.Random, longest: int) -> Iterator[Run]:
        free = [self.born] * self.n_slots
        at = self.born
        for number in range(40):
            at += rng.expovariate(1 / (1 + longest / 40))
            slot = min(range(self.n_slots), key=lambda one: (max(free[one], at), one))
            prompt, tokens = rng.randint(5, 600), rng.randint(1, longest)
            begun = max(free[slot], at)
            run = Run(3 * number, slot, at, begun, prompt, prompt / 400, rng.choice([0.02, 0.05, 0.1]), tokens)
            free[slot] = run.ended
            yield run

    def last(self, slot: int, now: float) -> Run | None:
        """The running task of a slot, or the last one."""
        begun = [run for run in self.runs if run.slot == slot and run.begun <= now]
        return begun[-1] if begun else None

    def running(self, slot: int, now: float) -> Run | None:
        run = self.last(slot, now)
        return run if run is not None and now < run.ended else None

    def waiting(self, now: float) -> int:
        return sum(run.arrived <= now < run.begun for run in self.runs)

    def decoded_between(self, start: float, end: float) -> int:
        """Tokens of all slots together."""
        return sum(run.decoded_between(start, end) for run in self.runs)

    def answer(self, path: str, now: float) -> Reply:
        slots = range(self.n_slots)
        if path == "/slots":
            return json_reply([self._row(slot, now) for slot in slots])
        if path == "/metrics":
            busy = sum(self.running(slot, now) is not None for slot in slots)
            told = sum(run.tokens for run in self.runs if run.ended <= now)
            counted = metrics(tokens_predicted_total=told, n_decode_total=1 + told, requests_processing=busy,
                              requests_deferred=self.waiting(now))  # fmt: skip
            return replace(counted, headers={"process-start-time-unix": self.mark} if self.mark else {})
        if path == "/props":
            marker = {"media_marker": self.mark} if self.mark else {}
            return json_reply({"total_slots": self.n_slots, "default_generation_settings": {"n_ctx": 4096}, **marker})
        return json_reply({"status": "ok"}) if path == "/health" else NOT_FOUND

    def _row(self, slot: int, now: float) -> dict[str, Any]:
        row: dict[str, Any] = {"id": slot, "n_ctx": 4096, "is_processing": self.running(slot, now) is not None}
        run = self.last(slot, now)
        if run is None:
            return row
        busy, decoded = row["is_processing"], run.decoded(now)
        counts = {"n_decoded": decoded if busy else 0, "n_remain": run.tokens - decoded if busy else -1}
        return row | {
            "id_task": run.task,
            "n_prompt_tokens": run.prompt + decoded - (0 if busy else 1),
            "n_prompt_tokens_processed": run.prompt if busy and decoded else 0,
            "n_prompt_tokens_cache": 0,
            "params": {"n_predict": run.tokens},
            "next_token": [{"has_next_token": busy, **counts}],
        }
