"""Opening model files: what is told about a good one, and the one line about a bad one."""

from __future__ import annotations

import re
import struct
import tracemalloc
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from slotview.engine.model.gguf.file import ModelFileError, RopeScaling, load_model_file
from slotview.engine.model.load import load_model
from tests.engine.model.small_file import WIDTH, write_model
from tests.real_server import BUNDLED

HEAD = b"GGUF" + struct.pack("<IQQ", 3, 0, 1)


def refusal(path: Path) -> str:
    with pytest.raises(ModelFileError) as caught:
        load_model_file(path)
    text = str(caught.value)
    assert text.startswith(f"{path}: ")
    assert "\n" not in text
    return text.removeprefix(f"{path}: ")


def test_facts_of_a_file(tmp_path: Path) -> None:
    file = load_model_file(write_model(tmp_path / "small.gguf", general__name="Small one", general__file_type=0))
    h = file.hparams
    assert (h.n_layer, h.n_embd, h.n_head, h.n_head_kv, h.head_dim_k, h.rope_dim) == (1, WIDTH, 2, 1, 4, 4)
    assert (h.n_ctx_train, h.rope_base, h.rope_scaling, h.tied) == (64, 10000.0, RopeScaling(), True)
    assert (file.name, file.ftype) == ("Small one", "all F32")
    assert file.n_params * 4 == file.size_bytes == sum(info.nbytes for info in file.tensors.values())
    assert file.tensor("blk.0.ffn_up.weight").shape == (16, 8)
    assert file.raw("output_norm.weight").tobytes() == file.tensor("output_norm.weight").tobytes()
    with pytest.raises(KeyError):
        file.tensor("output.weight")


def test_the_bundled_model_opens() -> None:
    model = load_model(BUNDLED)
    assert (model.n_vocab, model.tokenizer.n_vocab, model.n_ctx_train) == (1024, 1024, 8192)
    assert model.path == str(BUNDLED)


def test_a_model_without_a_name_is_called_like_its_file(tmp_path: Path) -> None:
    assert load_model_file(write_model(tmp_path / "small.gguf")).name == "small"


def test_stretched_positions_are_read(tmp_path: Path) -> None:
    yarn: dict[str, Any] = {"llama__rope__scaling__type": "yarn", "llama__rope__scaling__factor": 4.0}
    file = load_model_file(write_model(tmp_path / "y.gguf", llama__rope__scaling__original_context_length=16, **yarn))
    assert file.hparams.rope_scaling == RopeScaling("yarn", 4.0, 16)
    linear = load_model_file(write_model(tmp_path / "l.gguf", llama__rope__scale_linear=2.0))
    assert (linear.hparams.rope_scaling.type, linear.hparams.rope_scaling.factor) == ("linear", 2.0)
    factors = load_model_file(write_model(tmp_path / "f.gguf", shapes={"rope_freqs.weight": (2,)}))
    assert factors.hparams.has_rope_freqs


