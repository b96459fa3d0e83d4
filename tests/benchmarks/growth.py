"""How cost grows: a step with the tokens held and with the slots, a prompt with its length, memory with requests.

python -m tests.benchmarks.growth
"""

from __future__ import annotations

import gc
import statistics
import time
from threading import Semaphore

import numpy as np

from slotview.engine.embedded.host import EngineHost
from slotview.engine.embedded.loading import build_core, bundled_model, load
from slotview.engine.flags import parse_flags
from slotview.engine.model.interface import SequenceRun
from slotview.engine.model.load import FileModel, load_model
from slotview.engine.pace import microseconds
from slotview.engine.slots.queue.task import Result, TaskParams
from tests.soak import rss

STEPS = 30
REQUESTS, EARLY = 10_000, 1_000
AT_ONCE = 64


def step_ms(model: FileModel, n_slots: int, held: int, n_cells: int) -> float:
    """Median time of a decode step of ``n_slots`` sequences with ``held`` tokens each, in streams of ``n_cells``."""
    kv = model.new_kv(n_slots, n_cells, "f16", "f16")
    token, cells = np.ones(1, np.int32), np.arange(held + 1)
    runs = [SequenceRun(token, held, stream, cells, 0, wants_logits=True) for stream in range(n_slots)]
    times = []
    for _ in range(STEPS):
        began = time.perf_counter()
        model.forward(runs, kv)
        times.append((time.perf_counter() - began) * 1e3)
    return statistics.median(times)


def prompt_rate(model: FileModel, length: int) -> float:
    """Tokens per second of one prompt, in batches of 2,048 as the server cuts them."""
    kv = model.new_kv(1, 8192, "f16", "f16")
    tokens, cells = np.full(length, 300, np.int32), np.arange(length)
    began = time.perf_counter()
    for first in range(0, length, 2048):
        last = min(length, first + 2048)
        model.forward([SequenceRun(tokens[first:last], first, 0, cells[:last], 0, wants_logits=last == length)], kv)
    return length / (time.perf_counter() - began)


def growth_of_memory(cache_ram: int) -> tuple[float, float]:
    """MiB of the process after the first requests and after all of them."""
    flags = parse_flags(["-c", "2048", "-np", "8", "-cram", str(cache_ram)])
    host = EngineHost(build_core(flags, load(flags), microseconds()))
    host.start()
    random = np.random.default_rng(1)
    room = Semaphore(AT_ONCE)

    def sink(results: list[Result]) -> None:
        for result in results:
            if result.is_last:
                room.release()

    early = 0
    for number in range(REQUESTS):
        room.acquire()
        host.post([random.integers(10, 1000, 40, dtype=np.int32)], TaskParams(n_predict=1), sink)  # type: ignore[arg-type]
        if number == EARLY:
            gc.collect()
            early = rss()
    for _ in range(AT_ONCE):
        room.acquire()
    gc.collect()
    late = rss()
    host.close()
    return early / 2**20, late / 2**20


def main() -> None:
    """Print everything."""
    model = load_model(bundled_model())
    print("a step of one slot by tokens held, and by the size of its stream:")
    for n_cells in (8192, 65536):
        costs = [f"{held}: {step_ms(model, 1, held, n_cells):.2f} ms" for held in (64, 512, 2048, 4096, 8000)]
        print(f"  {n_cells} cells: " + ", ".join(costs), flush=True)
    print("a step by slots, 128 tokens held by each:")
    costs = [(n, step_ms(model, n, 128, 256)) for n in (1, 4, 16, 64, 256)]
    print("  " + ", ".join(f"{n}: {cost:.2f} ms ({cost / n * 1e3:.0f} µs each)" for n, cost in costs), flush=True)
    print("a prompt by its length:")
    print("  " + ", ".join(f"{n}: {prompt_rate(model, n):.0f} t/s" for n in (64, 256, 1024, 4096, 8000)), flush=True)
    print(f"memory after {EARLY} and {REQUESTS} requests:")
    for cache_ram in (0, 16):
        early, late = growth_of_memory(cache_ram)
        print(f"  -cram {cache_ram}: {early:.1f} MiB, then {late:.1f} MiB", flush=True)


if __name__ == "__main__":
    main()
