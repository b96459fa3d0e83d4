"""GET /props since February 2024 (spec §7.7, §10.4)."""

from __future__ import annotations

import re

from msgspec import Struct

from .values import as_bool, as_count, as_map, as_text

__all__ = ["PropsFacts", "build_number", "file_name", "read_props"]

_FIRST_WITH_SLOTS = 2000  # about the build that had /slots first

_KNOWN = ("default_generation_settings", "total_slots", "build_info", "model_path", "role", "chat_template",
          "system_prompt", "assistant_name")  # fmt: skip


class PropsFacts(Struct, frozen=True):
    """What /props says; None = not reported. ``marker`` changes at each start. ``oldest``: of before February 2024."""

    n_slots: int | None = None
    n_ctx_slot: int | None = None
    model: str | None = None
    model_path: str | None = None
    build: str | None = None
    sleeping: bool | None = None
    has_slots: bool | None = None
    has_metrics: bool | None = None
    router: bool = False
    marker: str | None = None
    oldest: bool = False


def read_props(answer: object) -> PropsFacts | None:
    """Read the object; None if nothing in it is a llama-server's."""
    fields = as_map(answer)
    if not any(key in fields for key in _KNOWN):
        return None
    router = _is_router(fields)
    path = as_text(fields.get("model_path"), 1000)
    settings = as_map(fields.get("default_generation_settings"))
    alias = as_text(fields.get("model_alias")) or as_text(settings.get("model"))
    return PropsFacts(
        n_slots=as_count(fields.get("total_slots")) or None,
        n_ctx_slot=as_count(settings.get("n_ctx")) or None,
        model=None if router else file_name(alias or path),
        model_path=None if router else path,
        build=as_text(fields.get("build_info"), 80),
        sleeping=as_bool(fields.get("is_sleeping")),
        has_slots=as_bool(fields.get("endpoint_slots")),
        has_metrics=as_bool(fields.get("endpoint_metrics")),
        router=router,
        marker=as_text(fields.get("media_marker"), 100),
        oldest="assistant_name" in fields and "total_slots" not in fields,
    )


def _is_router(fields: object) -> bool:
    """``role`` is "router", and the object mentions no slots; similar servers send a role, too."""
    told = as_map(fields)
    return told.get("role") == "router" and as_count(told.get("total_slots")) in (None, 0)


def file_name(text: str | None) -> str | None:
    """An alias; if that is a path, as by default, the name of the file. A name like owner/model stays."""
    if text is None or not re.search(r"^[/\\~.]|^[A-Za-z]:\\|\.gguf$", text):
        return text
    return re.split(r"[/\\]", text)[-1] or None


def build_number(build: str | None) -> int | None:
    """11434 from ``b11434-0123abcd``; None also for a count of commits that is too small to be true.

    A build outside a checkout calls itself b0, one of a shallow checkout mostly b1.
    """
    match = re.match(r"b(\d{1,7})\b", build or "")
    return int(match[1]) if match and int(match[1]) >= _FIRST_WITH_SLOTS else None
