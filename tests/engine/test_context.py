"""Context arithmetic against values read back from a running server."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slotview.engine.context import (
    ContextError,
    ContextPlan,
    LaunchFlags,
    ModelFacts,
    pad256,
    plan_context,
    slots_for_each,
)
from slotview.engine.context.kv_size import KV_TYPES, KvShape, kv_bytes
from slotview.engine.flags import parse_flags

SMOL = KvShape(n_layer=30, n_head_kv=3, head_dim_k=64, head_dim_v=64)
MODEL = ModelFacts(n_ctx_train=8192, shape=SMOL, rope_base=100000.0)

# options | mode | slots | n_ctx | cells per stream | n_batch/n_ubatch | slot.n_ctx
STARTS = """
|unified|4|8192|8192|2048/512|8192
-np 4|split|4|32768|8192|2048/512|8192
-np 4 --fit off|split|4|8192|2048|2048/512|2048
-np 4 -c 0|split|4|32768|8192|2048/512|8192
-np 1|split|1|8192|8192|2048/512|8192
-c 4096|unified|4|4096|4096|2048/512|4096
-c 4096 -np 4|split|4|4096|1024|2048/512|1024
-c 4096 -np 4 -kvu|unified|4|4096|4096|2048/512|4096
-c 4096 -np 3|split|3|4608|1536|2048/512|1536
-c 1000 -np 3|split|3|1536|512|1000/512|512
-c 1000 -np 3 -kvu|unified|3|1024|1024|1000/512|1024
-c 1000 -np 1|split|1|1024|1024|1000/512|1024
-c 100 -np 4|split|4|1024|256|100/100|256
-c 4097 -np 2|split|2|4608|2304|2048/512|2304
-c 5000 -np 7|split|7|5376|768|2048/512|768
-c 16384 -np 1|split|1|16384|16384|2048/512|8192
-c 16384 -np 4 -kvu|unified|4|16384|16384|2048/512|8192
-c 65536 -np 4|split|4|65536|16384|2048/512|8192
-np -3 -c 2048|unified|4|2048|2048|2048/512|2048
-np -1 -c 2048 -no-kvu|unified|4|2048|2048|2048/512|2048
-np 3 --kv-unified-per-slot 1000|split|3|3072|1024|2048/512|1000
-np 3 --kv-unified-per-slot 1000 -kvu|unified|3|3072|3072|2048/512|1000
--kv-unified-per-slot 512|unified|4|2048|2048|2048/512|512
-c 4096 -np 4 -kvu --kv-unified-per-slot 1500|unified|4|4096|4096|2048/512|1500
-c 4096 -np 4 -kvu --kv-unified-per-slot 9000|unified|4|4096|4096|2048/512|4096
-c 4096 -np 4 --kv-unified-per-slot 512|split|4|4096|1024|2048/512|512
-c 512 -np 256|split|256|65536|256|512/512|256
-c 4096 -np 2 -b 256 -ub 512|split|2|4096|2048|256/256|2048
-c 300 -np 2 -ub 0|split|2|512|256|300/300|256
-c 777 -np 5|split|5|1280|256|777/512|256
-c 777 -np 5 -kvu|unified|5|1024|1024|777/512|1024
-c 3000 -np 11 -b 64|split|11|5632|512|64/64|512
-np 6 --fit off|split|6|9216|1536|2048/512|1536
-np 3 -c 0 --fit off|split|3|8448|2816|2048/512|2816
-np 2 --kv-unified-per-slot 9000|split|2|18432|9216|2048/512|8192
-c 20000 -np 2 --kv-unified-per-slot 7000|split|2|20480|10240|2048/512|7000
-np 2 --kv-unified-per-slot 100|split|2|512|256|200/200|100
-np 3 -c 0 --kv-unified-per-slot 3000|split|3|24576|8192|2048/512|3000
-c 2048 -np 8 -b 33 -ub 7|split|8|2048|256|33/7|256
-c 1025 -np 4 -kvu -b 1025 -ub 2000|unified|4|1280|1280|1025/1025|1280
-c 100 -np 128|split|128|32768|256|100/100|256
-c 2 -np 1|split|1|256|256|2/2|256
-c 512 -np 2 -ub -1|split|2|512|256|512/512|256
-c 512 -np 2 --kv-unified-per-slot -1|split|2|512|256|512/512|256
-c 3 -np 4|split|4|1024|256|3/3|256
-c 4096 -np 4 -fa off|split|4|4096|1024|2048/512|1024
-c 4096 -np 4 -ctv q8_0|split|4|4096|1024|2048/512|1024
""".strip("\n").split("\n")

REFUSED = {
    "-c 512 -np 257": "n_seq_max must be <= 256",
    "-np 0": "invalid value for n_parallel",
    "-c -1": "-c -1",
    "-c -300 -np 2": "-c -300",
    "-b 0": "-b 0",
    "-b 0 -ub 0": "cannot both be zero",
    "-b 3 -np 4": "at least 4",
    "-b 1 -np 1": "at least 2",
    "-c 1 -np 2": "-c 1",
    "-ctk q9_9": "Unsupported cache type: q9_9",
    "-ctv q8_0 -fa off": "quantized V cache requires flash_attn",
}


def flags_of(line: str) -> LaunchFlags:
    return parse_flags(shlex.split(line)).launch


def plan(line: str, memory: int | None = None) -> ContextPlan:
    return plan_context(flags_of(line), MODEL, memory)


@pytest.mark.parametrize("row", STARTS)
def test_every_row_that_starts_c03(row: str) -> None:
    line, mode, slots, n_ctx, n_seq, batches, slot = row.split("|")
    got = plan(line)
    assert (got.unified, got.n_slots) == (mode == "unified", int(slots))
    assert (got.n_ctx, got.n_ctx_seq, got.slot_n_ctx) == (int(n_ctx), int(n_seq), int(slot))
    assert f"{got.n_batch}/{got.n_ubatch}" == batches
    assert got.n_cells == got.n_ctx
    rounded = [entry for entry in got.log if "rounding down" in entry.text]
    assert bool(rounded) == any("went up" in note for note in got.notes)


@pytest.mark.parametrize("line", REFUSED)
def test_every_row_that_does_not_start_says_why(line: str) -> None:
    with pytest.raises(ContextError, match=REFUSED[line]) as error:
        plan(line)
    assert "\n" not in str(error.value)


def test_c01_six_slots_divide_a_160k_context() -> None:
    model = ModelFacts(n_ctx_train=163840)
    divided = plan_context(LaunchFlags(ctx_size=163840, parallel=6), model)
    assert (divided.slot_n_ctx, divided.n_ctx) == (27392, 164352)
    assert slots_for_each(163840, 6) == 983040
    assert plan_context(LaunchFlags(ctx_size=983040, parallel=6), model).slot_n_ctx == 163840


def test_c04_no_context_size_and_several_slots() -> None:
    assert (plan("-np 4").slot_n_ctx, plan("-np 4").n_ctx) == (8192, 32768)
    assert (plan("-np 4 --fit off").slot_n_ctx, plan("-np 4 --fit off").n_ctx) == (2048, 8192)
    assert (plan("").slot_n_ctx, plan("").n_ctx, plan("").unified) == (8192, 8192, True)


def test_c07_the_per_slot_limit_in_one_pool() -> None:
    got = plan("-c 2048 --kv-unified-per-slot 1024")
    assert (got.n_slots, got.slot_n_ctx, got.n_cells) == (4, 1024, 2048)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("", ["-np automatic: 4 slots share one pool of 8192 cells; nothing reserves a share"]),
        ("-kvu", []),
        ("-b 4 -np 4", []),
        (
            "-np 2 -c 512 --kv-unified-per-slot 100",
            [
                "capping per-slot context (256) to --kv-unified-per-slot (100)",
                "each stream has 256 cells but its slot may use 100: 156 stay empty",
            ],
        ),
        (
            "-np 2 -c 512 -kvu --kv-unified-per-slot 100",
            ["capping per-slot context (512) to --kv-unified-per-slot (100)"],
        ),
        (
            "-np 2 -c 512 --kv-unified-per-slot 9000",
            ["--kv-unified-per-slot (9000) exceeds the per-slot pool capacity"],
        ),
        (
            "-np 2 -c 18432 --kv-unified-per-slot 9000",
            [
                "capping per-slot context (9216) to --kv-unified-per-slot (9000)",
                "the slot context (9000) exceeds the training context of the model (8192) - capping",
                "each stream has 9216 cells but its slot may use 8192: 1024 stay empty",
            ],
        ),
    ],
)
def test_limits_and_empty_cells_are_told(line: str, told: list[str]) -> None:
    got = plan(line)
    log = [entry.text for entry in got.log if entry.prefix == "srv    load_model: "]
    found = [*(text for text in log if not text.startswith("initializing")), *got.notes]
    assert [text[: len(start)] for text, start in zip(found, told, strict=True)] == told


def test_c113_many_slots() -> None:
    assert plan("-c 8192 -np 64").n_slots == 64
    with pytest.raises(ContextError, match="256"):
        plan("-c 8192 -np 257")


@pytest.mark.parametrize(
    ("line", "raw", "slot"),
    [
        ("-np 4 --fit-target 23505", 21504, 5376),
        ("-np 4 --fit-target 23400", 26624, 6656),
        ("-np 3 --fit-target 23505", 21504, 7168),
        ("-np 1 --fit-target 23860", 5888, 5888),
        ("--fit-target 30000 --fit-ctx 512", 512, 512),
    ],
)
def test_fit_shrinks_an_unset_context_as_far_as_the_projection_allows(line: str, raw: int, slot: int) -> None:
    model = ModelFacts(n_ctx_train=8192, shape=SMOL, weight_bytes=92 * 2**20, compute_bytes=21 * 2**20)
    got = plan_context(flags_of(line), model, 24105 * 2**20)
    assert (got.n_ctx, got.slot_n_ctx) == (raw, slot)
    assert any("context size reduced from" in entry.text for entry in got.log)


@pytest.mark.parametrize("n_slots", [1, 3, 4])
def test_fit_takes_all_that_fits_and_not_more(n_slots: int) -> None:
    others = 113 * 2**20
    model = ModelFacts(n_ctx_train=8192, shape=SMOL, weight_bytes=others)
    step = kv_bytes(SMOL, 256 * n_slots, "f16", "f16")
    for room in range(220, 280, 7):
        got = plan_context(LaunchFlags(parallel=n_slots, fit_target=0, fit_ctx=512), model, room * 2**20)
        assert got.kv_bytes is not None
        assert got.kv_bytes + others <= room * 2**20 < got.kv_bytes + others + step


def test_fit_leaves_a_gib_free_and_4096_tokens_unless_told_otherwise() -> None:
    model = ModelFacts(n_ctx_train=8192, shape=SMOL)
    for n_slots, first, reduced, less in ((-1, 1104, "8192 to 4096", 90), (2, 1284, "16384 to 8192", 180)):
        log = plan_context(LaunchFlags(parallel=n_slots), model, 100 * 2**20).log
        told = [entry.text for entry in log if entry.prefix == "common_params_fit_impl: " and entry.level == "T"]
        assert told[-2:] == [
            f"cannot meet free memory target of 1024 MiB, need to reduce device memory by {first} MiB",
            f"context size reduced from {reduced} -> need {less} MiB less memory in total",
        ]
    assert told[0] == "context size unset and KV cache not unified -> using 16384 for 2 sequences:"


@pytest.mark.parametrize(
    ("line", "kept"),
    [
        ("-c 1024 --fit-target 30000", "context size set by user to 1024 -> no change"),
        ("-np 2 --kv-unified-per-slot 300 --fit-target 30000", "context size set by user to 600 -> no change"),
        ("-c 0 --fit-target 30000", "user has requested full context size of 8192 -> no change"),
        (
            "--fit-ctx 9000 --fit-target 30000",
            "default model context size is 8192 which is <= the min. context size of 9000 -> no change",
        ),
        (
            "--fit-ctx 512 --fit-target 30000",
            "context size reduced from 8192 to 512 -> need 168 MiB less memory in total",
        ),
    ],
)
def test_fit_warns_of_what_it_cannot_make_small_enough(line: str, kept: str) -> None:
    model = ModelFacts(n_ctx_train=8192, shape=SMOL)
    log = plan_context(flags_of(line), model, 24105 * 2**20).log
    assert kept in [entry.text for entry in log]
    warned = [entry.text for entry in log if entry.prefix == "common_fit_params: " and entry.level == "W"]
    assert [text.partition(":")[0] for text in warned] == ["failed to fit params to free device memory"]
    assert not [entry for entry in plan(f"{line} --fit off", 24105 * 2**20).log if "fit" in entry.text]


def test_flags_as_words_say_all_that_is_no_default() -> None:
    assert LaunchFlags().arguments() == []
    for line in (
        "-c 0 -np 3 -kvu --kv-unified-per-slot 500",
        "-b 100 -ub 50 -ctk q8_0 -ctv q4_0 -fa on --fit off",
        "-np 2 --fit-ctx 512 --fit-target 100",
    ):
        assert shlex.join(flags_of(line).arguments()) == line
        assert flags_of(f"-b 2048 -ub 512 -ctk f16 -ctv f16 -fa auto --fit on {line}") == flags_of(line)


def test_a_cache_type_that_does_not_divide_the_heads_is_one_line() -> None:
    model = ModelFacts(n_ctx_train=8192, shape=KvShape(n_layer=1, n_head_kv=1, head_dim_k=20, head_dim_v=20))
    with pytest.raises(ContextError, match="-ctk/-ctv: ") as error:
        plan_context(LaunchFlags(type_k="q8_0"), model)
    assert "\n" not in str(error.value)


def test_sizes_of_all_kv_types() -> None:
    wanted = {"f32": 45.0, "f16": 22.5, "bf16": 22.5, "q8_0": 11.95, "q5_1": 8.44, "q5_0": 7.73, "q4_1": 7.03}
    wanted |= {"q4_0": 6.33, "iq4_nl": 6.33}
    assert set(wanted) == set(KV_TYPES)
    for kind, size in wanted.items():
        assert round(kv_bytes(SMOL, 1024, kind, kind) / 2**20, 2) == size
    assert round(kv_bytes(SMOL, 1024, "q8_0", "f16") / 2**20, 2) == 17.23


def test_the_log_stands_in_the_servers_order() -> None:
    texts = [entry.text for entry in plan("-np 2 --kv-unified-per-slot 9000").log]
    marks = ["sizing KV pool", "rounding down to 18432", "n_seq_max  ", "possible training", "KV buffer", "size = "]
    marks += ["capping per-slot context (9216)", "exceeds the training context", "initializing, n_slots = 2"]
    places = [next(i for i, text in enumerate(texts) if mark in text) for mark in marks]
    assert places == sorted(places)
    assert texts[-1] == "new slot, n_ctx = 8192"


def test_the_kv_line_is_the_real_servers() -> None:
    texts = [entry.text for entry in plan("-c 8192 -np 4").log]
    size = "size =  180.00 MiB (  2048 cells,  30 layers,  4/4 seqs), K (f16):   90.00 MiB, V (f16):   90.00 MiB"
    assert size in texts
    assert "n_outputs_max_per_seq = 1" in texts
    assert "n_ctx_seq             = 2048" in texts
    assert "n_rot_k = 0, n_embd_head_k_all = 64" in texts


def test_the_log_says_which_half_of_the_cache_is_rotated() -> None:
    texts = [entry.text for entry in plan("-c 8192 -np 4 -ctk q8_0").log]
    assert "n_rot_k = 64, n_embd_head_k_all = 64" in texts
    assert "n_rot_v = 0, n_embd_head_k_all = 64" in texts


@given(st.integers(2, 10**6), st.integers(1, 256), st.booleans())
def test_the_total_is_never_less_than_asked(c: int, n_slots: int, unified: bool) -> None:
    flags = LaunchFlags(ctx_size=c, parallel=n_slots, kv_unified=unified)
    got = plan_context(flags, ModelFacts(n_ctx_train=10**9))
    assert got.n_ctx >= c
    assert got.n_ctx_seq % 256 == 0
    assert got.slot_n_ctx * (1 if unified else n_slots) == got.n_ctx
    assert got.n_ctx < pad256(c) + 256 * n_slots
