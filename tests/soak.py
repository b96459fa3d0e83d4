"""Random requests, cancels, saves and retunes for a while: `python -m tests.soak [--seconds 600] [--seed 1]`.

Whenever everything is idle the core's invariants are checked; at the end every request has ended exactly once and the
process holds no more memory than after the first third of the time, both times in the same mode and without what the
allocator keeps for later. Prints a line every ten seconds; ends with 0 or 1.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from random import Random
from typing import Any

import numpy as np
from msgspec.structs import replace

from slotview.engine.backend import BackendError, FireRequest
from slotview.engine.embedded.host import EngineHost
from slotview.engine.embedded.local import LocalBackend
from slotview.engine.embedded.ticket import LocalTicket
from slotview.engine.flags import EngineFlags, parse_flags
from slotview.engine.model.sampling_params import SamplingParams
from slotview.engine.slots.queue.task import ActionDone, ActionTask, Result, TaskParams

PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096
FLAGS = "-c 2048 -np 4 -cram 4 --context-shift --cache-reuse 8"
MODES = (
    "-c 2048 -np 4", "-c 2048 -np 4 -kvu", "-c 512 -np 3 -kvu", "-c 4096 -np 8", "-c 1024 -np 1",
    "-c 2048 -np 4 -ctk q8_0 -ctv q8_0",
)  # fmt: skip
PATIENCE = 120.0
SPREAD = 12 * 2**20  # bytes the process may grow after it is warm
OPEN_REQUESTS = 40


def give_back() -> None:
    """Let the C library return freed memory to the system, where it can."""
    gc.collect()
    with suppress(OSError, AttributeError):
        ctypes.CDLL("libc.so.6").malloc_trim(0)


def rss() -> int:
    """Resident bytes of this process; 0 where the system does not tell."""
    try:
        with open("/proc/self/statm", encoding="ascii") as told:
            return int(told.read().split()[1]) * PAGE
    except OSError:
        return 0


class Posted:
    """A request handed to the host itself: counts how often each of its tasks ended."""

    def __init__(self) -> None:
        self.tasks: list[int] = []
        self.ends: Counter[int] = Counter()
        self.saved: bytes | None = None

    def sink(self, results: Sequence[Result]) -> None:
        """Take results, in the engine's thread."""
        for result in results:
            if result.is_last:
                self.ends[result.task] += 1
            if isinstance(result, ActionDone):
                self.saved = result.data

    @property
    def is_over(self) -> bool:
        """Whether every task has ended."""
        return all(self.ends[task] for task in self.tasks)


