"""Save, restore and erase (spec §7.4, §7.5, §11.14, 32)."""

from __future__ import annotations

import errno
import os
import struct
from pathlib import Path

import numpy as np
import pytest

from slotview.engine.slots.kv.save_file import SaveFileError, pack, unpack
from tests.engine.slots.desk import Desk, numbered

ROW = 3 * 64 * 2  # SmolLM2's K or V of one layer and token in f16
LAYERS = 30


def state(n: int) -> bytes:
    return bytes(16 + 2 * LAYERS * (12 + n * ROW))


def saved(desk: Desk, slot: int) -> bytes:
    task = desk.act("save", slot)
    desk.run()
    data = desk.done(task).data
    assert data is not None
    return data


def restore(desk: Desk, slot: int, data: bytes | None) -> str:
    """ "" or the error."""
    task = desk.act("restore", slot, data)
    desk.run()
    (end,) = desk.ends(task)
    return getattr(end, "message", "")


@pytest.mark.parametrize(("n", "n_stream", "size"), [(26, 2, 600_232), (255, 2, 5_880_056), (10, 3, 231_340)])
def test_files_have_the_servers_sizes(n: int, n_stream: int, size: int) -> None:
    data = pack(np.arange(n, dtype=np.int32), np.arange(n), state(n), (0, n_stream), 0)
    assert len(data) == size


def test_the_file_of_an_empty_slot_has_40_bytes_with_two_streams() -> None:
    desk = Desk(parallel=2, ctx_size=512)
    data = saved(desk, 0)
    assert len(data) == 40
    assert restore(desk, 1, data) == ""
    assert desk.held == [0, 0]


def test_the_head_of_a_file_is_the_documented_one() -> None:
    data = pack(np.array([7, 8], np.int32), np.array([0, 1]), b"STATE", (1, 3), 5)
    words = struct.unpack_from("<3I6i3I", data)
    assert words[:3] == (0x67677371, 4, 6)
    assert words[3:9] == (-1, 1, 2, 7, 8, 0)
    assert words[9:] == (3, 0, 2)
    assert struct.unpack_from("<iIiiIi", data, 48) == (0, 1, 5, 1, 1, 5)
    assert data[72:] == b"STATE" + bytes(4)


@pytest.mark.parametrize("unified", [False, True])
def test_a_saved_slot_goes_on_in_another_slot_with_the_same_text(unified: bool) -> None:
    desk = Desk(parallel=3, ctx_size=768, kv_unified=unified)
    desk.answer(numbered(11, 3), n_predict=2, id_slot=0)
    first = desk.answer(numbered(20), n_predict=6, id_slot=1)
    data = saved(desk, 1)
    assert restore(desk, 2, data) == ""
    assert desk.held[2] == 25
    answer = desk.answer([*numbered(20), *first.text.encode()], n_predict=5, id_slot=2)
    assert answer.timings.cache_n == 25
    whole = Desk(parallel=1, ctx_size=256).answer(numbered(20), n_predict=11)
    assert answer.text == whole.text[6:]


def test_a_restored_prefix_is_reused_like_any_other() -> None:
    desk = Desk(parallel=2, ctx_size=512)
    desk.answer(numbered(10), n_predict=1, id_slot=0)
    restore(desk, 1, saved(desk, 0))
    assert desk.answer(numbered(8), n_predict=1, id_slot=1).timings.cache_n == 7


def test_a_shifted_sequence_is_saved_in_cell_order_with_its_positions() -> None:
    desk = Desk(parallel=1, ctx_size=256, context_shift=True)
    desk.answer(numbered(200), n_predict=100, n_keep=10)
    data = saved(desk, 0)
    positions = unpack(data, 1).positions
    assert not np.array_equal(positions, np.sort(positions))
    held = desk.core.slots[0].held.tolist()
    assert restore(desk, 0, data) == ""
    assert desk.answer([*held, 44], n_predict=1).timings.cache_n == len(held)


