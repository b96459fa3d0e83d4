"""One look at a server, as text; the JSON form is in `snapshot_json`."""

from __future__ import annotations

from ..snapshot import SlotView, Snapshot
from ..text.plain import plain

__all__ = ["format_once"]

LONGEST = 200
UNKNOWN = "–"


def format_once(snapshot: Snapshot) -> str:
    """A few lines: the server, its health, each slot, and how many requests wait. A dash stands for unknown."""
    facts, health, waiting = snapshot.facts, snapshot.health, snapshot.waiting
    lines = [
        f"{facts.source}  {_shown(facts.model)}  {_shown(facts.build)}",
        "  ".join(part for part in (health.state.value, health.message, health.advice) if part),
    ]
    if snapshot.slots is not None:
        lines.append("slot  state        task  context        decoded  remain")
        lines += map(_slot_line, snapshot.slots)
    lines.append(f"waiting: {(waiting.why or 'unknown') if waiting.count is None else waiting.count}")
    return "\n".join(plain(line, LONGEST) for line in lines)


def _slot_line(slot: SlotView) -> str:
    context = f"{_shown(slot.n_tokens)}/{_shown(slot.n_ctx)}"
    remain = "no limit" if slot.unlimited else _shown(slot.n_remain)
    cells = (f"{slot.id:>4}", f"{slot.state.value:<11}", f"{_shown(slot.task):>5}", f"{context:<13}")
    return "  ".join((*cells, f"{_shown(slot.n_decoded):>7}", f"{remain:>6}"))


def _shown(value: object) -> str:
    return UNKNOWN if value is None else str(value)
