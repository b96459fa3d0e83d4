"""Stories whose people, places and things stay the same from the first sentence to the last."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from msgspec import Struct

from .grammar import expand, tidy
from .openings import ENDINGS, OPENINGS, SETTINGS
from .plots import COMMON_QUESTIONS, PLOTS
from .words import ANIMALS, BOYS, COLOURS, FOODS, GIRLS, HIDING_PLACES, PLACES, THINGS

__all__ = ["Story", "cast", "coloured_thing", "tell"]


class Story(Struct, frozen=True):
    """One finished story.

    ``questions`` holds (question, answer) pairs that name the hero, so they stay clear among other stories.
    """

    hero: str
    kind: str
    thing: str
    place: str
    text: str
    questions: tuple[tuple[str, str], ...]


def _pronouns(name: str, prefix: str = "") -> dict[str, str]:
    he, him, his = ("she", "her", "her") if name in GIRLS else ("he", "him", "his")
    return {f"{prefix}he": he, f"{prefix}him": him, f"{prefix}his": his}


def _kind(name: str, rng: Random) -> str:
    if rng.random() < 0.5:
        return rng.choice(ANIMALS)
    return "girl" if name in GIRLS else "boy"


def _fields(hero: str, rng: Random) -> dict[str, str]:
    friend = rng.choice([name for name in GIRLS + BOYS if name != hero])
    place, home = rng.sample(PLACES, 2)
    fields = {"hero": hero, "friend": friend, "place": place, "home": home}
    fields |= {"kind": _kind(hero, rng), "fkind": _kind(friend, rng), "food": rng.choice(FOODS)}
    fields |= {"thing": coloured_thing(rng), "hiding": rng.choice(HIDING_PLACES)}
    return fields | _pronouns(hero) | _pronouns(friend, "f")


def coloured_thing(rng: Random) -> str:
    """A thing as a story names it."""
    return f"{rng.choice(COLOURS)} {rng.choice(THINGS)}"


def cast(rng: Random) -> Iterator[str]:
    """Every hero's name once, in random order, so that no two stories of one text share a hero."""
    names = list(GIRLS + BOYS)
    rng.shuffle(names)
    return iter(names)


def tell(rng: Random, hero: str | None = None) -> Story:
    """Write one story of about 170 tokens, about ``hero`` or about anyone."""
    fields = _fields(hero or rng.choice(GIRLS + BOYS), rng)
    plot = rng.choice(PLOTS)
    parts = (rng.choice(OPENINGS), rng.choice(SETTINGS), plot.body, rng.choice(ENDINGS))
    text = tidy(" ".join(expand(part, rng, fields) for part in parts))
    pairs = ((plot.question, plot.answer), *COMMON_QUESTIONS)
    questions = tuple((tidy(ask.format_map(fields)), tidy(answer.format_map(fields))) for ask, answer in pairs)
    return Story(fields["hero"], fields["kind"], fields["thing"], fields["place"], text, questions)
