"""A plan's result as a table in plain text."""

from __future__ import annotations

from collections.abc import Sequence

from ..text.plural import plural
from .plan import PlanResult, PlanRow

__all__ = ["format_plan"]

MIB = 2**20

_HEADS = ("slots", "pool", "n_ctx", "MiB", "time", "tok/s", "each", "wait", "p95", "first", "p95", "busy", "peak",
          "ended")  # fmt: skip
_LEGEND = (
    "MiB: KV cache; time: until all have ended; times are seconds",
    "tok/s: of all slots together; each: of one request",
    "wait: until a slot is free; first: until the first token",
    "both on average, and p95: 95 of 100 take less",
    "busy: slots per decode call, on average; peak: most of the pool in use",
)


def format_plan(result: PlanResult, width: int = 80) -> str:
    """The table, what it means, and which flags did best; no line ends with spaces.

    The columns stand further apart if ``width`` has room for that.
    """
    static = "; static batching" if result.batching == "static" else ""
    lines = [f"{result.workload.about}; times of {result.device}{static}", ""]
    lines += _table([_HEADS, *[_cells(row) for row in result.rows if row.error is None]], width)
    lines += [f"does not start: {_flags(row)}: {row.error}" for row in result.rows if row.error is not None]
    lines += ["", *_LEGEND, "", *_notes(result)]
    return "\n".join(line.rstrip() for line in lines)


def _cells(row: PlanRow) -> tuple[str, ...]:
    mib = "?" if row.kv_bytes is None else f"{row.kv_bytes / MIB:.1f}"
    ended = f"{row.n_done}/{row.n_done + row.n_failed}"
    return (
        str(row.n_slots),
        "unified" if row.unified else "split",
        str(row.n_ctx_slot),
        mib,
        *map(_number, (row.seconds, row.speed, row.speed_each, row.wait, row.wait_p95)),
        *map(_number, (row.first_token, row.first_token_p95)),
        "-" if row.average_busy is None else f"{row.average_busy:.2f}",
        f"{100 * row.pool_peak / row.n_cells:.0f} %" if row.n_cells else "-",
        ended,
    )


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}" if value < 999.95 else f"{value:.0f}"


def _table(rows: Sequence[Sequence[str]], width: int) -> list[str]:
    """Align the columns to the right, as wide as they need to be."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADS))]
    gap = "  " if sum(widths) + 2 * (len(widths) - 1) <= width else " "
    return [gap.join(cell.rjust(length) for cell, length in zip(row, widths, strict=True)) for row in rows]


def _notes(result: PlanResult) -> list[str]:
    lines: list[str] = []
    for row in result.rows:
        if row.failure is not None:
            lines.append(f"{_flags(row)}: {row.n_failed} failed: {row.failure}")
        if row.n_truncated:
            cut = f"{plural(row.n_truncated, 'answer')} {'was' if row.n_truncated == 1 else 'were'} cut off"
            lines.append(f"{_flags(row)}: {cut} because the context was full")
    best = result.best
    if best is None:
        lines.append("no candidate served every request in full: give -c more, or make prompts and answers shorter")
    else:
        lines.append(f"done first with every answer in full: {_flags(best)} ({_number(best.seconds)} s)")
    return lines


def _flags(row: PlanRow) -> str:
    return " ".join(row.flags.arguments()) or "no flags"
