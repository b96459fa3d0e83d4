"""Greedy text: twenty prompts, 64 tokens each, on both servers."""

from __future__ import annotations

import pytest

from .client import Client
from .servers import REAL, WHY_NOT, Server, start

PROMPTS = (
    "A slot is", "The KV cache", "When a request waits", "Once upon a time", "The server", "Each token",
    "A long prompt", "What is a batch?", "The little cat", "If two requests", "The queue holds", "A context of 4096",
    "Jack said", "In the morning",
    "Unified memory means", "A prefix that", "The first token", "Anna and Ben", "To free a slot", "The oldest entry",
)  # fmt: skip
LENGTH = 64
NEAR_TIE = 1e-2
"""Nats between the two best tokens up to which a rounded cache may decide."""
FLAGS = ("-c", "1024", "-np", "2", "-t", "1", "--no-warmup", "--no-ui")
pytestmark = [
    pytest.mark.llama_server,
    pytest.mark.skipif(not REAL, reason=WHY_NOT),
]


def _texts(server: Server) -> list[list[int]]:
    server.wait_ready()
    client = Client(server)
    found = []
    for prompt in PROMPTS:
        answer = client.complete(prompt, LENGTH, ignore_eos=True)
        tokens = answer["tokens"]
        assert isinstance(tokens, list)
        found.append(tokens)
    return found


def _both(flags: tuple[str, ...]) -> tuple[Server, Server]:
    return start("real", (*FLAGS, *flags)), start("ours", (*FLAGS, *flags))


def test_every_token_is_equal_with_an_exact_cache() -> None:
    real, ours = _both(("-ctk", "f32", "-ctv", "f32", "-fa", "off"))
    try:
        theirs, mine = _texts(real), _texts(ours)
        for prompt, one, other in zip(PROMPTS, theirs, mine, strict=True):
            assert one == other, prompt
            assert len(one) == LENGTH
    finally:
        real.stop()
        ours.stop()


@pytest.mark.parametrize("kind", ["f16", "q8_0"])
def test_a_rounded_cache_parts_only_where_two_tokens_are_nearly_equal(kind: str) -> None:
    real, ours = _both(("-ctk", kind, "-ctv", kind))
    try:
        equal = 0
        for prompt, one, other in zip(PROMPTS, _texts(real), _texts(ours), strict=True):
            place = next((n for n, pair in enumerate(zip(one, other, strict=True)) if pair[0] != pair[1]), None)
            if place is None:
                equal += 1
                continue
            gap = _gap(real, prompt, one[:place])
            print(f"{kind}: {prompt!r} parts at token {place}, where the two best are {gap:.4f} apart")
            assert gap < NEAR_TIE, prompt
        print(f"{kind}: {equal} of {len(PROMPTS)} equal to the end")
        assert equal > len(PROMPTS) // 2
    finally:
        real.stop()
        ours.stop()


def _gap(server: Server, prompt: str, said: list[int]) -> float:
    """Difference of the two best log-probabilities after what was said."""
    client = Client(server)
    start_tokens = client.ask("/tokenize", {"content": prompt, "add_special": True})
    assert isinstance(start_tokens, dict)
    answer = client.complete([*start_tokens["tokens"], *said], 1, n_probs=2, ignore_eos=True)
    probabilities = answer["completion_probabilities"]
    assert isinstance(probabilities, list)
    best = [entry["logprob"] for entry in probabilities[0]["top_logprobs"]]
    return float(best[0] - best[1])
