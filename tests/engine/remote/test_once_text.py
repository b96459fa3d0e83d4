"""One look as text."""

from __future__ import annotations

from msgspec.structs import replace

from slotview.engine.remote.once_text import format_once
from slotview.engine.snapshot import Health, HealthState, ServerFacts, SlotState, SlotView, Snapshot, WaitingView

LOOK = Snapshot(
    facts=ServerFacts(source="http://h:1", model="m[bold]\x1b[2J"),
    health=Health(HealthState.OK),
    slots=(SlotView(0, SlotState.GENERATING, n_ctx=1024, task=7, n_tokens=23, n_decoded=20, unlimited=True),),
    waiting=WaitingView(why="unknown (server started without --metrics)"),
)


def test_a_line_for_each_slot_and_unknown_is_not_zero() -> None:
    text = format_once(LOOK)
    assert "23/1024" in text
    assert "no limit" in text
    assert "waiting: unknown (server started without --metrics)" in text
    assert "waiting: 0" not in text


def test_text_from_outside_is_inert() -> None:
    assert "\x1b" not in format_once(LOOK)


def test_no_slots_make_no_table() -> None:
    text = format_once(replace(LOOK, slots=None, waiting=WaitingView(3)))
    assert "slot  state" not in text
    assert text.endswith("waiting: 3")