@pytest.mark.parametrize("id_slot", [4, 5, 7])
def test_the_answer_counts_tokens_and_bytes_and_repeats_the_id(id_slot: int) -> None:
    desk = Desk(parallel=4, ctx_size=1024)
    desk.answer(numbered(10), n_predict=1, id_slot=id_slot % 4)
    task = desk.act("save", id_slot)
    desk.run()
    done = desk.done(task)
    assert (done.id_slot, done.n_tokens, done.n_bytes) == (id_slot, 10, len(done.data or b""))
    task = desk.act("restore", -2, (done.data or b"") + b"more")
    desk.run()
    assert (desk.done(task).id_slot, desk.done(task).n_tokens) == (-2, 10)
    assert desk.done(task).n_bytes == done.n_bytes
    assert desk.held[2] == 10


@pytest.mark.parametrize("cut", [0, 3, 11, 40, 60, 100, -1, -5])
def test_a_file_cut_off_anywhere_is_refused_and_empties_the_slot(cut: int) -> None:
    desk = Desk(parallel=2, ctx_size=512)
    desk.answer(numbered(10), n_predict=1, id_slot=0)
    data = saved(desk, 0)
    wording = "Unable to restore slot: No available space in KV cache or invalid slot save file"
    assert restore(desk, 0, data[:cut]) == wording
    assert desk.held == [0, 0]


def test_a_missing_file_empties_the_slot_too() -> None:
    desk = Desk(parallel=1, ctx_size=256)
    desk.answer(numbered(10), n_predict=1)
    assert restore(desk, 0, None).startswith("Unable to restore slot: No available space")
    assert desk.held == [0]


@pytest.mark.parametrize(
    ("action", "name", "code", "doing"), [("save", "", errno.EISDIR, "sav"), ("restore", "none", errno.ENOENT, "load")]
)
def test_the_log_says_why_a_file_cannot_be_used(tmp_path: Path, action: str, name: str, code: int, doing: str) -> None:
    desk = Desk(parallel=1, ctx_size=256)
    task = desk.act(action, 0, path=tmp_path / name)
    desk.run()
    assert desk.failed(task).message.startswith(f"Unable to {action} slot")
    (said,) = desk.log(levels="E", containing="failed to open")
    assert said.endswith(f"error {doing}ing sequence state file: failed to open {tmp_path / name}: {os.strerror(code)}")


def test_the_log_says_what_is_wrong_with_a_file() -> None:
    split, unified = Desk(parallel=2, ctx_size=512), Desk(parallel=2, ctx_size=512, kv_unified=True)
    for data in (saved(unified, 0), b"\0" * 20):
        restore(split, 0, data)
    assert split.log(levels="E", containing="load_file") == [
        "llama_state_seq_load_file: error loading sequence state file: n_stream mismatch",
        "state_seq_load_file: unknown (magic, version) for sequence state file: 00000000, 00000000",
    ]


@pytest.mark.parametrize("unified", [True, False])
def test_the_file_of_an_empty_slot_leaves_the_cells_of_the_one_it_is_restored_to(unified: bool) -> None:
    """As measured: the slot counts as empty, what is saved of it has its cells, and so has whoever restores that."""
    desk = Desk(parallel=2, ctx_size=512, kv_unified=unified)
    desk.answer(numbered(10), n_predict=2, id_slot=0)
    whole = saved(desk, 0)
    assert restore(desk, 0, saved(desk, 1)) == ""
    assert desk.held == [0, 0]
    left = saved(desk, 0)
    assert len(left) == len(whole) - 11 * 4
    assert restore(desk, 1, left) == ""
    assert len(saved(desk, 1)) == len(left)
    assert desk.held == [0, 0]
    first = desk.answer(numbered(10), n_predict=2, id_slot=0)
    assert (first.timings.cache_n, desk.held) == (0, [11, 0])
    desk.act("erase", 1)
    desk.run()
    assert len(saved(desk, 1)) < len(left)