class Soak:
    """One run: an engine, and a random client."""

    def __init__(self, seed: int) -> None:
        self._chosen = Random(seed)
        self._backend = LocalBackend(parse_flags(FLAGS.split()))
        self._backend.start()
        self._host: EngineHost = self._backend.wait_ready(60)
        self._tickets: list[LocalTicket] = []
        self._posted: list[Posted] = []
        self._files: list[bytes] = []
        self.done: Counter[str] = Counter()

    def act(self) -> None:
        """Do one random thing."""
        doings = (
            (self._fire, 40), (self._post, 30), (self._cancel, 12), (self._save, 6), (self._restore, 4),
            (self._erase, 4), (self._look, 8), (self._retune, 1),
        )  # fmt: skip
        doing = self._chosen.choices([one for one, _ in doings], [weight for _, weight in doings])[0]
        doing()
        self.done[doing.__name__.strip("_")] += 1

    def _prompt(self) -> str:
        chosen = self._chosen
        opening = chosen.choice(("Once upon a time ", "A slot is ", "The server ", "When a request waits, "))
        return opening + "the queue holds it " * chosen.randint(0, 40)

    def _fire(self) -> None:
        chosen = self._chosen
        request = FireRequest(
            prompt=self._prompt(),
            count=chosen.randint(1, 6),
            n_predict=chosen.choice((0, 1, 8, 60, 300)),
            temperature=chosen.choice((0.0, 0.8, 1.5)),
            seed=chosen.choice((None, 1, 2)),
            id_slot=chosen.choice((None, None, None, 0, 1, 5)),
            ignore_eos=chosen.random() < 0.5,
        )
        self._tickets += self._backend.submit(request)

    def _post(self) -> None:
        chosen = self._chosen
        n_vocab = self._host.core.model.n_vocab
        prompts = [
            np.array([chosen.randrange(3, n_vocab) for _ in range(chosen.choice((0, 1, 5, 60, 300)))], np.int32)
            for _ in range(chosen.randint(1, 4))
        ]
        params = TaskParams(
            n_predict=chosen.choice((1, 5, 80)),
            n_keep=chosen.choice((0, 10, -1)),
            n_cmpl=chosen.choice((1, 1, 1, min(2, len(self._host.core.slots)))),
            cache_prompt=chosen.random() < 0.8,
            stream=chosen.random() < 0.5,
            return_progress=chosen.random() < 0.2,
            stop=chosen.choice(((), ("the", "slot"))),
            sampling=SamplingParams(temperature=chosen.choice((0.0, 1.0)), n_probs=chosen.choice((0, 0, 3))),
        )
        posted = Posted()
        posted.tasks = self._host.post(prompts, params, posted.sink)
        self._posted.append(posted)

    def _cancel(self) -> None:
        if self._tickets and self._chosen.random() < 0.5:
            self._chosen.choice(self._tickets).cancel()
        elif self._posted:
            self._host.cancel(self._chosen.choice(self._posted).tasks)

    def _save(self) -> None:
        self._action(ActionTask("save", self._chosen.randint(0, 3)))

    def _restore(self) -> None:
        if self._files:
            data = self._chosen.choice(self._files)
            if self._chosen.random() < 0.3:
                data = data[: self._chosen.randint(0, len(data))]
            self._action(ActionTask("restore", self._chosen.randint(0, 3), data=data))

    def _erase(self) -> None:
        self._action(ActionTask("erase", self._chosen.randint(0, 3)))

    def _action(self, action: ActionTask) -> None:
        posted = Posted()
        posted.tasks = [self._host.post_action(action, posted.sink)]
        self._posted.append(posted)

    def _look(self) -> None:
        snapshot = self._backend.latest()
        assert snapshot.slots is not None
        with suppress(BackendError):  # a retune may just have taken the slot away
            self._backend.details(self._chosen.randrange(len(snapshot.slots))).result(PATIENCE)

    def _retune(self) -> None:
        self._change(self._chosen.choice(MODES))

    def _change(self, mode: str) -> None:
        flags: EngineFlags = parse_flags(mode.split())
        try:
            self._backend.retune(replace(self._backend.flags, **_launch(flags))).result(PATIENCE)
        except BackendError as error:
            print(f"retune: {error}")

    def breathe(self) -> None:
        """Wait while much is open, and forget what has ended."""
        self._wait(lambda: self._sweep() < OPEN_REQUESTS)

    def _sweep(self) -> int:
        assert self._host.failure is None, self._host.failure
        for posted in self._posted:
            assert max(posted.ends.values(), default=0) <= 1, "a task ended twice"
            if posted.saved is not None:
                self._files = [*self._files[-4:], posted.saved]
        self._posted = [posted for posted in self._posted if not posted.is_over]
        self._tickets = [ticket for ticket in self._tickets if not ticket.view().state.is_over]
        return len(self._posted) + len(self._tickets)

    def settle(self) -> None:
        """Let everything end, then check the invariants."""
        self._wait(lambda: self._sweep() == 0)
        self._host.at_boundary(lambda core: core.check_integrity()).result(PATIENCE)
        assert not any(slot.is_busy for slot in self._backend.latest().slots or ()), "a slot is busy with nothing"

    def memory(self) -> int:
        """Resident bytes when nothing is at work, in the first mode."""
        self.settle()
        self._change(MODES[0])
        give_back()
        return rss()

    def _wait(self, seen: Callable[[], bool]) -> None:
        end = time.monotonic() + PATIENCE
        while not seen():
            assert time.monotonic() < end, f"nothing ends any more: {self._backend.latest()}"
            time.sleep(0.005)

    def close(self) -> None:
        """End the engine."""
        self._backend.close()


def _launch(flags: EngineFlags) -> dict[str, Any]:
    launch = flags.launch
    names = ("ctx_size", "parallel", "kv_unified", "type_k", "type_v")
    return {name: getattr(launch, name) for name in names}


def main(words: Sequence[str] | None = None) -> int:
    """Run until the time is over; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.soak", description=__doc__.splitlines()[0] if __doc__ else ""
    )
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args(words)
    soak = Soak(asked.seed)
    begun = told = time.monotonic()
    warm = 0
    while (now := time.monotonic()) < begun + asked.seconds:
        for _ in range(20):
            soak.act()
            soak.breathe()
        soak.settle()
        if not warm and now > begun + asked.seconds / 3:
            warm = soak.memory()
        if now > told + 10:
            told = now
            print(f"{now - begun:5.0f} s  {rss() / 2**20:6.1f} MiB  {dict(soak.done)}", flush=True)
    grown = soak.memory() - warm
    soak.close()
    print(f"{sum(soak.done.values())} doings, {grown / 2**20:+.1f} MiB since it was warm")
    return 0 if grown < SPREAD else 1


if __name__ == "__main__":
    sys.exit(main())
