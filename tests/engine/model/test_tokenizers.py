"""Both kinds of vocabulary: what text becomes, what tokens spell, what ends a generation."""

from __future__ import annotations

import time
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slotview.engine.model.gguf.file import ModelFileError, load_model_file
from slotview.engine.model.vocab import byte_bpe
from slotview.engine.model.vocab.file_tokenizer import FileTokenizer
from slotview.engine.model.vocab.pre_tokenizing import FAMILIES, find_pretokenizer
from slotview.engine.model.vocab.spm import merged_symbols
from slotview.engine.model.vocab.tokenizer import load_tokenizer
from tests.engine.model.small_file import BPE, SCORES, SPM, write_model
from tests.real_server import BUNDLED


def tokenizer(folder: Path, vocabulary: tuple[tuple[str, int], ...] = BPE, **metadata: Any) -> FileTokenizer:
    return load_tokenizer(load_model_file(write_model(folder / "model.gguf", vocabulary, **metadata)))


@pytest.fixture(scope="module")
def bundled() -> FileTokenizer:
    return load_tokenizer(load_model_file(BUNDLED))


def pieces(words: FileTokenizer, text: str, **flags: bool) -> list[str]:
    return [words.piece(int(token), special=True).decode("utf-8", "replace") for token in words.encode(text, **flags)]


def test_the_bundled_model_speaks_chatml(bundled: FileTokenizer) -> None:
    tokens = bundled.encode("<|im_start|>user\nHello<|im_end|>\n")
    assert tokens.dtype == np.int32
    assert bundled.decode(tokens.tolist(), special=True) == "<|im_start|>user\nHello<|im_end|>\n"
    assert bundled.decode(tokens.tolist()) == "user\nHello\n"
    assert bundled.piece(int(tokens[0])) == b""
    assert {bundled.decode([token], special=True) for token in bundled.eog} == {"<|im_end|>", "<|endoftext|>"}
    assert bundled.chat_template
    assert not bundled.add_bos
    assert bundled.warnings == ()


def test_others_go_on_while_a_long_text_is_cut_into_tokens(bundled: FileTokenizer) -> None:
    reader = Thread(target=bundled.encode, args=("a" * 3_000_000,))
    began = last = time.monotonic()
    longest = 0.0
    reader.start()
    while reader.is_alive():
        time.sleep(0.001)
        now = time.monotonic()
        longest, last = max(longest, now - last), now
    assert longest < 0.7 * (last - began)


@settings(max_examples=200, deadline=None)
@given(text=st.text(), parse_special=st.booleans())
def test_any_text_comes_back(bundled: FileTokenizer, text: str, parse_special: bool) -> None:
    assert bundled.decode(bundled.encode(text, parse_special=parse_special).tolist(), special=True) == text


def test_half_a_surrogate_becomes_a_replacement_character(bundled: FileTokenizer) -> None:
    assert bundled.decode(bundled.encode("a\ud800b").tolist()) == "a\ufffdb"


def test_tokens_outside_the_vocabulary_are_errors(bundled: FileTokenizer) -> None:
    for token in (-1, bundled.n_vocab):
        with pytest.raises(IndexError):
            bundled.piece(token)


def test_bytes_merge_in_the_files_order(tmp_path: Path) -> None:
    words = tokenizer(tmp_path)
    assert pieces(words, "abc abc ab\n") == ["abc", " ab", "c", " ab", "\n"]
    assert words.encode("é").tolist() == [9, 10]
    assert words.piece(9) + words.piece(10) == "é".encode()
    assert words.encode("x").tolist() == []


def test_special_tokens_are_found_inside_text_where_they_may_be(tmp_path: Path) -> None:
    words = tokenizer(tmp_path)
    assert pieces(words, "ab<|im_end|>ab[T]") == ["ab", "<|im_end|>", "ab", "[T]"]
    assert 1 not in words.encode("ab<|im_end|>ab", parse_special=False)
    assert 2 in words.encode("ab[T]", parse_special=False)
    assert words.decode([2, 1, 0]) == "[T]"


def test_the_longest_special_token_wins(tmp_path: Path) -> None:
    words = tokenizer(tmp_path, (*BPE, ("<a>", 3), ("<a><b>", 3)))
    assert pieces(words, "<a><b><a>") == ["<a><b>", "<a>"]


@pytest.mark.parametrize(
    ("pre", "flag", "expected"),
    [("gpt-2", None, False), ("llama-bpe", None, True), ("llama-bpe", False, False), ("gpt-2", True, True)],
)
def test_a_beginning_token_is_added_by_habit_or_by_order(
    tmp_path: Path, pre: str, flag: bool | None, expected: bool
) -> None:
    keys: dict[str, Any] = {
        "tokenizer__ggml__pre": pre,
        "tokenizer__ggml__add_bos_token": flag,
        "tokenizer__ggml__bos_token_id": 0,
    }
    words = tokenizer(tmp_path, **keys)
    assert words.add_bos is expected
    assert words.encode("ab").tolist() == ([0] if expected else []) + [12]
    assert words.encode("ab", add_special=False).tolist() == [12]


