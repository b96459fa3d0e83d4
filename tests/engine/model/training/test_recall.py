"""The memory test."""

from itertools import islice
from random import Random

from slotview.engine.model.training.bpe import train_bpe
from slotview.engine.model.training.documents import documents
from slotview.engine.model.training.recall import recall_task


def test_the_asked_story_lies_far_back() -> None:
    bpe = train_bpe(islice(documents(1), 100), 300)
    prompt, answer = recall_task(bpe, Random(4), 1000)
    first, *others, question = prompt.split("\n\n")
    assert question.startswith("Question: ")
    assert len(bpe.encode("\n\n".join(others))) >= 1000
    assert any(word in first for word in answer.split())
