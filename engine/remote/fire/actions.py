"""Saves, restores and erases slots on a server elsewhere."""

from __future__ import annotations

from slotview.engine.backend import BackendError, SlotAction, SlotActionResult

from ..http.address import Address
from ..http.client import open_client
from ..http.credentials import Credentials
from ..http.faults import fault_of, transport_errors
from ..read.body import NotJsonError, parse_json
from ..read.errors import read_refusal
from ..read.values import as_count, as_map

__all__ = ["act"]

_COUNTS = {SlotAction.SAVE: "n_saved", SlotAction.RESTORE: "n_restored", SlotAction.ERASE: "n_erased"}
_DONE = {SlotAction.SAVE: "saved", SlotAction.RESTORE: "restored", SlotAction.ERASE: "erased"}


def act(
    address: Address, credentials: Credentials, path: str, action: SlotAction, slot: int, body: dict[str, str]
) -> SlotActionResult:
    """Do it and wait for the answer, which takes until the slot is idle. Raises `BackendError`.

    ``path`` is that of /slots; a router wants the model in the body.
    """
    import httpx

    try:
        with open_client(address, credentials, keep=0) as client:
            timeout = httpx.Timeout(None, connect=5.0)
            response = client.post(f"{path}/{slot}", params={"action": action.value}, json=body, timeout=timeout)
    except transport_errors() as error:
        raise BackendError(f"{action} of slot {slot} failed: {fault_of(error)[1]}") from None
    if response.status_code >= 300:
        refusal = read_refusal(response.status_code, response.content, response.headers.get("location", ""))
        raise BackendError(f"{action} of slot {slot} refused: {credentials.hide(refusal.message)}")
    return _result(action, slot, response.content)


def _result(action: SlotAction, slot: int, body: bytes) -> SlotActionResult:
    try:
        fields = as_map(parse_json(body))
    except NotJsonError as error:
        raise BackendError(f"{action} of slot {slot}: the answer is {error}") from None
    told = as_count(fields.get("id_slot"))
    if told not in (None, slot):
        raise BackendError(f"{action} of slot {slot}: the server says that it was slot {told}")
    count = as_count(fields.get(_COUNTS[action]))
    if count is None:
        raise BackendError(f"{action} of slot {slot}: the answer does not say how many tokens")
    return SlotActionResult(action, slot, count, f"slot {slot}: {count} tokens {_DONE[action]}")
