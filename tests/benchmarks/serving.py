"""Tokens per second of many slots over HTTP, here and in llama-server, with the bundled model, in turns.

    LLAMA_SERVER_BIN=… python -m tests.benchmarks.serving [--slots 1,8,64,256] [--rounds 5]

One request carries as many prompts as there are slots, so that all slots work at once and the client costs nothing.
"""

from __future__ import annotations

import argparse
import http.client
import json
import statistics
import time

import numpy as np

from slotview.engine.model.threads.blas import kernel_name
from tests.differential.servers import REAL, Server, start

N_PROMPT, N_PREDICT = 32, 96
PER_SLOT = 256


def served(name: str, n_slots: int) -> Server:
    """A running server with this many slots."""
    flags = ("-c", str(PER_SLOT * n_slots), "-np", str(n_slots), "-t", "2", "-cram", "0", "--no-warmup", "--no-ui")
    server = start(name, flags)
    server.wait_ready()
    return server


def tokens_per_second(server: Server, n_slots: int) -> float:
    """Generated tokens of all slots by the time from the request to its answer."""
    prompts = [[300 + (7 * slot + place) % 500 for place in range(N_PROMPT)] for slot in range(n_slots)]
    body = {"prompt": prompts, "n_predict": N_PREDICT, "temperature": 0, "ignore_eos": True, "cache_prompt": False}
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=600)
    began = time.perf_counter()
    connection.request("POST", "/completion", json.dumps(body))
    answer = connection.getresponse()
    text = answer.read()
    seconds = time.perf_counter() - began
    connection.close()
    assert answer.status == 200, text[:300]
    return n_slots * N_PREDICT / seconds


def main() -> None:
    """Measure both in turns and print a line for each number of slots."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--slots", default="1,8,64,256")
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    assert REAL, "LLAMA_SERVER_BIN names no llama-server"
    print(f"NumPy {np.__version__}, kernel {kernel_name()}, 2 threads, f16 cache")
    print(f"{N_PROMPT} prompt and {N_PREDICT} generated tokens in each slot")
    for n_slots in map(int, asked.slots.split(",")):
        servers = [served(name, n_slots) for name in ("ours", "real")]
        try:
            for server in servers:
                tokens_per_second(server, n_slots)
            pairs = [tuple(tokens_per_second(server, n_slots) for server in servers) for _ in range(asked.rounds)]
        finally:
            for server in servers:
                server.stop()
        ours, real = (statistics.median(values) for values in zip(*pairs, strict=True))
        ratio = statistics.median(a / b for a, b in pairs)
        print(
            f"{n_slots:4} slots: {ours:8.0f} t/s here, {real:8.0f} t/s llama-server, median ratio {ratio:.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
