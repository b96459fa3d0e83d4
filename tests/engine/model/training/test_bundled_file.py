"""The bundled file holds what its card says."""

from __future__ import annotations

from importlib.resources import as_file, files
from itertools import islice

import pytest
from gguf import GGMLQuantizationType, GGUFReader

from slotview.engine.model.training.bpe import SPECIAL, Bpe
from slotview.engine.model.training.documents import documents
from slotview.engine.model.training.shape import SHAPE

FILE = files("slotview.engine.model.data") / "slotview-1m.gguf"


@pytest.fixture(scope="module")
def reader() -> GGUFReader:
    with as_file(FILE) as path:
        return GGUFReader(path)


def value(reader: GGUFReader, key: str) -> object:
    field = reader.fields[key]
    return field.contents()


def test_size() -> None:
    assert len(FILE.read_bytes()) <= 6_000_000


def test_all_weights_are_f32(reader: GGUFReader) -> None:
    assert {tensor.tensor_type for tensor in reader.tensors} == {GGMLQuantizationType.F32}
    assert sum(int(tensor.n_elements) for tensor in reader.tensors) == 1_312_384


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("GGUF.version", 3),
        ("general.architecture", "llama"),
        ("general.name", "slotview-1m"),
        ("general.license", "MIT"),
        ("llama.context_length", 8192),
        ("llama.attention.head_count", SHAPE.heads),
        ("llama.attention.head_count_kv", SHAPE.kv_heads),
        ("llama.rope.freq_base", SHAPE.rope_base),
        ("tokenizer.ggml.model", "gpt2"),
        ("tokenizer.ggml.pre", "gpt-2"),
        ("tokenizer.ggml.bos_token_id", SPECIAL.index("<|endoftext|>")),
        ("tokenizer.ggml.eos_token_id", SPECIAL.index("<|im_end|>")),
    ],
)
def test_metadata(reader: GGUFReader, key: str, expected: object) -> None:
    assert value(reader, key) == expected


def test_vocabulary_suits_the_generator(reader: GGUFReader) -> None:
    merges = value(reader, "tokenizer.ggml.merges")
    assert isinstance(merges, list)
    pairs = [merge.split(" ") for merge in merges]
    bpe = Bpe(tuple((left, right) for left, right in pairs))
    assert bpe.tokens == value(reader, "tokenizer.ggml.tokens")
    texts = list(islice(documents(11), 200))
    tokens = sum(len(bpe.encode(text)) for text in texts)
    assert tokens < 1.7 * sum(len(text.split()) for text in texts)  # a name is two tokens or three, a full stop one
