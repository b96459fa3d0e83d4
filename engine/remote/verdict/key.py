"""What proof a server, or a proxy in front of it, wants before it answers."""

from __future__ import annotations

from slotview.engine.snapshot import Health, HealthState

from ..http.credentials import Credentials
from ..knowledge.endpoint import Route
from ..knowledge.known import Known
from ..read.errors import Refusal
from .link import PROXY_LOGIN

__all__ = ["key_wanted"]

_GUARDED = (Route.PROPS, Route.SLOTS, Route.MODELS, Route.RUNNING)
_KEY_ADVICE = "give it with --api-key or in LLAMA_API_KEY"


def key_wanted(known: Known, given: Credentials) -> Health:
    """The verdict on a refusal that asks for proof; ``given`` is what was sent along."""
    said = {name: refusal for name in _GUARDED if (refusal := known.endpoints[name].refusal) is not None}
    return _of_proxy(said, given) or _of_server(given)


def _of_proxy(said: dict[Route, Refusal], given: Credentials) -> Health | None:
    """The verdict, if it is no llama-server that asks: its own word is 401, and it wants a key."""
    if any(refusal.wants_password for refusal in said.values()):
        text = "the user or the password is wrong" if given.login is not None else "user and password needed"
        return Health(HealthState.KEY, text, "give them in the address: http://USER:PASSWORD@host")
    if any(refusal.status == 407 for refusal in said.values()):
        return Health(HealthState.KEY, *PROXY_LOGIN)
    if scheme := next((refusal.scheme for refusal in said.values() if refusal.scheme), ""):
        text = f"a proxy asks for a login by {scheme}, which slotview does not speak"
        return Health(HealthState.KEY, text, "let it take user and password (Basic) or a key, or attach behind it")
    if forbidden := next((name for name, refusal in said.items() if refusal.status == 403), None):
        text = f"access to /{forbidden} refused ({said[forbidden].told})"
        return Health(HealthState.KEY, text, "a proxy forbids it, or wants another key")
    return None


def _of_server(given: Credentials) -> Health:
    if given.key is not None and given.login is not None:
        text = "the API key is wrong, or hidden by the password that a proxy passes on"
        return Health(HealthState.KEY, text, "let the proxy drop the header Authorization: X-Api-Key carries the key")
    if given.key is not None:
        return Health(HealthState.KEY, "the API key is wrong", f"{_KEY_ADVICE}; it must be one of the server's keys")
    return Health(HealthState.KEY, "API key needed", _KEY_ADVICE)
