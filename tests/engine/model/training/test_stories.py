"""Stories keep their people and places, and their answers can be found in them."""

import re
from random import Random

import pytest

from slotview.engine.model.training.stories import cast, tell
from slotview.engine.model.training.words import BOYS, GIRLS


@pytest.mark.parametrize("seed", range(60))
def test_nobody_appears_or_vanishes(seed: int) -> None:
    story = tell(Random(seed))
    names = set(re.findall(r"\w+", story.text)) & set(GIRLS + BOYS)
    assert len(names) == 2
    assert story.hero in names
    assert story.place in story.text


@pytest.mark.parametrize("seed", range(60))
def test_every_answer_stands_in_the_story_word_for_word(seed: int) -> None:
    story = tell(Random(seed))
    for question, answer in story.questions:
        assert question.endswith("?")
        assert answer.removesuffix(".").lower() in story.text.lower()


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
