"""Time from a request's arrival to its first token on an idle engine with the bundled model."""

from __future__ import annotations

import statistics
import time
from threading import Event

import numpy as np

from slotview.engine.embedded.host import EngineHost
from slotview.engine.embedded.loading import build_core, load
from slotview.engine.flags import parse_flags
from slotview.engine.pace import microseconds
from slotview.engine.slots.queue.task import Partial, Result, TaskParams

ROUNDS = 40


def main() -> None:
    """Print the median and the worst of all rounds."""
    flags = parse_flags(["-c", "8192", "-np", "4", "-cram", "0"])
    host = EngineHost(build_core(flags, load(flags), microseconds()))
    host.start()
    random = np.random.default_rng(1)
    times: list[float] = []
    for _ in range(ROUNDS):
        first, over = Event(), Event()

        def sink(results: list[Result], first: Event = first, over: Event = over) -> None:
            if any(isinstance(result, Partial) for result in results):
                first.set()
            if any(result.is_last for result in results):
                over.set()

        prompt = random.integers(10, 1000, 16, dtype=np.int32)
        began = time.perf_counter()
        host.post([prompt], TaskParams(n_predict=2, stream=True), sink)  # type: ignore[arg-type]
        first.wait(10)
        times.append((time.perf_counter() - began) * 1e3)
        over.wait(10)
    host.close()
    print(f"median {statistics.median(times):.1f} ms, worst {max(times):.1f} ms of {ROUNDS}; to reach: 10 ms")


if __name__ == "__main__":
    main()
