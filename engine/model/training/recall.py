"""A test of memory: a question about a story that lies many tokens back."""

from __future__ import annotations

from random import Random

from .bpe import Bpe
from .stories import cast, tell

__all__ = ["recall_task"]


def recall_task(bpe: Bpe, rng: Random, distance: int) -> tuple[str, str]:
    """(prompt, answer): a story, about ``distance`` tokens of stories about others, and a question about the first."""
    heroes = cast(rng)
    story = tell(rng, next(heroes))
    parts, tokens = [story.text], 0
    while tokens < distance:
        parts.append(tell(rng, next(heroes)).text)
        tokens += len(bpe.encode(parts[-1]))
    question, answer = rng.choice(story.questions[:2])
    parts.append(f"Question: {question}\nAnswer:")
    return "\n\n".join(parts), f" {answer}"
