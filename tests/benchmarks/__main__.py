"""All benchmarks, one after the other: ``make bench``. Those that need a missing program are left out."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

BUNDLED = Path(__file__).resolve().parents[2] / "engine" / "model" / "data" / "slotview-1m.gguf"


def run(title: str, module: str, *words: str) -> None:
    """Run one benchmark in a process of its own, without settings that slow a current NumPy."""
    print(f"\n== {title}", flush=True)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("OPENBLAS_")}
    subprocess.run([sys.executable, "-m", f"tests.benchmarks.{module}", *words], check=False, env=environment)


def main() -> None:
    """Run everything that can be run here."""
    run("scheduler: µs per busy slot and step, stub model", "scheduler")
    run("time to the first token, 16 prompt tokens, bundled model", "first_token")
    run("growth: with tokens held, slots, prompt length and requests, bundled model", "growth")
    server = os.environ.get("LLAMA_SERVER_BIN")
    if server is None:
        print(
            "\nLLAMA_SERVER_BIN names no llama-server: comparisons with it are left out (.ci/llama-server builds one)"
        )
        return
    bench = Path(server).with_name("llama-batched-bench")
    models = [os.environ["SLOTVIEW_BENCH_MODEL"]] if "SLOTVIEW_BENCH_MODEL" in os.environ else []
    for model in (*models, str(BUNDLED)):
        run(f"model: {Path(model).name} beside llama-batched-bench", "model_speed", model, "--llama", str(bench))
    run("serving: many slots over HTTP beside llama-server, bundled model", "serving")
    run("attach: beside llamastat", "attach_cost")


if __name__ == "__main__":
    main()
