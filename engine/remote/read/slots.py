"""GET /slots in every shape since February 2024 (spec §10.2), read field by field."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import count
from types import MappingProxyType
from typing import Any

from slotview.engine.snapshot import SlotDetails, SlotState, SlotView
from slotview.engine.text.plain import plain

from .left_over import LastRun, decoded_of, is_left_over, last_runs, next_token, reads_prompt, task_of
from .values import as_bool, as_count, as_int, as_map, as_text, first

__all__ = ["read_details", "read_slots", "runs_over", "told_ids"]

_IDLE_WORDS = frozenset({"idle", "free", "available", "ready", "none", "slot_state_idle"})
_USED_KEYS = frozenset(
    ("id_task", "task_id", "next_token", "n_prompt_tokens", "params", "prompt", "state", "next_tokens")
)
_NOT_PARAMS = frozenset({"id", "id_task", "task_id", "state", "next_token", "prompt", "generated", "n_ctx", "model"})
_NOTHING: Mapping[str, Any] = {}
_NO_RUNS: Mapping[int, LastRun] = {}
_BEGINNING: Mapping[str, Any] = {"n_remain": -1}
UNUSED, IDLE, BUSY, UNKNOWN = SlotState.UNUSED, SlotState.IDLE, SlotState.BUSY, SlotState.UNKNOWN
PROMPT, GENERATING = SlotState.PROMPT, SlotState.GENERATING
TEXT_LIMIT = 20_000


def read_slots(answer: object, over: Mapping[int, LastRun] = _NO_RUNS) -> tuple[SlotView, ...] | None:
    """Read the array; None where the answer is none of objects (nor an object with one under ``slots``), or where
    none of them tells whether it is busy. ``over``: what earlier answers left over, from `runs_over`.
    """
    rows = _rows(answer)
    if rows is None:
        return None
    objects = _objects(rows)
    if all(_is_busy(row) is None for row in objects):  # also of none at all: a server has one slot at least
        return None
    return tuple(_slot(row, id_, over.get(id_)) for row, id_ in zip(objects, _ids(objects), strict=True))


def _rows(answer: object) -> list[object] | None:
    """The array, alone or under ``slots``."""
    rows = answer.get("slots") if isinstance(answer, dict) else answer
    return rows if isinstance(rows, list) else None


def _objects(rows: Iterable[object] | None) -> list[dict[str, Any]]:
    return [row for row in rows or () if isinstance(row, dict)]


def runs_over(answer: object, slots: tuple[SlotView, ...], over: Mapping[int, LastRun]) -> dict[int, LastRun]:
    """What this answer, read as ``slots``, and those before it leave over."""
    rows = zip(slots, _objects(_rows(answer)), strict=True)
    return last_runs(((slot.id, row, slot.is_busy) for slot, row in rows), over)


def told_ids(answer: object) -> frozenset[int]:
    """The ids that exactly one slot each claims; `read_slots` gives a number to slots without an id."""
    counts = Counter(as_count(row.get("id")) for row in _objects(_rows(answer)))
    return frozenset(id_ for id_, times in counts.items() if id_ is not None and times == 1)


def _ids(rows: list[dict[str, Any]]) -> list[int]:
    """One distinct id per row: its own if that is usable and not taken, else the smallest free number."""
    taken: set[int | None] = {None}
    ids: list[int | None] = []
    for own in (as_count(row.get("id")) for row in rows):
        ids.append(None if own in taken else own)
        taken.add(own)
    spare = (number for number in count() if number not in taken)
    return [next(spare) if id_ is None else id_ for id_ in ids]


def _slot(row: Mapping[str, Any], id_: int, last: LastRun | None) -> SlotView:
    is_old = is_left_over(row, last)
    token, decoded = (_BEGINNING, 0) if is_old else (next_token(row), decoded_of(row))
    state = _state(row, decoded, last)
    is_busy = state not in (UNUSED, IDLE, UNKNOWN)
    progress = row if is_busy else _NOTHING  # an idle slot may show left-overs of its last task
    remain, unlimited = _remaining(row, token, decoded) if is_busy else (None, False)
    return SlotView(
        id=id_,
        state=state,
        n_ctx=as_count(row.get("n_ctx")) or None,
        task=task_of(row),
        n_tokens=as_count(row.get("n_prompt_tokens")),
        n_prompt=as_count(progress.get("n_prompt_tokens_target")),
        n_prompt_processed=as_count(progress.get("n_prompt_tokens_processed")),
        n_prompt_cached=as_count(first(progress, "n_prompt_tokens_cache", "n_prompt_tokens_cached")),
        n_decoded=decoded if is_busy else None,
        n_remain=remain,
        unlimited=unlimited,
        truncated=as_bool(progress.get("truncated")),
        state_word=_word(row.get("state")),
    )


def _state(row: Mapping[str, Any], decoded: int | None, last: LastRun | None) -> SlotState:
    told = _is_busy(row)
    if not told and not reads_prompt(row, last):
        if told is None:
            return UNKNOWN
        had_none = as_int(first(row, "id_task", "task_id")) == -1
        return UNUSED if had_none or _USED_KEYS.isdisjoint(row) else IDLE
    if decoded is None:
        return BUSY
    return GENERATING if decoded else PROMPT


def _is_busy(row: Mapping[str, Any]) -> bool | None:
    """``is_processing`` decides; before November 2024 any ``state`` but 0 was busy; similar servers send words.

    None if nothing says so.
    """
    told = _says_busy(row.get("is_processing"))
    return _says_busy(row.get("state")) if told is None else told


def _says_busy(value: object) -> bool | None:
    """What a boolean, a number or a word says; None for anything else."""
    if (told := as_bool(value)) is not None:
        return told
    if (number := as_int(value)) is not None:
        return number != 0
    return value.strip().lower() not in _IDLE_WORDS if isinstance(value, str) and value.strip() else None


def _word(state: object) -> str | None:
    """A look-alike server's word for the state; a number or its digits are none."""
    return as_text(state, 24) if isinstance(state, str) and as_int(state) is None else None


