"""Thoughts and content of an answer as it grows (spec §7.10)."""

from __future__ import annotations

import pytest

from slotview.engine.model.chat.thoughts import ThoughtTags
from slotview.engine.serve.chat.thoughts import AnswerReader, Said

TAGS = ThoughtTags("<think>\n", "\n</think>\n\n")


@pytest.mark.parametrize(
    ("text", "thoughts", "content"),
    [
        ("<think>\nhm\n</think>\n\nyes", "hm\n", "yes"),
        ("<think>hm</think>yes", "hm", "yes"),
        ("  <think>\n\nhm</think>\n\n\nyes", "\nhm", "\nyes"),
        ("<think>hm", "hm", ""),
        ("<think>hm</thi", "hm", ""),
        ("<think>h</th</th", "h</th", ""),
        ("<think>\n \n</think>yes", "", "yes"),
        ("yes <think>no</think>", "", "yes <think>no</think>"),
        ("<thi", "", ""),
        ("<thy", "", "<thy"),
        ("", "", ""),
    ],
)
def test_what_is_thought_and_what_is_said(text: str, thoughts: str, content: str) -> None:
    assert AnswerReader(tags=TAGS).read(text) == Said(thoughts, content)


def test_without_a_first_tag_an_answer_begins_with_thoughts() -> None:
    reader = AnswerReader(tags=ThoughtTags("", "</think>"))
    assert reader.read("hm") == Said("hm")
    assert reader.read("hm</think>yes") == Said("hm", "yes")


@pytest.mark.parametrize("begun", ["", "<think>\n"])
def test_deltas_add_up_to_the_answer(begun: str) -> None:
    reader = AnswerReader(begun, TAGS)
    text = "<think>\n"[len(begun) :] + "one <t two </think\n</think>\n\nthree </think> four"
    said, told = Said(), {"reasoning_content": "", "content": ""}
    for end in range(len(text) + 1):
        now = reader.read(text[:end]) or said
        for delta in now.added_to(said):
            for name, added in delta.items():
                told[name] += str(added)
        said = now
    assert told == {"reasoning_content": "one <t two </think\n", "content": "three </think> four"}
    assert reader.read(text).message == {"role": "assistant", **dict(reversed(told.items()))}
