"""A retune preview as text."""

from __future__ import annotations

from textual.content import Content

from slotview.engine.backend import RetunePreview
from slotview.engine.snapshot import Snapshot
from slotview.engine.text.plain import plain
from slotview.widgets.numbers import count, size

__all__ = ["preview_text"]

_UNKNOWN = "not known"


def preview_text(preview: RetunePreview, now: Snapshot) -> Content:
    """Compare now with afterwards, then say what is lost, what is unknown, and what the server would log."""
    lines = [_row(*row) for row in _rows(preview, now)]
    lines += [Content.assemble(("! ", "$text-warning"), plain(note)) for note in preview.notes]
    if preview.unknown:
        names = ", ".join(plain(name) for name in preview.unknown)
        lines.append(Content.assemble(("? ", "$text-warning"), f"not known: {names}"))
    if preview.log:
        lines.append(Content.styled("the log would say:", "$foreground 70%"))
    lines += [Content.styled(plain(line), "$foreground 70%") for line in preview.log]
    return Content("\n").join(lines)


def _rows(preview: RetunePreview, now: Snapshot) -> list[tuple[str, str, str]]:
    facts = now.facts
    unified = facts.unified if now.pool.unified is None else now.pool.unified
    return [
        ("slots", _count(facts.n_slots), _count(preview.n_slots)),
        ("KV mode", _mode(unified), _mode(preview.unified)),
        ("n_ctx per slot", _count(facts.n_ctx_slot), _count(preview.n_ctx_slot)),
        ("pool", _count(now.pool.cells, " cells"), _count(preview.pool_cells, " cells")),
        ("KV memory", _size(preview.kv_bytes_now), _size(preview.kv_bytes)),
    ]


def _row(label: str, before: str, after: str) -> Content:
    changed = before != after
    return Content.assemble(
        (f"{label:<15}", "$foreground 70%"),
        f"{before:>14}",
        (" → ", "$foreground 40%"),
        (f"{after:<14}", "bold $text-success" if changed else ""),
    )


def _count(value: int | None, unit: str = "") -> str:
    return _UNKNOWN if value is None else count(value) + unit


def _mode(unified: bool | None) -> str:
    return _UNKNOWN if unified is None else "unified" if unified else "split"


def _size(n_bytes: int | None) -> str:
    return _UNKNOWN if n_bytes is None else size(n_bytes)
