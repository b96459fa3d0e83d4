"""What the card reports: loss by position, answers from far back, and samples."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import torch
from torch import Tensor
from torch.nn import functional

from .bpe import SPECIAL, Bpe
from .network import Network
from .recall import recall_task
from .rows import short_row
from .shape import SHAPE

__all__ = ["complete", "loss_by_position", "recall", "short_loss"]

_SEED = 99_000_001
_END = {SPECIAL.index("<|endoftext|>"), SPECIAL.index("<|im_end|>")}


@torch.no_grad()
def _token_losses(network: Network, row: list[int]) -> Tensor:
    """Cross entropy in nats of each token after the first: ``[T]``."""
    ids = torch.tensor([row])
    return functional.cross_entropy(network(ids[:, :-1])[0], ids[0, 1:], reduction="none")


def short_loss(network: Network, bpe: Bpe, rows: int = 64) -> float:
    """Mean loss in nats per token over rows of 512 that were never trained on."""
    rng = Random(_SEED)
    return float(torch.stack([_token_losses(network, short_row(bpe, rng, 513)).mean() for _ in range(rows)]).mean())


def loss_by_position(
    network: Network, bpe: Bpe, make_row: Callable[[Bpe, Random, int], list[int]], rows: int = 24
) -> Tensor:
    """Mean loss in nats at each of 8,192 positions, over rows of the given kind: ``[8192]``."""
    rng = Random(_SEED + 1)
    losses = [_token_losses(network, make_row(bpe, rng, SHAPE.context + 1)) for _ in range(rows)]
    return torch.stack(losses).mean(dim=0)


def recall(network: Network, bpe: Bpe, distance: int, tasks: int = 24) -> float:
    """Share of questions answered word for word, asked about ``distance`` tokens after the story."""
    rng = Random(_SEED + 2)
    right = 0
    for _ in range(tasks):
        prompt, answer = recall_task(bpe, rng, distance)
        expected = bpe.encode(answer)
        ids = torch.tensor([[*bpe.encode(prompt), *expected]])
        with torch.no_grad():
            guesses = network(ids[:, :-1])[0, -len(expected) :].argmax(dim=-1)
        right += guesses.tolist() == expected
    return right / tasks


@torch.no_grad()
def complete(
    network: Network, bpe: Bpe, prompt: str, temperature: float = 0.0, seed: int = 1, limit: int = 300
) -> list[int]:
    """Ids that follow the prompt, up to and without an end token; temperature 0 takes the likeliest."""
    generator = torch.Generator().manual_seed(seed)
    ids = bpe.encode(prompt)
    start = len(ids)
    while len(ids) - start < limit:
        logits = network(torch.tensor([ids]))[0, -1]
        if temperature == 0:
            chosen = int(logits.argmax())
        else:
            chosen = int(torch.multinomial((logits / temperature).softmax(-1), 1, generator=generator))
        if chosen in _END:
            break
        ids.append(chosen)
    return ids[start:]