def _remaining(row: Mapping[str, Any], token: Mapping[str, Any], decoded: int | None) -> tuple[int | None, bool]:
    """Tokens left, and whether the task has no limit (−1 in all places).

    Before the first token −1 alone says nothing. In 2024 ``n_predict`` was the server's limit, not the task's.
    """
    remain = as_int(token.get("n_remain"))
    if remain is None or remain >= 0:
        return remain, False
    params = as_map(first(row, "params") or row)
    told = [number for name in ("max_tokens", "n_predict") if (number := as_int(params.get(name))) is not None]
    limit = next((number for number in told if number >= 0), None)
    is_told = bool(told) and ("params" in row or "max_tokens" in row)
    return (None, bool(is_told or decoded)) if limit is None else (max(0, limit - (decoded or 0)), False)


def read_details(answer: object, slot: int, over: Mapping[int, LastRun] = _NO_RUNS) -> SlotDetails | None:
    """Parameters and texts of one slot from the same array; texts are cut off after 20,000 characters."""
    objects = _objects(_rows(answer))
    row = next((row for row, id_ in zip(objects, _ids(objects), strict=True) if id_ == slot), None)
    if row is None:
        return None
    params = as_map(row.get("params")) or {
        key: row[key] for key in row if key not in _NOT_PARAMS and "params" not in row
    }
    return SlotDetails(
        slot=slot,
        params=MappingProxyType(dict(_shown(params.items()))),
        prompt=_long_text(row.get("prompt")),
        generated=_long_text(row.get("generated")),
        note="" if "prompt" in row else "the server shows texts only with LLAMA_SERVER_SLOTS_DEBUG=1",
        view=_slot(row, slot, over.get(slot)),
    )


def _shown(items: Iterable[tuple[str, object]]) -> Iterable[tuple[str, object]]:
    """Parameters as plain values; nested ones as short text."""
    for key, value in items:
        scalar = value is None or isinstance(value, bool | int | float)
        yield plain(key, 60), value if scalar else plain(value if isinstance(value, str) else _spelled(value), 300)


def _spelled(value: object) -> str:
    """The beginning of a nested value."""
    try:
        return repr(value)[:400]
    except RecursionError:
        return "nested too deeply"


def _long_text(value: object) -> str | None:
    return plain(value, TEXT_LIMIT, keep_newlines=True) if isinstance(value, str) else None
