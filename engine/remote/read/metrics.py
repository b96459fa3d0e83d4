"""GET /metrics: the text exposition, also wrapped in a JSON string (spec §7.6, §10.3)."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping

from slotview.engine.snapshot import Totals

from .values import MAX_COUNT, as_count, is_plain

__all__ = ["read_metrics", "read_totals"]

_LINE = re.compile(r"^[ \t]*llamacpp[:_](\w+)(\{.*\})?[ \t]*([^\s]*)[^\n]*(\n?)", re.MULTILINE)
_SUMMED = ("_total", "requests_processing", "requests_deferred")


def read_metrics(body: bytes) -> Mapping[str, float | None] | None:
    """Read every ``llamacpp:`` line; NaN, infinite, absurd and missing values are None. None without such a line.

    So are values that contradict each other, and one at the end of a text that was cut off, as digits may be missing.
    If a name comes with several labels, counts are summed and the largest maximum is taken. Averages of parts do not
    give an average of the whole, so that is unknown.
    """
    series: dict[str, dict[str, float | None]] = {}
    for name, labels, told, end in _LINE.findall(_unwrapped(body)):
        value, values = _value(told) if end else None, series.setdefault(name, {})
        values[labels] = value if values.get(labels, value) == value else None
    return {name: _joined(name, list(values.values())) for name, values in series.items()} or None


def _joined(name: str, values: list[float | None]) -> float | None:
    """The value of several series of one name."""
    if len(values) == 1:
        return values[0]
    known = [value for value in values if value is not None]
    if len(known) < len(values):
        return None
    if name.endswith(_SUMMED):
        return sum(known)
    return max(known) if name.endswith("_max") else None


def _unwrapped(body: bytes) -> str:
    text = body.decode("utf-8-sig", "replace")
    if text.lstrip().startswith('"'):
        try:
            return str(json.loads(text))
        except ValueError:
            return text.replace("\\n", "\n")
    return text


def _value(text: str) -> float | None:
    try:
        number = float(text) if is_plain(text) else math.nan
    except ValueError:
        return None
    return number if math.isfinite(number) and abs(number) < MAX_COUNT else None


def read_totals(values: Mapping[str, float | None]) -> Totals:
    """Give the values their names in a snapshot; negative ones, and a share above 1, count as unknown."""
    known = {name: value for name, value in values.items() if value is not None and value >= 0}
    processing, ratio = known.get("requests_processing"), known.get("kv_cache_usage_ratio")
    return Totals(
        prompt_tokens=known.get("prompt_tokens_total"),
        prompt_tokens_cached=known.get("prompt_tokens_cached_total"),
        prompt_seconds=known.get("prompt_seconds_total"),
        predicted_tokens=known.get("tokens_predicted_total"),
        predicted_seconds=known.get("tokens_predicted_seconds_total"),
        decodes=known.get("n_decode_total"),
        busy_per_decode=known.get("n_busy_slots_per_decode") or None,  # 0 before the first decode is not an average
        n_tokens_max=known.get("n_tokens_max", known.get("n_past_max")),
        processing=as_count(processing),
        kv_ratio=None if ratio is None or ratio > 1 else ratio,
    )
