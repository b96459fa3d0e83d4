"""What a server elsewhere is shown as a proof: its own key, and a user and password for a proxy before it."""

from __future__ import annotations

import base64
from dataclasses import dataclass

from .address import Address, AddressError, Secret

__all__ = ["NOBODY", "Credentials"]


@dataclass(frozen=True, slots=True)
class Credentials:
    """``key`` is one of the server's API keys, ``login`` the user:password of the address."""

    key: Secret | None = None
    login: Secret | None = None

    @classmethod
    def of(cls, address: Address, api_key: str | None) -> Credentials:
        """Take what was given; a blank key is none. Raises `AddressError` for one that no header can carry."""
        key = (api_key or "").strip()
        if not key.isascii() or not key.isprintable():
            raise AddressError("the API key has characters that no header can carry; check it for stray ones")
        return cls(Secret(key) if key else None, address.userinfo)

    def headers(self) -> dict[str, str]:
        """The headers that carry them. There is one Authorization only: beside a login the key takes X-Api-Key."""
        if self.login is None:
            return {} if self.key is None else {"Authorization": f"Bearer {self.key.reveal()}"}
        login = base64.b64encode(self.login.reveal().encode()).decode()
        return {"Authorization": f"Basic {login}"} | ({} if self.key is None else {"X-Api-Key": self.key.reveal()})


NOBODY = Credentials()
