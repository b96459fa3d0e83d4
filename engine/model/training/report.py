"""The measurements of the model card, as text."""

from __future__ import annotations

from .bpe import Bpe
from .evaluate import complete, loss_by_position, recall, short_loss
from .network import Network
from .rows import book_row, long_row, short_row

__all__ = ["PROMPTS", "report"]

PROMPTS = (
    "What is a slot?",
    "Question: What is unified KV?\nAnswer:",
    "<|im_start|>user\nWhat happens when all slots are busy?<|im_end|>\n<|im_start|>assistant\n",
    "<|im_start|>user\nHow big is a slot with -c 4096 and -np 4?<|im_end|>\n<|im_start|>assistant\n",
    "Once upon a time",
    "<|im_start|>user\nTell me a story about Mia and a red kite.<|im_end|>\n<|im_start|>assistant\n",
)
_ROWS = {"mixed long texts": long_row, "one book": book_row, "short texts": short_row}
_DISTANCES = (100, 500, 2000, 6000)


def _sample(network: Network, bpe: Bpe, prompt: str, temperature: float) -> str:
    text = bpe.decode(complete(network, bpe, prompt, temperature))
    return f"--- temperature {temperature:g}\n{prompt}⟶{text}"


def _position_line(network: Network, bpe: Bpe, kind: str) -> str:
    losses = loss_by_position(network, bpe, _ROWS[kind])
    near, far = float(losses[256:512].mean()), float(losses[4000:8000].mean())
    return f"rows of {kind}: {near:.4f} at 256 to 512, {far:.4f} at 4000 to 8000, {far / near:.3f} times"


def report(network: Network, bpe: Bpe) -> str:
    """Losses in nats per token, recall by distance in tokens, and samples."""
    lines = [
        f"parameters: {sum(weight.numel() for weight in network.parameters()):,}",
        f"validation loss, rows of 512: {short_loss(network, bpe):.4f}",
    ]
    lines += [_position_line(network, bpe, kind) for kind in _ROWS]
    lines += [f"answers right, {distance} tokens back: {recall(network, bpe, distance):.0%}" for distance in _DISTANCES]
    lines += [_sample(network, bpe, prompt, temperature) for temperature in (0.0, 0.8) for prompt in PROMPTS]
    return "\n".join(lines)
