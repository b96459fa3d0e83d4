"""Shapes of ``prompt`` (spec §8.2)."""

from __future__ import annotations

import pytest

from slotview.engine.serve.bodies.prompts import read_prompts
from slotview.engine.serve.errors import ApiError
from tests.engine.stub_model import ByteTokenizer

BOS = 1
A, B = ord("a"), ord("b")


def read(prompt: object) -> list[list[int]]:
    return [found.tolist() for found in read_prompts({"prompt": prompt}, ByteTokenizer(add_bos=True))]


@pytest.mark.parametrize(
    ("prompt", "found"),
    [
        ("a", [[BOS, A]]),
        ("", [[BOS]]),
        ([5, 6], [[5, 6]]),
        (["a", 5], [[BOS, A, 5]]),
        ([5, "a"], [[5, A]]),
        (["a", "b"], [[BOS, A], [BOS, B]]),
        ([[5], "b", ["a", 6]], [[5], [BOS, B], [BOS, A, 6]]),
        ({"prompt_string": "a"}, [[BOS, A]]),
        ({"prompt_string": ["a", 5]}, [[BOS, A, 5]]),
        ([{"prompt_string": "a"}, "b"], [[BOS, A], [BOS, B]]),
        ([[]], [[]]),
        ([2**31 - 1, 2**32 + 5], [[2**31 - 1, 5]]),
    ],
)
def test_shapes(prompt: object, found: list[list[int]]) -> None:
    assert read(prompt) == found


@pytest.mark.parametrize("prompt", [5, None, True, {}, [1.5], ["a", 1.5], [None], [True], [[["a"]]], {"x": 1}])
def test_other_shapes_are_refused(prompt: object) -> None:
    with pytest.raises(ApiError, match='"prompt" elements must be'):
        read(prompt)


def test_an_empty_list_and_a_missing_prompt_are_refused() -> None:
    with pytest.raises(ApiError, match='"prompt" must not be empty'):
        read([])
    with pytest.raises(ApiError, match="key 'prompt' not found"):
        read_prompts({}, ByteTokenizer())