def test_an_end_token_is_added_where_the_file_asks_for_it(tmp_path: Path) -> None:
    words = tokenizer(tmp_path, tokenizer__ggml__add_eos_token=True, tokenizer__ggml__eos_token_id=0)
    assert words.encode("ab").tolist() == [12, 0]


def test_a_word_that_is_a_token_need_not_be_merged(tmp_path: Path) -> None:
    vocabulary = (*BPE, ("dcba", 1))
    assert pieces(tokenizer(tmp_path, vocabulary), "dcba") == ["d", "c", "b", "a"]
    assert pieces(tokenizer(tmp_path, vocabulary, tokenizer__ggml__pre="llama-bpe"), "dcba")[-1:] == ["dcba"]


def test_merges_of_unknown_tokens_are_passed_over(tmp_path: Path) -> None:
    words = tokenizer(tmp_path, tokenizer__ggml__merges=["z z", "a b", "b d"])
    assert pieces(words, "abd") == ["ab", "d"]


def test_what_merging_makes_on_the_way_need_not_be_a_token(tmp_path: Path) -> None:
    words = tokenizer(tmp_path, (*(token for token in BPE if token[0] != "ab"), ("1a", 1)))
    assert pieces(words, "abc ab") == ["abc", " ab"]
    assert pieces(words, "ab1") == ["a", "b", "1"]


def test_a_letter_without_a_token_keeps_its_neighbours_apart(tmp_path: Path) -> None:
    assert pieces(tokenizer(tmp_path), "axbc") == ["a", "b", "c"]


def test_the_first_place_of_a_merge_counts(tmp_path: Path) -> None:
    words = tokenizer(tmp_path, (*BPE, ("Ġa", 1)), tokenizer__ggml__merges=["Ġ a", "a b", "ab c", "Ġ a"])
    assert pieces(words, " abc") == [" a", "b", "c"]


@pytest.mark.parametrize(("name", "kept"), [("Phi-3 mini", False), ("another", True), (None, True)])
def test_blanks_after_special_tokens_vanish_in_one_family_of_models(
    tmp_path: Path, name: str | None, kept: bool
) -> None:
    path = write_model(tmp_path / "phi3.gguf", general__name=name)
    words = load_tokenizer(load_model_file(path))
    assert pieces(words, "<|im_end|> \n ab<|endoftext|> ab")[1] == (" " if kept else "ab")
    assert pieces(words, "<|endoftext|> ab") == ["<|endoftext|>", " ab"]


def test_an_unknown_way_to_cut_text_is_named(tmp_path: Path) -> None:
    words = tokenizer(tmp_path, tokenizer__ggml__pre="from-tomorrow")
    assert "from-tomorrow" in words.warnings[0]
    assert pieces(words, "abc") == ["abc"]


def test_every_known_way_to_cut_text_works(tmp_path: Path) -> None:
    for _, names in FAMILIES:
        words = tokenizer(tmp_path, tokenizer__ggml__pre=names.split()[0], tokenizer__ggml__add_bos_token=False)
        assert words.decode(words.encode("abc ab\n 11 é").tolist()) == "abc ab\n 11 é"
        assert words.warnings == ()
    assert find_pretokenizer("") == find_pretokenizer("default")


