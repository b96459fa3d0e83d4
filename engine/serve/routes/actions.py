"""POST /slots/{id}?action=save|restore|erase (spec §7.4)."""

from __future__ import annotations

from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

from slotview.engine.slots.queue.task import ActionDone, ActionTask, Failed

from ..answers.native import failure
from ..bodies.fields import leading_integer
from ..bodies.json_text import Json
from ..bodies.json_words import no_key, no_object, not_of_type
from ..bodies.request import read_named, read_value, state_of
from ..errors import ApiError, ThrownError, disabled
from ..http.presence import while_present
from ..replies import json_reply
from ..running import RunningRequest

__all__ = ["slot_action", "valid_filename"]

FORBIDDEN = frozenset('/\\:*?"<>|') | frozenset("\uff0e\u2215\u2216\uff0f\uff3c\u29f5\u29f8\ufffd\ufeff")


async def slot_action(request: Request) -> Response:
    """Save, restore or erase one slot; waits while the slot is busy."""
    state = state_of(request)
    folder = state.flags.http.slot_save_path
    if not folder:
        raise disabled("slots action", "--slot-save-path")
    slot = _slot_id(request.path_params.get("slot", ""))
    action = (await read_named(request)).get("action")
    if action not in ("save", "restore", "erase"):
        raise ApiError("Invalid action")
    if action == "erase":
        done = await _run(request, ActionTask(action, slot))
        return json_reply({"id_slot": slot, "n_erased": done.n_tokens})
    filename = await _filename(request)
    path = Path(folder) / filename
    if action == "save":
        return json_reply(await _save(request, slot, filename, path))
    return json_reply(await _restore(request, slot, filename, path))


def _slot_id(text: str) -> int:
    """Leading digits suffice; beyond 32 bits is no id."""
    slot = leading_integer(text)
    if slot is None or not -(2**31) <= slot < 2**31:
        raise ApiError("Invalid slot ID")
    return slot


async def _filename(request: Request) -> str:
    body = await read_value(request)
    if not isinstance(body, dict):
        raise ThrownError(no_object(body))
    if "filename" not in body:
        raise ThrownError(no_key("filename"))
    name = body["filename"]
    if not isinstance(name, str):
        raise ThrownError(not_of_type("string", name))
    if not valid_filename(name):
        raise ApiError("Invalid filename")
    return name


def valid_filename(name: str) -> bool:
    """Whether a name stays inside its folder on every system."""
    if not name or len(name.encode("utf-8", "replace")) > 255 or name != name.strip(" ") or name.endswith("."):
        return False
    if ".." in name or any(character in FORBIDDEN for character in name):
        return False
    return all(ord(character) >= 32 and not 0x7F <= ord(character) <= 0x9F for character in name)


async def _run(request: Request, action: ActionTask) -> ActionDone:
    running = RunningRequest(state_of(request).engine)
    running.post_action(action)
    try:
        result = await while_present(request, running.next())
    finally:
        running.close()
    if isinstance(result, Failed):
        raise failure(result)
    assert isinstance(result, ActionDone)
    return result


async def _save(request: Request, slot: int, filename: str, path: Path) -> Json:
    done = await _run(request, ActionTask("save", slot, path))
    timings = {"save_ms": done.time_us / 1000}
    return {
        "id_slot": slot,
        "filename": filename,
        "n_saved": done.n_tokens,
        "n_written": done.n_bytes,
        "timings": timings,
    }


async def _restore(request: Request, slot: int, filename: str, path: Path) -> Json:
    done = await _run(request, ActionTask("restore", slot, path))
    timings = {"restore_ms": done.time_us / 1000}
    return {
        "id_slot": slot,
        "filename": filename,
        "n_restored": done.n_tokens,
        "n_read": done.n_bytes,
        "timings": timings,
    }
