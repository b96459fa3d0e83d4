import pytest
from msgspec.structs import replace

from slotview.engine.snapshot import KvPool
from slotview.widgets.base.line import line_width
from slotview.widgets.kv_map import KvMap
from tests.widgets.host import drawn
from tests.widgets.looks import attached, look, many, snapshot


def test_slots_have_as_many_blocks_as_they_hold() -> None:
    legend, *rows = drawn(KvMap(), look(), 64, 9).splitlines()
    assert legend == "one ▪ is 16 cells, in the order of the slots"
    text = "".join(rows)
    assert text.startswith("0" + "▪" * 34 + "1" + "▪" * 31 + "2" + "▪" * 92 + "3" + "▪" * 18 + "·")
    assert len(text) == 8192 // 16


def test_numbers_of_small_slots_do_not_run_together() -> None:
    of = look(snapshot(many(256)[:21], pool=KvPool(False, 262144, (), 0, 0)))
    text = "".join(drawn(KvMap(), of, 64, 9).splitlines()[1:])
    assert text.startswith("0▪5▪10▪15▪20▪·")


def test_a_slot_that_claims_more_than_the_pool_holds_fills_it() -> None:
    liar = replace(many(1)[0], n_tokens=2**62)
    text = "".join(drawn(KvMap(), look(snapshot((liar,), pool=KvPool(False, 64, (), 0, 0))), 64, 3).splitlines()[1:])
    assert text == "0" + "▪" * 63


def test_busy_idle_and_free_differ_in_tone() -> None:
    tones = {tone for line in KvMap().draw(look(), 64, 9)[1:] for _, tone in line}
    assert tones == {"generating", "cached", "faint"}


def test_a_pool_of_unknown_size_has_no_map() -> None:
    assert drawn(KvMap(), look(attached()), 64).startswith("pool size unknown")
    assert "does not show its slots" in drawn(KvMap(), look(snapshot(None)), 64)
    why = "8 192 if unified, 32 768 if split: no endpoint says which"
    narrow = drawn(KvMap(), look(attached(pool=KvPool(candidates=(8192, 32768), why=why))), 40)
    assert " ".join(narrow.split()) == f"pool size unknown {why}", "no word is lost"


@pytest.mark.parametrize("width", [20, 78, 198])
@pytest.mark.parametrize("height", [2, 9, 40])
def test_any_number_of_slots_fits_any_size(width: int, height: int) -> None:
    for n in (0, 1, 256):
        of = look(snapshot(many(n), pool=KvPool(True, 262144, (), 0, 0)))
        lines = KvMap().draw(of, width, height)
        assert len(lines) <= height
        assert all(line_width(line) <= width for line in lines[1:])
