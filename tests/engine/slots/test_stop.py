"""What is said, held back and cut (spec §6.7, §8.3, §11.20, 29, 30)."""

from __future__ import annotations

import pytest

from slotview.engine.slots.decode.stop import incomplete_bytes
from slotview.engine.slots.queue.task import Final, Partial, StopType
from tests.engine.slots.desk import Desk
from tests.engine.stub_model import ByteTokenizer, StubModel

WORDS = {1: b" Haven", 2: b" was", 3: b" a", 4: b"nZ", 5: "é".encode()[:1], 6: "é".encode()[1:], 7: b"\n", 8: b"  x"}
WORDS |= {9: b"##" + "é".encode()[:1], 10: "é".encode()[1:] + b"x"}
END = 0


def desk_for(*answer: int, **given: object) -> Desk:
    model = StubModel(tokenizer=ByteTokenizer(pieces=WORDS), script={"ask": answer})
    return Desk(model, parallel=1, ctx_size=256, **given)


def chunks(desk: Desk, **given: object) -> tuple[list[str], Final]:
    task = desk.ask("ask", stream=True, **given)
    desk.run()
    return [part.text for part in desk.of(task, Partial)], desk.final(task)


def test_text_before_the_stop_word_only_but_its_tokens_count() -> None:
    desk = desk_for(*b"abc##de")
    answer = desk.answer("ask", stop=("##",), n_predict=20)
    assert answer.text == "abc"
    assert answer.n_decoded == 5
    assert answer.n_cached_end == 3 + 5 - 1
    assert (answer.stop_type, answer.stopping_word) == (StopType.WORD, "##")


def test_all_unsent_text_is_held_back_while_it_ends_like_a_stop_word() -> None:
    said, final = chunks(desk_for(1, 2, 3, 0), stop=("nZ",), n_predict=10)
    assert said == ["", " Haven was", " a", ""]
    assert (final.text, final.tail) == (" Haven was a", "")


def test_held_text_goes_out_with_the_end_token() -> None:
    said, final = chunks(desk_for(2, 1, END), stop=("nZ",))
    assert said == [" was", "", " Haven"]
    assert final.stop_type is StopType.EOS
    assert final.tail == ""


def test_held_text_of_a_run_that_ends_by_its_limit_is_not_lost() -> None:
    said, final = chunks(desk_for(2, 1, 3), stop=("nZ",), n_predict=2)
    assert said == [" was", ""]
    assert final.tail == " Haven"
    assert final.text == " was Haven"


def test_without_a_stream_the_whole_answer_is_the_tail() -> None:
    answer = desk_for(2, 1, END).answer("ask")
    assert answer.tail == answer.text == " was Haven"


def test_an_unfinished_character_sends_no_chunk_at_all() -> None:
    said, final = chunks(desk_for(2, 5, 6, END))
    assert said == [" was", "é", ""]
    assert final.n_decoded == 4


def test_a_character_that_stays_unfinished_ends_as_a_replacement() -> None:
    said, final = chunks(desk_for(2, 5, 6), n_predict=2)
    assert said == [" was"]
    assert final.tail == "\N{REPLACEMENT CHARACTER}"


@pytest.mark.parametrize(
    ("said", "shown"),
    [(b"a\xe2", "a"), (b"a\xe2\x82", "a"), (b"a\xf0\x9f\x99", "a"), (b"a\xe2x", "a\N{REPLACEMENT CHARACTER}x")],
)
def test_a_chat_can_leave_out_a_character_that_stays_unfinished(said: bytes, shown: str) -> None:
    answer = desk_for(*said).answer("ask", n_predict=len(said))
    assert answer.text[: len(answer.text) - answer.n_unfinished] == shown


def test_stray_continuation_bytes_are_complete() -> None:
    assert not incomplete_bytes(b"a\x80\x80\x80")
    assert incomplete_bytes(b"a\xe2")
    assert incomplete_bytes(b"a\xe2\x82")
    assert not incomplete_bytes("a€".encode())
    assert incomplete_bytes("🙂".encode()[:3])
    assert not incomplete_bytes("🙂".encode())
    assert not incomplete_bytes(b"")


