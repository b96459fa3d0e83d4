"""One look at a server, as text; the JSON form is in `snapshot_json`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..plain import plain

__all__ = ["format_once"]

LONGEST = 200
UNKNOWN = "–"


def format_once(report: Mapping[str, Any]) -> str:
    """A few lines: the server, its health, each slot, and how many requests wait. A dash stands for unknown."""
    server, health, waiting = report["server"], report["health"], report["waiting"]
    lines = [
        f"{server['source']}  {_shown(server['model'])}  {_shown(server['build'])}",
        "  ".join(part for part in (health["state"], health["message"], health["advice"]) if part),
    ]
    if report["slots"] is not None:
        lines.append("slot  state        task  context        decoded  remain")
        lines += [_slot_line(slot) for slot in report["slots"]]
    count = waiting["count"]
    lines.append(f"waiting: {count}" if count is not None else f"waiting: {waiting['why'] or 'unknown'}")
    return "\n".join(plain(line, LONGEST) for line in lines)


def _slot_line(slot: Mapping[str, Any]) -> str:
    context = f"{_shown(slot['n_tokens'])}/{_shown(slot['n_ctx'])}"
    remain = "no limit" if slot["unlimited"] else _shown(slot["n_remain"])
    cells = (f"{slot['id']:>4}", f"{slot['state']:<11}", f"{_shown(slot['task']):>5}", f"{context:<13}")
    return "  ".join((*cells, f"{_shown(slot['n_decoded']):>7}", f"{remain:>6}"))


def _shown(value: object) -> str:
    return UNKNOWN if value is None else str(value)
