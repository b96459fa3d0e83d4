"""Several servers, a row for each."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

from msgspec import Struct
from textual.binding import Binding, BindingType
from textual.message import Message

from slotview.engine.snapshot import HealthState
from slotview.engine.text.plain import plain
from slotview.widgets.base.columns import Column, Layout, lay_out, says
from slotview.widgets.base.line import Line, cut_middle, fit, line_width
from slotview.widgets.base.row_list import RowList
from slotview.widgets.health import health_tone
from slotview.widgets.look import Look
from slotview.widgets.numbers import UNKNOWN, count, percent, rate

__all__ = ["ServerRow", "ServerTable"]


class ServerRow(Struct, frozen=True):
    """One server as of the last look; ``context``: the tokens held, and the size of the pool."""

    index: int
    name: str
    health: HealthState
    is_live: bool
    message: str
    busy: tuple[int | None, int | None]
    waiting: int | None
    rate: str
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
            rate(look.observation.generation_rate, at_least=look.observation.generation_at_least),
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
            key_display="↵",
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
        return _layout(width).head()

    def draw_row(self, row: ServerRow, width: int) -> Line:
        """Draw one server."""
        return _layout(width).row(row)

    def key_of(self, row: ServerRow) -> Hashable:
        """A server is identified by its place in the list."""
        return row.index

    def opened(self, row: ServerRow) -> None:
        """Ask for the server's own screen."""
        self.post_message(self.Opened(row.index))


def _told_apart(name: str) -> str:
    """A name, or an address without the part that most of them begin with."""
    return plain(name, 200).removeprefix("http://")


@lru_cache(maxsize=4)
def _layout(width: int) -> Layout[ServerRow]:
    """The columns; how a server is goes before what it does where there is room for few."""
    columns: list[Column[ServerRow]] = [
        Column("server", max(12, min(36, width // 4)), 0, _name_cell, right=False),
        Column("busy", 7, 2, lambda row, _: _number(row, f"{count(row.busy[0])}/{count(row.busy[1])}")),
        Column("waiting", 7, 4, lambda row, _: _number(row, count(row.waiting))),
        Column("tok/s", 7, 3, lambda row, _: _number(row, row.rate)),
        Column("context", 15, 5, lambda row, _: _number(row, _context(row))),
        Column("health · model", 14, 1, _health_cell, right=False, widest=200),
    ]
    return lay_out(width, columns)


def _name_cell(row: ServerRow, width: int) -> Line:
    return ((cut_middle(_told_apart(row.name), width), ""),)


def _number(row: ServerRow, text: str) -> Line:
    """A number of a server that is gone is old, and dim."""
    return says(text, "" if row.is_live else "dim")


def _health_cell(row: ServerRow, width: int) -> Line:
    what = plain(row.model, 80) if row.model else f"model {UNKNOWN}"
    tail = plain(row.message, 120) if row.health is not HealthState.OK and row.message else what
    line = fit(((f"● {row.health.value}", health_tone(row.health)), (f"  {tail}", "")), width)
    return (*line, (" " * (width - line_width(line)), ""))


def _context(row: ServerRow) -> str:
    used, cells = row.context
    share = "" if cells is None else f"· {percent(used, cells):>5}"
    return UNKNOWN if used is None else f"{count(used)} {share:7}"