def test_the_earliest_word_wins_and_of_two_at_one_place_the_first_in_the_list() -> None:
    assert desk_for(*b"abcd", END).answer("ask", stop=("cd", "bc")).text == "a"
    answer = desk_for(*b"ab", 1, END).answer("ask", stop=(" Hav", " H"))
    assert (answer.text, answer.stopping_word) == ("ab", " Hav")


def test_a_word_that_came_with_an_unfinished_character_is_too_far_back_to_be_found() -> None:
    assert desk_for(9, 10, END).answer("ask", stop=("##",)).text == "##éx"


def test_a_stop_word_completed_by_the_last_allowed_token_stays_a_word() -> None:
    answer = desk_for(*b"ab##").answer("ask", stop=("##",), n_predict=4)
    assert answer.stop_type is StopType.WORD


def test_a_stop_word_in_a_full_context_is_a_limit_with_the_word_kept() -> None:
    model = StubModel(tokenizer=ByteTokenizer(pieces=WORDS), script={"p" * 254: (*b"##",)})
    answer = Desk(model, parallel=1, ctx_size=256).answer("p" * 254, stop=("##",))
    assert answer.stop_type is StopType.LIMIT
    assert (answer.text, answer.stopping_word, answer.truncated) == ("", "##", True)


def test_an_end_token_wins_at_the_limit_and_in_a_full_context() -> None:
    assert desk_for(1, END).answer("ask", n_predict=2).stop_type is StopType.EOS
    model = StubModel(script={"p" * 254: (65, END)})
    answer = Desk(model, parallel=1, ctx_size=256).answer("p" * 254)
    assert (answer.stop_type, answer.truncated, answer.text) == (StopType.EOS, True, "A")


@pytest.mark.parametrize("words", [("",), ("", "x")])
def test_an_empty_stop_word_ends_every_run_after_its_first_token(words: tuple[str, ...]) -> None:
    answer = desk_for(1, 2).answer("ask", stop=words)
    assert (answer.n_decoded, answer.text) == (1, "")
    assert (answer.stop_type, answer.stopping_word) == (StopType.WORD, "")


def test_too_little_indentation_ends_the_run_two_tokens_late() -> None:
    answer = desk_for(7, *b"A:bc").answer("ask", n_indent=2)
    assert (answer.n_decoded, answer.text) == (3, "\n")
    assert answer.stop_type is StopType.LIMIT


def test_enough_indentation_goes_on() -> None:
    answer = desk_for(7, 8, 7, 8, END).answer("ask", n_indent=2)
    assert answer.stop_type is StopType.EOS
    assert answer.has_new_line


def test_the_time_limit_acts_at_the_next_new_line() -> None:
    desk = desk_for(*b"abc", 7, *b"def", 7, *b"g")
    answer = desk.answer("ask", t_max_predict_ms=5)
    assert answer.text == "abc\ndef\n"
    assert answer.stop_type is StopType.LIMIT


def test_the_chunk_that_completes_a_stop_word_carries_timings_and_others_do_not() -> None:
    desk = desk_for(*b"ab#c")
    task = desk.ask("ask", stop=("#",), stream=True)
    desk.run()
    parts = desk.of(task, Partial)
    assert [part.completes_stop for part in parts] == [False, False, True]
    assert parts[-1].timings.predicted_n == 3
    told = desk.ask("ask", stop=("#",), stream=True, timings_per_token=True)
    desk.run()
    assert [part.timings.predicted_n for part in desk.of(told, Partial)] == [1, 2, 3]


def test_return_tokens_lists_all_tokens_the_stop_words_included() -> None:
    assert desk_for(*b"ab##").answer("ask", stop=("##",), return_tokens=True).tokens == tuple(b"ab##")
    assert desk_for(*b"ab", END).answer("ask").tokens == ()


def test_probabilities_belong_to_released_text_and_those_of_a_stop_word_are_left_out() -> None:
    desk = desk_for(2, 5, 6, END)
    answer = desk.answer("ask", n_probs=2)
    assert [probs.text for probs in answer.probs] == [b" was", "é".encode(), b""]
    assert [len(probs.top) for probs in answer.probs] == [2, 2, 2]
    answer = desk_for(*b"ab##").answer("ask", stop=("##",), n_probs=1)
    assert [probs.text for probs in answer.probs] == [b"a", b"b"]
