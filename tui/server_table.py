"""Several servers, a row for each."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.message import Message

from slotview.engine.plain import plain
from slotview.engine.snapshot import HealthState
from slotview.widgets.line import Line, cut_middle, pad
from slotview.widgets.look import Look
from slotview.widgets.numbers import UNKNOWN, count, percent, rate
from slotview.widgets.row_list import RowList

__all__ = ["ServerRow", "ServerTable"]

_TONES = {HealthState.OK: "good", HealthState.ASLEEP: "dim", HealthState.CONNECTING: "waiting"}
_WIDTHS = (7, 7, 7, 12)


@dataclass(frozen=True, slots=True)
class ServerRow:
    """One server as of the last look; ``context``: the tokens held, and the size of the pool."""

    index: int
    name: str
    health: HealthState
    is_live: bool
    message: str
    busy: tuple[int | None, int | None]
    waiting: int | None
    rate: float | None
    context: tuple[int | None, int | None]
    model: str | None

    @classmethod
    def of(cls, index: int, name: str, look: Look) -> ServerRow:
        """Take what a row shows from a look."""
        snapshot, facts = look.snapshot, look.snapshot.facts
        total = facts.n_slots if snapshot.slots is None else len(snapshot.slots)
        return cls(
            index,
            name,
            snapshot.health.state,
            snapshot.health.is_live,
            snapshot.health.message,
            (snapshot.busy, total),
            snapshot.waiting.now,
            look.observation.generation_rate,
            (snapshot.pool.used, snapshot.pool.cells),
            facts.model,
        )


class ServerTable(RowList[ServerRow]):
    """Busy, waiting, tok/s, context, health and model of every server; Enter opens one."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "enter",
            "open",
            "Open",
            key_display="enter",
            id="servers.open",
            tooltip="Open the screen of the chosen server",
        ),
    ]

    @dataclass
    class Opened(Message):
        """Open a server's own screen."""

        index: int

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 (Textual's name)
        super().__init__(id=id)
        self.border_title = "Servers"

    def show_servers(self, rows: Sequence[ServerRow]) -> None:
        """Draw the rows."""
        self.set_rows(rows)

    def draw_head(self, width: int) -> Line:
        """Name the columns."""
        names = ("busy", "waiting", "tok/s", "context")
        cells = [pad(text, cell, right=True) for text, cell in zip(names, _WIDTHS, strict=True)]
        return ((f"{pad('server', _name_width(width))} {' '.join(cells)}  health · model", "heading"),)

    def draw_row(self, row: ServerRow, width: int) -> Line:
        """Draw one server; if it is gone, its numbers are old, and dim."""
        busy, total = row.busy
        texts = (f"{count(busy)}/{count(total)}", count(row.waiting), rate(row.rate), _context(row))
        cells = " ".join(pad(text, cell, right=True) for text, cell in zip(texts, _WIDTHS, strict=True))
        name = pad(cut_middle(_told_apart(row.name), _name_width(width)), _name_width(width))
        what = plain(row.model, 80) if row.model else f"model {UNKNOWN}"
        tail = plain(row.message, 120) if row.health is not HealthState.OK and row.message else what
        return (
            (f"{name} ", ""),
            (f"{cells}  ", "" if row.is_live else "dim"),
            (f"● {row.health.value}", _TONES.get(row.health, "error")),
            (f"  {tail}", ""),
        )

    def key_of(self, row: ServerRow) -> Hashable:
        """A server is identified by its place in the list."""
        return row.index

    def opened(self, row: ServerRow) -> None:
        """Ask for the server's own screen."""
        self.post_message(self.Opened(row.index))


def _told_apart(name: str) -> str:
    """A name, or an address without the part that most of them begin with."""
    return plain(name, 200).removeprefix("http://")


def _name_width(width: int) -> int:
    return max(12, min(36, width // 4))


def _context(row: ServerRow) -> str:
    used, cells = row.context
    return count(used) if used is None or cells is None else f"{count(used)} · {percent(used, cells)}"
