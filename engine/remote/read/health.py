"""GET /health in its four shapes (spec §10.1)."""

from __future__ import annotations

from msgspec import Struct

from .values import as_bool, as_count, as_map, as_text

__all__ = ["HealthFacts", "read_health"]


class HealthFacts(Struct, frozen=True):
    """What /health says. The counts are slots, reported in 2024 only. ``word``: the status in its own words."""

    word: str
    loading: bool = False
    failed: bool = False
    idle: int | None = None
    processing: int | None = None
    sleeping: bool | None = None


def read_health(answer: object) -> HealthFacts | None:
    """Read a health object, whatever its status code; None if it is not one, and thus not from a llama-server."""
    fields = as_map(answer)
    word = as_text(fields.get("status"), 60)
    if word is None:
        error = as_map(fields.get("error"))
        word = as_text(error.get("message"), 60)
        if word is None:
            return None
    lower = word.lower()
    return HealthFacts(
        word=word,
        loading="loading" in lower,
        failed=lower == "error",
        idle=as_count(fields.get("slots_idle")),
        processing=as_count(fields.get("slots_processing")),
        sleeping=as_bool(fields.get("sleeping")),
    )
