"""Byte-level BPE: training, encoding, and agreement with the tokenizers package."""

from itertools import islice
from pathlib import Path

import pytest
from tokenizers import Tokenizer
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel

from slotview.engine.model.training.bpe import SPECIAL, Bpe, train_bpe
from slotview.engine.model.training.documents import documents
from slotview.engine.model.vocab.byte_letters import LETTER_OF


@pytest.fixture(scope="module")
def bpe() -> Bpe:
    return train_bpe(islice(documents(1), 300), 400)


def test_every_byte_has_its_letter() -> None:
    assert len(set(LETTER_OF)) == 256
    assert LETTER_OF[ord("a")] == "a"
    assert LETTER_OF[ord(" ")] == "Ġ"
    assert LETTER_OF[ord("\n")] == "Ċ"


def test_vocabulary_layout(bpe: Bpe) -> None:
    assert len(bpe.tokens) == len(set(bpe.tokens)) == 400
    assert tuple(bpe.tokens[:3]) == SPECIAL


def test_round_trip(bpe: Bpe) -> None:
    for text in islice(documents(2), 100):
        assert bpe.decode(bpe.encode(text)) == text


def test_bytes_outside_ascii_come_back(bpe: Bpe) -> None:
    ids = [bpe.ids[letter] for letter in (LETTER_OF[byte] for byte in "é".encode())]
    assert bpe.decode(ids) == "é"
    assert bpe.decode(ids[:1]) == "\ufffd"


def test_save_and_load(bpe: Bpe, tmp_path: Path) -> None:
    bpe.save(tmp_path / "bpe.json")
    assert Bpe.load(tmp_path / "bpe.json").tokens == bpe.tokens


def test_agrees_with_the_tokenizers_package(bpe: Bpe) -> None:
    other = Tokenizer(BPE(vocab=dict(bpe.ids), merges=list(bpe.merges)))
    other.pre_tokenizer = ByteLevel(add_prefix_space=False, use_regex=True)
    other.add_special_tokens(list(SPECIAL))
    texts = [*islice(documents(3), 100), "it's  two   blanks\n\n\nand\ttabs, 1234-5_6!? "]
    for text in texts:
        assert other.encode(text).ids == bpe.encode(text)
