"""What a slot still shows of a run that is over.

Before August 2026 a slot's counts stay as the last run left them, also while the next one reads its prompt; until
August 2024 such a slot was called idle as well (spec §10.2). The first token of the next run sets them right.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from .values import as_bool, as_count, as_int, as_map, first

__all__ = ["LastRun", "decoded_of", "is_left_over", "last_runs", "next_token", "reads_prompt", "task_of"]

LastRun = tuple[int | None, tuple[object, ...]]
"""A task that is over, and the counts that it left."""

_REASONS = ("stopped_eos", "stopped_word", "stopped_limit")


def next_token(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """The object under ``next_token``, or the first in the array that most builds send."""
    token = row.get("next_token")
    return as_map(token[0] if isinstance(token, list) and token else token)


def decoded_of(row: Mapping[str, Any]) -> int | None:
    """Tokens decoded, by this run or the last one."""
    return as_count(first(next_token(row), "n_decoded", "num_tokens_predicted"))


def task_of(row: Mapping[str, Any]) -> int | None:
    """The task's id; None also for −1, which stands for none so far."""
    return as_count(first(row, "id_task", "task_id"))


def _counts(row: Mapping[str, Any]) -> tuple[object, ...]:
    """Tokens decoded, tokens that remained, and whether another one was to follow."""
    token = next_token(row)
    return decoded_of(row), as_int(token.get("n_remain")), as_bool(token.get("has_next_token"))


def is_left_over(row: Mapping[str, Any], last: LastRun | None) -> bool:
    """Whether the counts are those of the last run: a run without a next token has ended, and in 2024 said why.

    ``last`` tells those of a run that was given up from those of the present one.
    """
    token = next_token(row)
    if any(as_bool(token.get(reason)) for reason in _REASONS):
        return False
    if as_bool(token.get("has_next_token")) is False:
        return True
    return last is not None and task_of(row) != last[0] and _counts(row) == last[1]


def reads_prompt(row: Mapping[str, Any], last: LastRun | None) -> bool:
    """Whether a slot with ``state`` 0 is at work: a run that has ended would say why."""
    in_2024 = as_int(row.get("state")) == 0 and "is_processing" not in row and _REASONS[0] in next_token(row)
    return in_2024 and is_left_over(row, last)


def last_runs(rows: Iterable[tuple[int, Mapping[str, Any], bool]], before: Mapping[int, LastRun]) -> dict[int, LastRun]:
    """What is left over in each slot, of its id, its row, and whether it is busy."""
    left: dict[int, LastRun] = {}
    for id_, row, busy in rows:
        if busy and is_left_over(row, before.get(id_)) and id_ in before:
            left[id_] = before[id_]
        elif not busy and decoded_of(row):
            left[id_] = task_of(row), _counts(row)
    return left