def test_an_output_layer_of_its_own(tmp_path: Path) -> None:
    n_vocab = load_model_file(write_model(tmp_path / "a.gguf")).hparams.n_vocab
    untied = write_model(tmp_path / "b.gguf", shapes={"output.weight": (n_vocab, WIDTH)})
    assert not load_model_file(untied).hparams.tied


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "the file is empty"),
        (b"hello, this is text", "not a GGUF file"),
        (b"PK\x03\x04rest of it", "ZIP archive or PyTorch"),
        (b"version https://git-lfs.github.com/spec/v1\n", "Git LFS pointer"),
        (b"\x00\x10\x00\x00\x00\x00\x00\x00" + b'{"__metadata__"', "safetensors"),
        (b"GGUF", "truncated"),
        (b"GGUF" + struct.pack("<I", 1), "GGUF version 1 is not supported"),
        (b"GGUF" + struct.pack(">I", 3) + bytes(16), "big-endian"),
        (b"GGUF" + struct.pack("<IQQ", 3, 1 << 60, 0), "more than the file can hold"),
        (HEAD + struct.pack("<Q", 1 << 62), "more than the file can hold"),
        (HEAD + struct.pack("<Q1sI", 1, b"a", 99), "unknown type 99"),
        (HEAD + struct.pack("<Q1sIIQ", 1, b"a", 9, 8, 1 << 40), "more than the file can hold"),
        (HEAD + struct.pack("<Q1sIIQ", 1, b"a", 9, 9, 1), "array of arrays"),
        (HEAD + struct.pack("<Q1sIB", 1, b"\xff", 0, 1), "a name that is not UTF-8"),
    ],
)
def test_a_broken_or_foreign_file_is_refused_in_one_line(tmp_path: Path, content: bytes, reason: str) -> None:
    path = tmp_path / "broken.gguf"
    path.write_bytes(content)
    assert reason in refusal(path)


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    assert "directory" in refusal(tmp_path)
    assert "No such file" in refusal(tmp_path / "missing.gguf")


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"architecture": "qwen2"}, 'the architecture "qwen2" is not supported'),
        ({"llama__block_count": None}, "llama.block_count is missing"),
        ({"llama__block_count": 2}, '"blk.1.attn_norm.weight" is missing'),
        ({"llama__block_count": 2**31 - 1}, "layers are announced"),
        ({"llama__attention__head_count": 0}, "llama.attention.head_count is 0"),
        ({"llama__attention__head_count_kv": 4}, "cannot share 4 KV heads"),
        ({"llama__attention__head_count_kv": [1, 2]}, "differs between layers"),
        ({"llama__rope__dimension_count": 3}, "rope.dimension_count is 3"),
        ({"llama__rope__dimension_count": 2}, "rope.dimension_count is 2, not the even size of a head, 4"),
        ({"llama__rope__scaling__type": "dynamic"}, '"dynamic" is not supported'),
        ({"llama__expert_count": 8}, "llama.expert_used_count is missing"),
        ({"llama__expert_count": 2, "llama__expert_used_count": 3}, "is 3, but there are 2 experts"),
        ({"llama__expert_count": 2, "llama__expert_used_count": 1}, '"blk.0.ffn_gate_inp.weight" is missing'),
        (
            {"llama__expert_count": 4, "llama__expert_used_count": 1, "llama__expert_group_count": 2},
            "experts in groups",
        ),
        ({"split__count": 3}, "one of 3 parts of a split model; join them with llama-gguf-split --merge"),
        ({"split__count": 3, "architecture": "none"}, "one of 3 parts"),
        ({"leave_out": ["output_norm.weight"]}, '"output_norm.weight" is missing'),
        ({"shapes": {"blk.0.attn_k.weight": (8, 8)}}, "shape [8, 8], expected [4, 8]"),
        ({"shapes": {"blk.0.attn_qkv.weight": (16, 8)}}, '"blk.0.attn_q.weight" is not part'),
        ({"shapes": {"rope_factors_long.weight": (2,)}}, '"rope_factors_long.weight" is not part'),
        ({"shapes": {"blk.0.attn_q.bias": (3,)}}, '"blk.0.attn_q.bias" has the shape [3], expected [8]'),
    ],
)
def test_a_network_that_cannot_be_run_is_refused_in_one_line(
    tmp_path: Path, options: dict[str, Any], reason: str
) -> None:
    assert reason in refusal(write_model(tmp_path / "other.gguf", **options))


def test_a_file_cut_short_anywhere_is_refused(tmp_path: Path) -> None:
    whole = write_model(tmp_path / "whole.gguf").read_bytes()
    path = tmp_path / "cut.gguf"
    for end in range(1, len(whole), 97):
        path.write_bytes(whole[:end])
        refusal(path)
    path.write_bytes(whole[:-40])
    assert "truncated at tensor" in refusal(path)


def with_entry(path: Path, name: str, *, kind: int | None = None, offset: int | None = None) -> Path:
    """Change the type or the place that a file gives for one matrix."""
    content = bytearray(path.read_bytes())
    end = content.index(struct.pack("<Q", len(name)) + name.encode()) + 8 + len(name)
    if kind is not None:
        struct.pack_into("<I", content, end + 20, kind)
    if offset is not None:
        struct.pack_into("<Q", content, end + 24, offset)
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(("kind", "name"), [(20, "IQ4_NL"), (39, "MXFP4"), (77, "number 77")])
def test_a_tensor_type_that_cannot_be_read_is_named(tmp_path: Path, kind: int, name: str) -> None:
    path = with_entry(write_model(tmp_path / "model.gguf"), "blk.0.attn_q.weight", kind=kind)
    assert refusal(path) == f'the tensor "blk.0.attn_q.weight" has the type {name}, which is not supported'


