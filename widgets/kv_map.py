"""Which slots hold the KV cells, as blocks in the order of the slots, not of their places in the pool."""

from __future__ import annotations

from slotview.engine.observe.meaning import slots_unknown
from slotview.engine.snapshot import Snapshot
from slotview.engine.text.plain import plain

from .base.line import Line, Span, wrap
from .base.panel import LinePanel
from .look import Look
from .numbers import count

__all__ = ["KvMap"]

_BLOCK = "▪"
_TEXT_LIMIT = 200
_TONES = {"active": "generating", "cached": "cached", "free": "faint"}
_ORDER = "in the order of the slots"


class KvMap(LinePanel):
    """A block stands for a number of cells: of busy slots, kept in idle slots, or free."""

    BORDER_TITLE = "KV cells"

    def draw(self, look: Look, width: int, height: int | None) -> list[Line]:
        """Make the blocks, and say what one of them stands for."""
        pool = look.snapshot.pool
        if look.snapshot.slots is None:
            return _in_words(plain(slots_unknown(look.snapshot), _TEXT_LIMIT), width)[:height]
        if pool.cells is None:
            why = plain(pool.why or "no endpoint reports it", _TEXT_LIMIT)
            return [(("pool size unknown", "strong"),), *_in_words(why, width)][:height]
        rows = max(1, (height or 8) - 1)
        per_block = max(1, -(-pool.cells // max(1, rows * width)))
        blocks = _blocks(look.snapshot, pool.cells, per_block)
        block = f"{count(per_block)} cells" if per_block > 1 else "one cell"
        legend = f"one {_BLOCK} is {block}, {_ORDER}"
        return [((legend, "dim"),), *_rows(blocks, width)][:height]


def _in_words(text: str, width: int) -> list[Line]:
    return [((line, "dim"),) for line in wrap(text, width)]


def _blocks(snapshot: Snapshot, cells: int, per_block: int) -> list[Span]:
    """Runs of blocks, a number before each: one for each slot that holds something; then the free ones."""
    runs: list[Span] = []
    used = 0
    for slot in snapshot.slots or ():
        if slot.n_tokens:
            label = str(slot.id)
            run = label + _BLOCK * max(1, round(min(slot.n_tokens, cells) / per_block) - len(label))
            runs.append((run, _TONES["active" if slot.is_busy else "cached"]))
            used += len(run)
    free = max(0, cells // per_block - used)
    return [*runs, ("·" * free, _TONES["free"])] if free else runs


def _rows(runs: list[Span], width: int) -> list[Line]:
    """Break the runs into rows of ``width`` cells."""
    rows: list[Line] = []
    row: list[Span] = []
    room = width
    for text, tone in runs:
        rest = text
        while rest:
            row.append((rest[:room], tone))
            room -= len(rest[:room])
            rest = rest[len(row[-1][0]) :]
            if room <= 0:
                rows.append(tuple(row))
                row, room = [], width
    return [*rows, tuple(row)] if row else rows
