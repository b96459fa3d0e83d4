"""One look as text."""

from __future__ import annotations

from typing import Any

from slotview.engine.remote.once_text import format_once


def report(**more: Any) -> dict[str, Any]:
    slot = {"id": 0, "state": "generating", "task": 7, "n_tokens": 23, "n_ctx": 1024, "n_decoded": 20}
    return {
        "server": {"source": "http://h:1", "model": "m[bold]\x1b[2J", "build": None},
        "health": {"state": "ok", "message": "", "advice": ""},
        "slots": [{**slot, "n_remain": None, "unlimited": True}],
        "waiting": {"count": None, "why": "unknown (server started without --metrics)"},
        **more,
    }


def test_a_line_for_each_slot_and_unknown_is_not_zero() -> None:
    text = format_once(report())
    assert "23/1024" in text
    assert "no limit" in text
    assert "waiting: unknown (server started without --metrics)" in text
    assert "waiting: 0" not in text


def test_text_from_outside_is_inert() -> None:
    assert "\x1b" not in format_once(report())


def test_no_slots_make_no_table() -> None:
    assert "slot  state" not in format_once(report(slots=None, waiting={"count": 3, "why": None}))
    assert format_once(report(slots=None, waiting={"count": 3, "why": None})).endswith("waiting: 3")
