"""Random bodies and random sequences, the same ones on every run."""

from __future__ import annotations

from random import Random
from typing import Any

from ..client import Client
from ..scenario import scenario
from .bodies import FLAGS, NUMBERS, VALUES
from .prompts import tokens

SEQUENCES = 8
BODIES = 4
MODES = ("-c 1024 -np 3", "-c 768 -np 3 -kvu", "-c 768 -np 3 -kvu -cram 0", "-c 1024 -np 4 -sps 0.4 --cache-reuse 6")


def _prompt(chosen: Random) -> list[int]:
    """A prompt that shares a beginning with others."""
    base = tokens(60, chosen.randint(0, 3))[: chosen.randint(1, 60)]
    if chosen.random() < 0.3:
        base = base[:10] + tokens(60, chosen.randint(0, 3))[chosen.randint(0, 40) :]
    return base + tokens(chosen.randint(0, 20), chosen.randint(10, 20))


def _step(c: Client, chosen: Random) -> None:
    kind = chosen.random()
    slot = chosen.randint(0, 2)
    if kind < 0.08:
        c.ask(f"/slots/{slot}?action=erase", {})
    elif kind < 0.16:
        c.ask(f"/slots/{slot}?action=save", {"filename": f"{chosen.randint(0, 2)}.bin"})
    elif kind < 0.24:
        c.ask(f"/slots/{slot}?action=restore", {"filename": f"{chosen.randint(0, 2)}.bin"})
    elif kind < 0.32:
        c.ask(
            "/completion",
            {
                "prompt": [_prompt(chosen) for _ in range(chosen.randint(2, 5))],
                "n_predict": 3,
                "temperature": 0,
                "ignore_eos": True,
            },
        )
    else:
        fields: dict[str, Any] = {}
        if chosen.random() < 0.3:
            fields["id_slot"] = chosen.randint(-2, 4)
        if chosen.random() < 0.15:
            fields["cache_prompt"] = False
        if chosen.random() < 0.3:
            fields["n_cache_reuse"] = chosen.randint(0, 12)
        if chosen.random() < 0.15:
            fields["n_cmpl"] = 2
        if chosen.random() < 0.2:
            fields["stream"] = True
        c.complete(_prompt(chosen), chosen.randint(0, 8), ignore_eos=True, **fields)
    c.slots()


def sequence(seed: int) -> None:
    """One scenario of random requests that share prefixes."""

    @scenario(f"random sequence {seed}", MODES[seed % len(MODES)], fresh=True)
    def run(c: Client) -> None:
        chosen = Random(seed)
        for _ in range(20):
            _step(c, chosen)
        c.metrics()


def bodies(seed: int) -> None:
    """One scenario of random valid and invalid fields."""

    @scenario(f"random bodies {seed}", "-c 512 -np 1 -n 2")
    def run(c: Client) -> None:
        chosen = Random(1000 + seed)
        for number in range(40):
            names = chosen.sample((*NUMBERS, *FLAGS), chosen.randint(1, 4))
            body = {name: chosen.choice(VALUES) for name in names if name != "stream"}
            full = {"prompt": [300, 301], "temperature": 0, **body}
            left_out = (
                "content",
                "tokens",
                "completion_probabilities",
                "tokens_cached",
                "stop_type",
                "tokens_predicted",
                "predicted_n",
                "has_new_line",
                "truncated",
            )
            c.ask("/completion", full, leave_out=left_out, step=f"{number} {body}")


for number in range(SEQUENCES):
    sequence(number)
for number in range(BODIES):
    bodies(number)
