"""Answers without what may differ: times, task ids, dates, builds, the wording of the JSON and template libraries."""

from __future__ import annotations

import re

__all__ = ["Plain", "flat", "plain", "plain_events", "plain_metrics"]

Plain = object

LEFT_OUT = {
    "id_task": "task id",
    "created": "date",
    "system_fingerprint": "build",
    "build_info": "build",
    "media_marker": "random",
    "time_ms": "time",
    "save_ms": "time",
    "restore_ms": "time",
    "prompt_ms": "time",
    "prompt_per_token_ms": "time",
    "prompt_per_second": "time",
    "predicted_ms": "time",
    "predicted_per_token_ms": "time",
    "predicted_per_second": "time",
}
TIMES_OF_METRICS = ("seconds", "seconds_total")
LIBRARIES = re.compile(r"^(.*?\[json\.exception\.parse_error\.\d+\]|.*parser generation failed:).*", re.DOTALL)


class LeftOut:
    """A value that is not compared; its key still is."""

    def __repr__(self) -> str:
        return "<left out>"


def plain(value: object, key: str = "", leave_out: tuple[str, ...] = ()) -> Plain:
    """Replace what is not compared, at any depth."""
    if key in LEFT_OUT or key in leave_out or (key == "id" and isinstance(value, str)):
        return LeftOut()
    if isinstance(value, dict):
        return {name: plain(item, name, leave_out) for name, item in value.items()}
    if isinstance(value, list):
        return [plain(item, "", leave_out) for item in value]
    if key == "message" and isinstance(value, str):
        return LIBRARIES.sub(r"\1", value)
    return value


def plain_metrics(text: str) -> Plain:
    """Every line of /metrics; values of times and rates are left out."""
    lines: list[object] = []
    for line in text.split("\n"):
        name, blank, value = line.partition(" ")
        if line.startswith("#") or not blank:
            lines.append(line)
        elif name.endswith(TIMES_OF_METRICS):
            lines.append({"name": name, "zero": value == "0" if name.endswith("tokens_seconds") else LeftOut()})
        else:
            lines.append({"name": name, "value": value})
    return lines


def plain_events(events: list[object], leave_out: tuple[str, ...] = ()) -> Plain:
    """Events of a stream; "[DONE]" and pings are strings."""
    return [plain(event, "", leave_out) for event in events]


def flat(value: Plain, path: str = "") -> dict[str, object]:
    """Every field by its path: leaves with their JSON type, lengths of lists, orders of keys."""
    if isinstance(value, LeftOut):
        return {}
    if isinstance(value, dict):
        found: dict[str, object] = {f"{path} keys": tuple(value)}
        for key, item in value.items():
            found |= flat(item, f"{path}.{key}")
        return found
    if isinstance(value, list):
        found = {f"{path} length": len(value)}
        for number, item in enumerate(value):
            found |= flat(item, f"{path}[{number}]")
        return found
    return {path: (type(value).__name__, value)}
