"""The KV cells of all slots together: held by busy slots, kept in idle ones, free."""

from __future__ import annotations

from collections.abc import Sequence

from slotview.engine.observe.meaning import pool_meaning
from slotview.engine.snapshot import KvPool, SlotState, SlotView, Snapshot
from slotview.engine.text.plain import plain

from .base.bar import bar, parts_bar
from .base.line import Line, flow, pad, wrap
from .base.panel import LinePanel
from .base.title import set_title
from .look import Look
from .numbers import count, percent, size

__all__ = ["PoolBar"]

_MIN_SLOT_BAR = 8
_TEXT_LIMIT = 300
_RAM_NOTE = "prompts kept in RAM (--cache-ram) are not shown: no endpoint reports them"


class PoolBar(LinePanel):
    """One bar for a unified pool, one per slot for a split pool, one per possible size if the size is unknown."""

    BORDER_TITLE = "KV pool"

    def draw(self, look: Look, width: int, height: int | None) -> list[Line]:
        """Make the bars, their legend, and what they mean."""
        snapshot, pool = look.snapshot, look.snapshot.pool
        meaning = plain(pool_meaning(pool), _TEXT_LIMIT)
        notes = [meaning, _RAM_NOTE] if _may_keep_prompts(snapshot) else [meaning]
        words: list[Line] = [((line, "dim"),) for note in notes for line in wrap(note, width)]
        return [*_bars(pool, snapshot.slots or (), width), *_legend(pool, width), *words][:height]

    def show(self, look: Look) -> None:
        """Draw the pool of a look, with its mode and size in the title."""
        set_title(self, _title(look.snapshot.pool))
        super().show(look)


def _title(pool: KvPool) -> str:
    mode = {True: ["unified"], False: ["split"], None: []}[pool.unified]
    cells = [] if pool.cells is None else [f"{count(pool.cells)} cells"]
    n_bytes = [] if pool.n_bytes is None else [size(pool.n_bytes)]
    return " · ".join(["KV pool", *mode, *cells, *n_bytes])


def _bars(pool: KvPool, slots: Sequence[SlotView], width: int) -> list[Line]:
    if pool.used is None:
        return []
    if pool.unified is False and slots and _slot_bar_width(len(slots), width) >= _MIN_SLOT_BAR:
        return [_slot_bars(slots, width)]
    if pool.cells is not None:
        return [_pool_bar(pool, pool.cells, width)]
    return [_candidate(pool, cells, width) for cells in sorted(pool.candidates)]


def _pool_bar(pool: KvPool, cells: int, width: int) -> Line:
    active, cached = pool.active or 0, pool.cached or 0
    tone = "error" if active + cached > cells else "generating"
    return parts_bar([(active, tone), (cached, "cached")], cells, width)


def _candidate(pool: KvPool, cells: int, width: int) -> Line:
    """A bar of what is held, relative to a size that the pool may have."""
    used = pool.used or 0
    share = "more than it has" if used > cells else percent(used, cells)
    label = f"if {count(cells)} cells: "
    rest = f" {share}"
    room = max(4, width - len(label) - len(rest))
    return ((label, "dim"), *_pool_bar(pool, cells, room), (rest, "error" if used > cells else "dim"))


def _slot_bar_width(n_slots: int, width: int) -> int:
    return (width - 2 * (n_slots - 1)) // n_slots


def _slot_bars(slots: Sequence[SlotView], width: int) -> Line:
    """A small bar for each slot's own cells, after its id."""
    room = _slot_bar_width(len(slots), width)
    line: Line = ()
    for slot in slots:
        gap: Line = (("  ", ""),) if line else ()
        line = (*line, *gap, *_slot_bar(slot, room))
    return line


def _slot_bar(slot: SlotView, width: int) -> Line:
    label = f"{slot.id} "
    room = width - len(label)
    if slot.n_tokens is None and slot.state is not SlotState.UNUSED:
        return ((label, "dim"), (pad("?", room), "dim"))
    tone = "generating" if slot.is_busy else "cached"
    return ((label, "dim"), *bar((slot.n_tokens or 0) / slot.n_ctx if slot.n_ctx else 0, room, tone))


def _legend(pool: KvPool, width: int) -> list[Line]:
    """What the colours stand for, with numbers, and with shares and more words as far as one line has room for them."""
    if pool.active is None and pool.cached is None:
        return []
    wordings = ((pool.cells, "cached in idle slots"), (None, "cached in idle slots"), (None, "cached"))
    legends = [flow(_entries(pool, whole, cached), width) for whole, cached in wordings]
    return next((legend for legend in legends if len(legend) == 1), legends[-1])


def _entries(pool: KvPool, whole: int | None, cached: str) -> list[Line]:
    """What is active, cached and free; "≈" marks sums over the slots, which may miss cells."""
    mark = "≈ " if pool.estimated else ""
    free: Line = (("free: unknown", "dim"),)
    return [
        _entry("generating", f"active {mark}", pool.active, whole),
        _entry("cached", f"{cached} {mark}", pool.cached, whole),
        free if pool.cells is None else _entry("faint", f"free {mark}", pool.free, whole, sign="□"),
    ]


def _entry(tone: str, name: str, tokens: int | None, whole: int | None, sign: str = "■") -> Line:
    share = f" ({percent(tokens, whole)})" if whole and tokens else ""
    return ((f"{sign} ", tone), (name, "dim"), (count(tokens), ""), (share, "dim"))


def _may_keep_prompts(snapshot: Snapshot) -> bool:
    """Whether the server may keep prompts of which no endpoint tells: one elsewhere, too new to report `kv_ratio`."""
    is_elsewhere = snapshot.facts.source not in ("", "embedded") and snapshot.slots is not None
    return is_elsewhere and snapshot.totals.kv_ratio is None
