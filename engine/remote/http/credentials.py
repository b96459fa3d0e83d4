"""Proof for a server elsewhere: one of its own keys, and a user and password for a proxy in front of it."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import TYPE_CHECKING

from msgspec import Struct, field

from slotview.engine.text.hiding import hiding

from .address import Address, AddressError, Secret

if TYPE_CHECKING:
    from http.cookiejar import CookieJar

__all__ = ["NOBODY", "Cookies", "Credentials"]


class Cookies:
    """What a load balancer wants to hear again, lest each client of ours gets a server of its own."""

    def __init__(self) -> None:
        self._jar: CookieJar | None = None

    def jar(self) -> CookieJar:
        """The same one for all clients."""
        if self._jar is None:
            from http.cookiejar import CookieJar

            self._jar = CookieJar()
        return self._jar


class Credentials(Struct, frozen=True):
    """``key``: one of the server's API keys; ``login``: the user:password in the address; ``cookies``: given to us."""

    key: Secret | None = None
    login: Secret | None = None
    cookies: Cookies = field(default_factory=Cookies)

    @classmethod
    def of(cls, address: Address, api_key: str | None) -> Credentials:
        """Take what was given; a blank key is none. Raises `AddressError` for a key that no header can carry."""
        key = (api_key or "").strip()
        if not key.isascii() or not key.isprintable():
            raise AddressError("the API key has characters that no header can carry; check it for stray ones")
        return cls(Secret(key) if key else None, address.userinfo)

    def headers(self) -> dict[str, str]:
        """The headers that carry them. There is only one Authorization: next to a login, the key takes X-Api-Key."""
        if self.login is None:
            return {} if self.key is None else {"Authorization": f"Bearer {self.key.reveal()}"}
        basic = {"Authorization": f"Basic {_packed(self.login)}"}
        return basic if self.key is None else {**basic, "X-Api-Key": self.key.reveal()}

    def hide(self, text: str) -> str:
        """Remove them from a text, since some servers quote what they were sent in an error."""
        return hiding(filter(None, self._secrets()))(text)

    def _secrets(self) -> Iterator[str]:
        if self.key is not None:
            yield self.key.reveal()
        if self.login is not None:
            yield _packed(self.login)
            yield self.login.reveal()
            yield self.login.reveal().partition(":")[2]


def _packed(login: Secret) -> str:
    return base64.b64encode(login.reveal().encode()).decode()


NOBODY = Credentials()
