"""Stories keep their people and places, and their answers can be found in them."""

import re
from random import Random

import pytest

from slotview.engine.model.training.stories import cast, tell
from slotview.engine.model.training.words import BOYS, GIRLS

_WORDS_OF_ANSWERS = {
    "a",
    "at",
    "belonged",
    "found",
    "friend",
    "gave",
    "lost",
    "made",
    "met",
    "of",
    "shared",
    "some",
    "to",
}


@pytest.mark.parametrize("seed", range(60))
def test_nobody_appears_or_vanishes(seed: int) -> None:
    story = tell(Random(seed))
    names = set(re.findall(r"\w+", story.text)) & set(GIRLS + BOYS)
    assert len(names) == 2
    assert story.hero in names
    assert story.place in story.text


@pytest.mark.parametrize("seed", range(60))
def test_every_question_names_the_hero_or_the_friend_and_is_answered_by_the_story(seed: int) -> None:
    story = tell(Random(seed))
    for question, answer in story.questions:
        assert question.endswith("?")
        assert answer.endswith(".")
        words = set(re.findall(r"\w+", answer.lower())) - set(re.findall(r"\w+", question.lower()))
        told = set(re.findall(r"\w+", story.text.lower()))
        assert words - told <= _WORDS_OF_ANSWERS


def test_nothing_is_left_unfilled() -> None:
    rng = Random(5)
    text = " ".join(tell(rng).text for _ in range(300))
    assert not set("[]{}|") & set(text)
    assert not re.search(r" {2}|\b[Aa] [aeio]|\bi\b|\?\?", text)


def test_a_wanted_hero_and_the_same_seed_give_the_same_story() -> None:
    assert tell(Random(3), "Mia") == tell(Random(3), "Mia")
    assert tell(Random(3), "Mia").hero == "Mia"


def test_no_name_twice_in_a_cast() -> None:
    names = list(cast(Random(1)))
    assert sorted(names) == sorted(GIRLS + BOYS)
    assert len(set(names)) == len(names)
