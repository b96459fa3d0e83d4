"""Pairs of names and values in a target and in a body."""

from __future__ import annotations

import pytest

from slotview.engine.serve.bodies.query import LONGEST_QUERY_BODY, read_query

from .face import Face

KIND = {"Content-Type": "application/x-www-form-urlencoded"}


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("a=1&b=2", {"a": "1", "b": "2"}),
        ("", {}),
        ("&=x&a", {"a": ""}),
        ("a=1=2", {"a": "1=2"}),
        (" a=b+c%26 &%62=%zz", {"a": "b c&", "b": "%zz"}),
        ("a=1&a=2", {"a": "2"}),
        ("a=1&a=2&a=1", {"a": "2"}),
    ],
)
def test_values_are_found_by_name(text: str, named: dict[str, str]) -> None:
    assert read_query(text) == named


def test_curl_may_name_the_action_in_the_body_which_wins(tmp_path: object) -> None:
    with Face(f"-c 1024 -np 2 --slot-save-path {tmp_path}") as face:
        for path in ("/slots/0", "/slots/0?action=save"):
            assert face.ask(path, b"action=erase", headers=KIND).json == {"id_slot": 0, "n_erased": 0}
        assert face.ask("/slots/0", b"action=erase").status == 400


def test_a_long_body_that_is_not_announced_as_json_is_refused() -> None:
    with Face() as face:
        longest = b'{"content":"a"}'.ljust(LONGEST_QUERY_BODY)
        assert face.ask("/tokenize", longest, headers=KIND).status == 200
        refused = face.ask("/tokenize", longest + b" ", headers=KIND)
        assert (refused.status, refused.data) == (413, b"")
        assert face.ask("/tokenize", longest + b" ").status == 200
