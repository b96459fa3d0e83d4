"""Findings about how tasks begin and end."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from slotview.engine.context import pad256, slots_for_each
from slotview.engine.text.plural import plural

from ..departures import Departure
from ..observation import Finding
from ..words import count, duration
from .scene import Rule, Scene

__all__ = ["RULES"]

AGAIN = 3  # times in a row that make a pattern
SHORTEST = 5.0  # seconds: what is cut off sooner was cancelled by a person
REMEMBER = 300.0  # seconds for which an ended task counts

_TOO_LONG = re.compile(r"exceeds? the available context size", re.IGNORECASE)
_NUMBERS = re.compile(r"\((\d{1,12}) tokens\)")


def cut_off(scene: Scene) -> Finding | None:
    """Requests keep ending early after the same time: a time-out in a client or proxy."""
    poll = scene.snapshot.poll
    doubt = 0.0 if poll is None else 2 * poll.interval
    cut = _one_by_one(gone for gone in _recent(scene) if _is_cut(gone, doubt))[-AGAIN:]
    times = [gone.seconds for gone in cut if gone.seconds is not None]
    if len(times) < AGAIN:
        return None
    spread = max(0.5, doubt, 0.03 * max(times))
    if max(times) - min(times) > spread:
        return None
    if all(gone.event.reason != "cancel" for gone in cut) and _same_size(cut, spread / min(times)):
        return None
    what = "requests" if any(gone.sampled for gone in cut) else "prompts"
    middle = duration(sorted(times)[AGAIN // 2])
    return Finding(
        "cut-off",
        f"{what} are cut off again and again after about {middle}",
        f"tasks {', '.join(str(gone.event.task) for gone in cut)} ended after {', '.join(f'{t:.1f}' for t in times)} s",
        "raise the time-out of the client or proxy, or shorten the prompts",
    )


def _is_cut(gone: Departure, doubt: float) -> bool:
    """Cancelled, or (if no event says so) gone before any token of the answer was seen."""
    if gone.seconds is None or gone.seconds < max(SHORTEST, 5 * doubt):
        return False
    return gone.event.reason == "cancel" or (gone.event.reason == "unseen" and not gone.sampled)


def _one_by_one(cut: Iterable[Departure]) -> list[Departure]:
    """Of those that ended at the same time the last: one thing may have ended them all, like a lost connection."""
    return list({gone.event.time: gone for gone in cut}.values())


def _same_size(cut: Sequence[Departure], spread: float) -> bool:
    """Prompts of about the same size take about the same time, so that a common duration proves nothing.

    ``spread``: the share by which the durations may differ.
    """
    sizes = [gone.n_tokens for gone in cut if gone.n_tokens is not None]
    return len(sizes) < len(cut) or max(sizes) - min(sizes) <= max(0.05, 2 * spread) * max(sizes)


def too_large(scene: Scene) -> Finding | None:
    """A prompt, waiting or refused, that no slot can hold."""
    limits = [slot.n_ctx for slot in scene.slots if slot.n_ctx is not None]
    if not limits:
        return None
    limit = max(limits)
    for request in scene.queue:
        if request.n_prompt is not None and request.n_prompt >= limit:
            evidence = f"task {request.task} waits with {count(request.n_prompt)} tokens, slots hold {count(limit)}"
            return _too_large(scene, request.n_prompt, limit, evidence)
    for who, error, size in _refusals(scene):
        numbers = _NUMBERS.findall(error)
        n_prompt = int(numbers[0]) if numbers else size
        told = "" if n_prompt is None else f" with {count(n_prompt)} tokens"
        evidence = f"{who} was refused{told}, slots hold {count(limit)}"
        return None if (n_prompt or limit) < limit else _too_large(scene, n_prompt, limit, evidence)
    return None


def _refusals(scene: Scene) -> Iterator[tuple[str, str, int | None]]:
    """Who was refused lately because of its prompt's length, in which words, and that length; the latest first."""
    noted: list[tuple[float, str, str, int | None]] = [
        (one.time, f"request {one.number}", one.error, None) for one in scene.memory.refused
    ]
    ended = [gone.event for gone in _recent(scene)]
    noted += [(event.time, f"task {event.task}", event.error or "", event.n_prompt) for event in ended]
    for time, who, error, size in sorted(noted, key=lambda one: one[0], reverse=True):
        if scene.snapshot.time - time <= REMEMBER and _TOO_LONG.search(error):
            yield who, error, size


def _too_large(scene: Scene, n_prompt: int | None, limit: int, evidence: str) -> Finding:
    return Finding(
        "prompt-too-large",
        "a prompt is larger than any slot; it can only be refused",
        evidence,
        _two_ways(scene, n_prompt, limit),
    )


def _two_ways(scene: Scene, n_prompt: int | None, limit: int) -> str:
    """Other launch flags, or another server."""
    elsewhere = "or send it to a server with larger slots"
    facts = scene.snapshot.facts
    change = "press t for" if facts.source == "embedded" else "restart with"
    if n_prompt is None:
        return f"{change} a larger -c or fewer slots, {elsewhere}"
    if facts.n_ctx_train is not None and n_prompt >= facts.n_ctx_train:
        return f"the model was trained on {count(facts.n_ctx_train)}: send it to another server"
    unified = scene.snapshot.pool.unified if facts.unified is None else facts.unified
    n_slots = len(scene.slots)
    if unified is None and n_slots > 1:
        return f"{change} slots of {count(pad256(n_prompt + 1))} tokens, {elsewhere}"
    wanted = pad256(n_prompt + 1) if unified else slots_for_each(n_prompt + 1, n_slots)
    return f"{change} -c {wanted}, {elsewhere}"


def not_reused(scene: Scene) -> Finding | None:
    """Slots are chosen for their content, but then nothing of it is reused."""
    now = scene.snapshot.time
    noted = [item for item in scene.memory.unreused if now - item.time <= REMEMBER]
    if len(noted) < 2:
        return None
    last = noted[-1]
    return Finding(
        "not-reused",
        "slots are matched by their content, but nothing of it is reused",
        f"task {last.task} on slot {last.slot}: similarity {last.similarity:.2f}, 0 cached; "
        f"{plural(len(noted), 'time')}",
        "check that requests leave cache_prompt on",
        "information",
        slots=tuple(sorted({item.slot for item in noted})),
    )


def _recent(scene: Scene) -> list[Departure]:
    now = scene.snapshot.time
    return [gone for gone in scene.memory.departures.latest() if now - gone.event.time <= REMEMBER]


RULES = (
    Rule(too_large, after=0.0),
    Rule(cut_off, after=0.0),
    Rule(not_reused, after=0.0),
)
