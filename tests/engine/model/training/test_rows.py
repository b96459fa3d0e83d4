"""Rows of token ids."""

from itertools import islice

import pytest

from slotview.engine.model.training.bpe import SPECIAL, Bpe, train_bpe
from slotview.engine.model.training.documents import documents
from slotview.engine.model.training.rows import pack, step_rows


@pytest.fixture(scope="module")
def bpe() -> Bpe:
    return train_bpe(islice(documents(1), 100), 300)


def test_pack_cuts_only_the_last_text(bpe: Bpe) -> None:
    text = f"one{SPECIAL[0]}"
    ids = bpe.encode(text)
    assert pack(bpe, lambda: text, 2 * len(ids) + 1) == ids + ids + ids[:1]


@pytest.mark.parametrize("length", [512, 2048])
def test_rows_follow_from_the_step_number(bpe: Bpe, length: int) -> None:
    rows = step_rows(bpe, 1, 7, 3, length)
    assert [len(row) for row in rows] == [length + 1] * 3
    assert rows == step_rows(bpe, 1, 7, 3, length)
    assert rows != step_rows(bpe, 1, 8, 3, length)
