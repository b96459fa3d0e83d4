"""Speed of the NumPy model beside llama-batched-bench on the same weights, in turns, so that a busy machine is fair.

    python -m tests.benchmarks.model_speed MODEL.gguf [--llama llama-batched-bench] [--prompt 128] [--batches 1,16]

Prints tokens per second of prompts and of generation, for each batch the best of all rounds, and the median ratio.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import subprocess
import time
from dataclasses import dataclass

for name in [name for name in os.environ if name.startswith("OPENBLAS_")]:
    del os.environ[name]

import numpy as np  # noqa: E402

from slotview.engine.model.gguf.file import load_model_file  # noqa: E402
from slotview.engine.model.interface import SequenceRun  # noqa: E402
from slotview.engine.model.network.transformer import Transformer  # noqa: E402
from slotview.engine.model.threads.blas import kernel_name  # noqa: E402

ROW = re.compile(
    r"^\|\s*(\d+) \|\s*(\d+) \|\s*(\d+) \|\s*\d+ \|\s*([\d.]+) \|\s*([\d.]+) \|\s*([\d.]+) \|\s*([\d.]+) \|", re.M
)


@dataclass(frozen=True)
class Speed:
    """Tokens per second, summed over the sequences of a batch."""

    prompt: float
    generation: float


def ours(model: Transformer, batch: int, n_prompt: int, n_gen: int, cache: str) -> Speed:
    """Feed ``batch`` prompts in pieces of 2,048 tokens at most, then generate greedily in all of them."""
    n_cells = -(-(n_prompt + n_gen) // 256) * 256
    kv = model.new_kv(batch, n_cells, cache, cache)
    cells = np.arange(n_cells)
    prompt = np.random.default_rng(1).integers(0, model.hparams.n_vocab, n_prompt, dtype=np.int32)
    begin = time.perf_counter()
    at_once = max(1, 2048 // n_prompt)
    for first in range(0, batch, at_once):
        streams = range(first, min(batch, first + at_once))
        model.forward([SequenceRun(prompt, 0, s, cells[:n_prompt], 0, wants_logits=True) for s in streams], kv)
    middle = time.perf_counter()
    tokens = np.ones(batch, np.int32)
    for position in range(n_prompt, n_prompt + n_gen):
        seen = cells[: position + 1]
        runs = [SequenceRun(tokens[s : s + 1], position, s, seen, 0, wants_logits=True) for s in range(batch)]
        tokens = model.forward(runs, kv).argmax(axis=-1).astype(np.int32)
    end = time.perf_counter()
    return Speed(batch * n_prompt / (middle - begin), batch * n_gen / (end - middle))


def theirs(binary: str, path: str, batch: int, n_prompt: int, n_gen: int, cache: str, threads: int) -> Speed:
    """The same by llama-batched-bench."""
    n_ctx = batch * (n_prompt + n_gen + 256)
    command = [binary, "-m", path, "-c", str(n_ctx), "-npp", str(n_prompt), "-ntg", str(n_gen), "-npl", str(batch)]
    command += ["-t", str(threads), "-tb", str(threads), "-ctk", cache, "-ctv", cache]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = ROW.search(text)
    assert found, text
    return Speed(float(found[5]), float(found[7]))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("--llama")
    parser.add_argument("--prompt", type=int, default=128)
    parser.add_argument("--gen", type=int, default=64)
    parser.add_argument("--batches", default="1,2,4,8,16")
    parser.add_argument("--cache", default="f16")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    file = load_model_file(args.model)
    model = Transformer(file.hparams, file.tensor, args.threads)
    print(f"kernel {kernel_name()}, {args.threads} threads, {args.prompt} tokens held, cache {args.cache}")
    ours(model, 2, 16, 4, args.cache)
    for batch in map(int, args.batches.split(",")):
        mine, other = [], []
        for _ in range(args.rounds):
            mine.append(ours(model, batch, args.prompt, args.gen, args.cache))
            if args.llama:
                other.append(theirs(args.llama, args.model, batch, args.prompt, args.gen, args.cache, args.threads))
        print(f"batch {batch:3}: {_line('prompt', mine, other)}   {_line('generation', mine, other)}", flush=True)


def _line(name: str, mine: list[Speed], other: list[Speed]) -> str:
    values = [getattr(speed, name) for speed in mine]
    text = f"{name} {max(values):7.1f} t/s"
    if other:
        others = [getattr(speed, name) for speed in other]
        ratio = statistics.median(a / b for a, b in zip(values, others, strict=True))
        text += f" (llama {max(others):7.1f}, best/best {max(values) / max(others):4.2f}, median ratio {ratio:4.2f})"
    return text


if __name__ == "__main__":
    main()