@pytest.mark.parametrize("name", [names.split()[0] for _, names in FAMILIES])
def test_a_long_text_becomes_the_same_tokens_though_it_is_encoded_in_parts(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    over_words = {"tokenizer__ggml__merges": ["a b", "Ġ ab", "ab c", "ab Ġab"]}  # only some families merge so far
    words = tokenizer(tmp_path, (*BPE, ("abĠab", 1)), tokenizer__ggml__pre=name, **over_words)
    text = "ab ab  ab\n ab c ab ab'd abc 1111 ab. ab éab ab ab " * 5
    whole = pieces(words, text)
    monkeypatch.setattr(byte_bpe, "LONG", 4)
    assert pieces(words, text) == whole


def eog(folder: Path, *more: tuple[str, int], **metadata: Any) -> set[str]:
    words = tokenizer(folder, (*BPE, *more), **{"tokenizer__ggml__eos_token_id": 0, **metadata})
    return {words.decode([token], special=True) for token in words.eog}


def test_what_ends_a_generation_goes_by_role_and_by_spelling(tmp_path: Path) -> None:
    both = {"<|endoftext|>", "<|im_end|>"}
    assert eog(tmp_path) == both
    assert eog(tmp_path, tokenizer__ggml__eot_token_id=3) == both | {"a"}
    assert eog(tmp_path, ("<end_of_turn>", 1), ("<reponame>", 3)) == both | {"<end_of_turn>", "<reponame>"}
    assert eog(tmp_path, ("<|end|>", 3), ("<|return|>", 3)) == both | {"<|end|>", "<|return|>"}
    assert eog(tmp_path, ("</s>", 1)) == both | {"</s>"}
    assert eog(tmp_path, ("</s>", 1), ("<|tool_response>", 3)) == both | {"<|tool_response>"}
    harmony = (("<|end|>", 3), ("<|return|>", 3), ("<|call|>", 3))
    assert eog(tmp_path, *harmony) == both | {"<|return|>", "<|call|>"}


def test_a_token_that_ends_is_hidden_whatever_the_file_calls_it(tmp_path: Path) -> None:
    words = tokenizer(tmp_path, (*BPE, ("<end_of_turn>", 1)))
    assert words.piece(len(BPE)) == b""
    assert words.encode("<end_of_turn>").tolist() == [len(BPE)]


def test_tokens_around_a_gap_are_hidden_but_end_nothing(tmp_path: Path) -> None:
    words = tokenizer(tmp_path, (*BPE, ("<PRE>", 1), ("<SUF>", 1)), tokenizer__ggml__suffix_token_id=3)
    assert words.piece(len(BPE)) == b""
    assert words.piece(len(BPE) + 1) == b"<SUF>"
    assert not words.eog & {3, len(BPE), len(BPE) + 1}


def test_sentencepiece_joins_the_best_pair_first(tmp_path: Path) -> None:
    words = tokenizer(tmp_path, SPM)
    assert pieces(words, "abc") == ["<s>", " abc"]
    assert pieces(words, "ab", add_special=False) == [" ", "ab"]
    assert pieces(words, "abcb", add_special=False) == [" abc", "b"]
    assert words.piece(words.n_vocab - 1) == b" abc"


def test_equal_scores_join_from_the_left() -> None:
    ids = {text: token for token, text in enumerate(["a", "aa", "aaa"])}
    assert merged_symbols("aaaa", ids, [0, -1, -5]) == ["aa", "aa"]
    assert merged_symbols("aaaaa", ids, [0, -1, -5]) == ["aa", "aaa"]


def test_unknown_letters_become_bytes(tmp_path: Path) -> None:
    words = tokenizer(tmp_path, SPM)
    tokens = words.encode("é\n", add_special=False).tolist()
    assert words.decode(tokens) == " é\n"
    assert [words.piece(token) for token in tokens[1:]] == [b"\xc3", b"\xa9", b"\n"]


def test_a_space_goes_before_text_that_begins_or_follows_a_special_token(tmp_path: Path) -> None:
    words = tokenizer(tmp_path, SPM)
    assert pieces(words, "abc</s>abc", add_special=False) == [" abc", "</s>", " abc"]
    bare = tokenizer(tmp_path, SPM, tokenizer__ggml__add_space_prefix=False)
    assert pieces(bare, "bc", add_special=False) == ["bc"]


@settings(max_examples=100, deadline=None)
@given(st.text(st.sampled_from("abc ▁é"), max_size=30))
def test_words_are_merged_alike_together_and_apart(text: str) -> None:
    ids = {piece: token for token, (piece, _) in enumerate(SPM)}
    scores = [SCORES.get(piece, -9.0) for piece, _ in SPM]
    spaced = text.replace(" ", "▁")
    whole = merged_symbols(spaced, ids, scores)
    apart = [symbol for word in spaced.replace("▁", " ▁").split(" ") for symbol in merged_symbols(word, ids, scores)]
    assert "".join(whole) == spaced
    assert whole == apart


@pytest.mark.parametrize(
    ("keys", "reason"),
    [
        ({"tokenizer__ggml__model": None}, "tokenizer.ggml.model is missing"),
        ({"tokenizer__ggml__model": "t5"}, 'the tokenizer "t5" is not supported'),
        ({"tokenizer__ggml__merges": None}, "tokenizer.ggml.merges is missing"),
        ({"tokenizer__ggml__token_type": [1, 1]}, "token_type has 2 entries"),
        ({"tokenizer__ggml__model": "llama", "tokenizer__ggml__scores": [0.5]}, "scores has 1 entries"),
    ],
)
def test_a_vocabulary_that_cannot_be_used_is_refused_in_one_line(
    tmp_path: Path, keys: dict[str, Any], reason: str
) -> None:
    with pytest.raises(ModelFileError) as caught:
        tokenizer(tmp_path, **keys)
    assert reason in str(caught.value)
    assert str(tmp_path) in str(caught.value)