@pytest.mark.parametrize("offset", [0, 32, 1 << 62])
def test_tensors_that_overlap_or_lie_elsewhere_are_refused(tmp_path: Path, offset: int) -> None:
    path = with_entry(write_model(tmp_path / "model.gguf"), "blk.0.attn_v.weight", offset=offset)
    assert re.fullmatch(
        r'damaged: the tensor "blk.0.attn_v.weight" begins at byte [\d,]+ instead of [\d,]+', refusal(path)
    )


def test_what_a_file_says_reaches_no_terminal_as_it_is(tmp_path: Path) -> None:
    text = refusal(write_model(tmp_path / "model.gguf", general__architecture="\x1b[2J\nllama"))
    assert text.isprintable()


def test_a_value_that_is_not_utf8_is_shown_as_well_as_it_can_be(tmp_path: Path) -> None:
    path = write_model(tmp_path / "model.gguf", general__name="Sch?n")
    path.write_bytes(path.read_bytes().replace(b"Sch?n", b"Sch\xf6n"))
    assert load_model_file(path).name == "Sch\ufffdn"


def test_a_dimension_of_one_before_a_norm_changes_nothing(tmp_path: Path) -> None:
    file = load_model_file(write_model(tmp_path / "model.gguf", shapes={"output_norm.weight": (1, WIDTH)}))
    assert file.tensor("output_norm.weight").shape == (WIDTH,)


def test_a_file_that_does_not_name_its_type_is_called_by_its_tensors(tmp_path: Path) -> None:
    assert load_model_file(write_model(tmp_path / "a.gguf")).ftype == "(guessed) all F32"
    assert load_model_file(write_model(tmp_path / "b.gguf", general__file_type=99)).ftype == "unknown, may not work"


def test_keys_of_stretching_that_llama_cpp_reads_for_other_architectures_change_nothing(tmp_path: Path) -> None:
    keys: dict[str, Any] = {"llama__rope__scaling__type": "yarn", "llama__rope__scaling__factor": 4.0}
    other: dict[str, Any] = {
        "llama__rope__scaling__yarn_beta_fast": 8.0,
        "llama__rope__scaling__yarn_log_multiplier": 0.5,
    }
    one, two = write_model(tmp_path / "1.gguf", **keys), write_model(tmp_path / "2.gguf", **keys, **other)
    assert load_model_file(one).hparams == load_model_file(two).hparams


def test_a_factor_of_attention_counts_without_stretching(tmp_path: Path) -> None:
    keys: dict[str, Any] = {"llama__rope__scaling__type": "none", "llama__rope__scaling__attn_factor": 1.5}
    assert load_model_file(write_model(tmp_path / "model.gguf", **keys)).hparams.rope_scaling.attn_factor == 1.5


@pytest.mark.parametrize(
    "keys",
    [
        {"llama__rope__freq_base": 1.0, "llama__rope__scaling__type": "yarn", "llama__rope__scaling__factor": 4.0},
        {"llama__context_length": 1, "llama__rope__scaling__type": "yarn", "llama__rope__scaling__factor": 1e-40},
    ],
)
def test_odd_stretching_ends_in_no_traceback(tmp_path: Path, keys: dict[str, Any]) -> None:
    load_model(write_model(tmp_path / "model.gguf", **keys))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return write_model(tmp_path_factory.mktemp("whole") / "model.gguf").read_bytes()


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(damage=st.lists(st.tuples(st.floats(0, 0.7), st.integers(0, 255)), min_size=1, max_size=4))
def test_damage_never_ends_in_a_traceback_or_takes_much_memory(
    whole: bytes, tmp_path: Path, damage: list[tuple[float, int]]
) -> None:
    content = bytearray(whole)
    for place, value in damage:
        content[int(place * len(content))] = value
    path = tmp_path / "model.gguf"
    path.write_bytes(content)
    tracemalloc.start()
    with suppress(ModelFileError):
        load_model_file(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4_000_000