def test_a_save_replaces_what_was_saved_under_that_name(tmp_path: Path) -> None:
    desk = Desk(parallel=1, ctx_size=256)
    for n in (9, 5):
        desk.answer(numbered(n, n), n_predict=1)
        desk.act("save", 0, path=tmp_path / "a.bin")
    desk.act("erase", 0)
    desk.act("restore", 0, path=tmp_path / "a.bin")
    desk.run()
    assert desk.held == [5]


def test_other_magic_version_or_number_of_streams_is_refused() -> None:
    data = pack(np.array([7], np.int32), np.array([0]), state(1), (0, 2), 0)
    with pytest.raises(SaveFileError, match="n_stream mismatch"):
        unpack(data, 3)
    with pytest.raises(SaveFileError, match="sequence state file: "):
        unpack(b"\0" + data[1:], 2)
    with pytest.raises(SaveFileError, match="sequence state file: "):
        unpack(data[:4] + b"\3" + data[5:], 2)


def test_a_plain_list_of_tokens_is_accepted() -> None:
    data = struct.pack("<3I2i2I", 0x67677371, 4, 2, 7, 8, 1, 2)
    data += struct.pack("<iIiiIi", 1, 1, 0, 0, 1, 0) + b"STATE"
    found = unpack(data, 1)
    assert found.tokens.tolist() == [7, 8]
    assert found.positions.tolist() == [1, 0]


def test_a_prompt_too_long_for_the_slot_and_foreign_tokens_have_their_own_words() -> None:
    big, small = Desk(parallel=1, ctx_size=512), Desk(parallel=1, ctx_size=512, kv_unified_per_slot=256)
    big.answer(numbered(300), n_predict=1)
    assert (
        restore(small, 0, saved(big, 0)) == "Unable to restore slot: Restored prompt does not fit in the slot context"
    )
    foreign = pack(np.array([999], np.int32), np.array([0]), state(1), (0, 1), 0)
    assert restore(small, 0, foreign) == "Unable to restore slot: Invalid tokens in slot save file"


def test_a_list_of_exactly_the_slots_size_is_restored() -> None:
    desk = Desk(parallel=1, ctx_size=256)
    big = Desk(parallel=1, ctx_size=512)
    big.answer(numbered(256), n_predict=1)
    assert restore(desk, 0, saved(big, 0)) == ""
    assert desk.held == [256]


@pytest.mark.parametrize(("n", "lack"), [(150, "failed to find 150 available cells"), (300, "not enough cells")])
def test_restoring_does_not_purge_idle_slots(n: int, lack: str) -> None:
    big, desk = Desk(parallel=1, ctx_size=512), Desk(parallel=2, ctx_size=256, kv_unified=True)
    big.answer(numbered(n), n_predict=1)
    desk.answer(numbered(150), n_predict=1, id_slot=0)
    assert restore(desk, 1, saved(big, 0)).startswith("Unable to restore slot: No available space")
    assert desk.held == [150, 0]
    assert desk.log(levels="E")[:2] == [
        f"state_read_meta: {lack} in kv cache",
        "llama_state_seq_load_file: error loading sequence state file: failed to restore kv cache",
    ]


def test_a_slot_that_never_ran_stays_unused_after_a_restore() -> None:
    desk = Desk(parallel=2, ctx_size=512)
    desk.answer(numbered(10), n_predict=1, id_slot=0)
    restore(desk, 1, saved(desk, 0))
    assert desk.core.slots[1].id_task is None


def test_an_unknown_action_is_refused() -> None:
    desk = Desk(parallel=1, ctx_size=256)
    task = desk.act("burn", 0)
    desk.run()
    assert (desk.failed(task).status, desk.failed(task).message) == (400, "Invalid action")


def test_an_action_waits_for_its_slot_and_its_turn() -> None:
    desk = Desk(parallel=1, ctx_size=256)
    running = desk.ask(numbered(5), n_predict=20)
    desk.step(2)
    waiting = desk.ask(numbered(5), n_predict=3)
    erase = desk.act("erase", 0)
    desk.step()
    assert desk.core.n_deferred == 2
    desk.run()
    assert desk.order_of_ends() == [running, waiting, erase]
    assert desk.done(erase).n_tokens == 7
