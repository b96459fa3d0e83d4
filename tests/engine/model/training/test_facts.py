"""Questions and answers about slots."""

from random import Random

from slotview.engine.model.training.documents import fact_pair
from slotview.engine.model.training.facts import FACTS


def test_every_fact_is_asked_in_several_ways() -> None:
    for fact in FACTS:
        assert len(fact.questions) >= 3
        assert fact.answers


def test_no_question_stands_in_two_facts() -> None:
    questions = [question for fact in FACTS for question in fact.questions]
    assert len(set(questions)) == len(questions)


def test_pairs_are_whole_sentences() -> None:
    rng = Random(2)
    for _ in range(2000):
        question, answer = fact_pair(rng)
        assert not set("[]{}|") & set(question + answer)
        assert answer[-1] == "."
        assert question[0].isupper()
