"""The stream of training texts."""

import re
from itertools import islice
from random import Random

from slotview.engine.model.training.documents import END_OF_TEXT, IM_END, IM_START, chat, documents, story_book


def test_same_seed_same_texts() -> None:
    assert list(islice(documents(4), 50)) == list(islice(documents(4), 50))
    assert list(islice(documents(4), 50)) != list(islice(documents(5), 50))


def test_every_text_ends_once() -> None:
    for text in islice(documents(6), 300):
        assert text.count(END_OF_TEXT) == 1
        assert text.endswith(END_OF_TEXT)
        assert text.count(IM_START) == text.count(IM_END)
        assert text.isascii()


def test_chat_layout() -> None:
    assert chat([("Hi", "Hello.")], "Be kind.") == (
        "<|im_start|>system\nBe kind.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n"
        "<|im_start|>assistant\nHello.<|im_end|>\n<|endoftext|>"
    )


def test_a_book_asks_about_earlier_stories() -> None:
    book = story_book(Random(8), 20)
    parts = book.removesuffix(END_OF_TEXT).split("\n\n")
    questions = [part for part in parts if part.startswith("Question: ")]
    assert len(parts) - len(questions) == 20
    assert 20 <= len(questions) <= 60


def test_a_late_question_is_seldom_about_the_beginning() -> None:
    book = story_book(Random(9), 200)
    parts = book.removesuffix(END_OF_TEXT).split("\n\n")
    stories = [number for number, part in enumerate(parts) if not part.startswith("Question: ")]
    last = [part for part in parts[stories[100] :] if part.startswith("Question: ")]
    early = {name for number in stories[:50] for name in re.findall(r"The friend of (\w+) was", parts[number])}
    about = [len(early & set(re.findall(r"\w+", question))) > 0 for question in last]
    assert 0 < sum(about) < len(about) / 3
