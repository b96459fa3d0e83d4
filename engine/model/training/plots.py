"""What happens in a story, and what can be asked about it afterwards.

Every answer stands word for word in the story, so that it can be looked up however far back it lies.
"""

from __future__ import annotations

from msgspec import Struct

from .plots_home import HOME_PLOTS
from .plots_outside import OUTSIDE_PLOTS

__all__ = ["COMMON_QUESTIONS", "PLOTS", "Plot"]


class Plot(Struct, frozen=True):
    """A middle part and its own question with the answer, all as templates."""

    body: str
    question: str
    answer: str


PLOTS = tuple(Plot(*parts) for parts in HOME_PLOTS + OUTSIDE_PLOTS)
COMMON_QUESTIONS = (
    ("where did {hero} go?", "{hero} went to {place}."),
    ("who was the friend of {hero}?", "the friend of {hero} was {friend}."),
    ("where did {hero} live?", "{hero} lived near {home}."),
)
