"""Questions about slots and their answers, as templates: (subject, questions, answers)."""

from __future__ import annotations

from msgspec import Struct

from .facts_cache import CACHE_FACTS
from .facts_server import SERVER_FACTS
from .facts_slots import SLOT_FACTS

__all__ = ["FACTS", "Fact"]


class Fact(Struct, frozen=True):
    """Several ways to ask one thing (templates) and one or two ways to answer it."""

    questions: tuple[str, ...]
    answers: tuple[str, ...]


FACTS = tuple(Fact(*entry) for entry in SLOT_FACTS + CACHE_FACTS + SERVER_FACTS)
