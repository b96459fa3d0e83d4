"""From what the user types to the address of a server; secrets are kept apart from what may be shown."""

from __future__ import annotations

import ipaddress
import os
import re
from urllib.parse import quote, unquote, urlsplit

from msgspec import Struct

from slotview.engine.text.plain import plain

__all__ = ["Address", "AddressError", "Secret", "parse_address"]

DEFAULT_PORT = 8080
_ROUTE = re.compile(
    r"(?P<prefix>.*?)(?:/v1)*(?:/(?:chat/completions|completions?|responses|messages|embeddings?|models|infill|tokenize"
    r"|health|slots(?:/\d+)?|props|metrics|running|index\.html))?/*"
)
_PATH = re.compile(r"\.{0,2}/(?!/)|[^/:]+\.sock(?:/|$)|.*\.sock$")  # llama-server takes a --host that ends so for one
_ONE_SLASH = re.compile(r"https?:/(?!/)", re.IGNORECASE)
_UPSTREAM = re.compile(r"(?P<prefix>.*?)/upstream/(?P<model>.+)")
_SCHEME = re.compile(r"^([a-zA-Z][a-zA-Z0-9+.-]*)://(.*)$", re.DOTALL)


class AddressError(ValueError):
    """The address cannot be used; the text is one line without secrets."""


class Secret:
    """A value that neither repr nor str reveals."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """The value itself, for the one header it is meant for."""
        return self._value

    def __repr__(self) -> str:
        return "***"


class Address(Struct, frozen=True):
    """``origin`` is scheme, host and port; ``prefix`` the path in front of every route, without a last slash.

    ``socket`` is the path of a unix socket. ``model`` is named in a path of llama-swap's, which is never asked as it
    stands, since that loads the model. ``shown`` has no user, password, query or fragment.
    """

    origin: str
    prefix: str
    shown: str
    host: str
    port: int | None = None
    socket: str | None = None
    model: str | None = None
    userinfo: Secret | None = None

    @property
    def is_local(self) -> bool:
        """Whether it is this machine, so that no proxy is used."""
        if self.socket or self.host.lower() == "localhost":
            return True
        try:
            address = ipaddress.ip_address(self.host.partition("%")[0])
        except ValueError:
            return False
        return address.is_loopback or address.is_unspecified  # 0.0.0.0 is what a server on all interfaces prints


def parse_address(text: str) -> Address:
    """Read an address: URL, host, host:port, port, bare IPv6, or a unix socket. Raises `AddressError`.

    A route or ``/v1`` at the end, given by habit, is dropped; a prefix in front stays.
    """
    text = text.strip()
    if not text or any(char.isspace() or not char.isprintable() for char in text):
        raise AddressError("the address is empty or has blanks in it; give one like http://localhost:8080")
    scheme, rest = match.groups() if (match := _SCHEME.match(text)) else ("", text)
    scheme = scheme.lower()
    if scheme in ("unix", "http+unix"):
        return _unix(rest)
    if not scheme and text.lower().startswith("unix:"):
        return _unix(text[5:])
    if not scheme and _PATH.match(text):
        return _unix(text)
    if _ONE_SLASH.match(text):
        raise AddressError("this is not an address: two slashes follow http:, as in http://localhost:8080")
    if scheme not in ("", "http", "https"):
        raise AddressError(f"{plain(scheme, 20)}:// is not spoken by llama-server; use http://, https:// or unix://")
    return _tcp(scheme, rest)


def _unix(rest: str) -> Address:
    """A socket's path; what follows its ``.sock`` is the path before the routes, as behind a host."""
    path, end, after = unquote(rest).partition(".sock/")
    socket = os.path.expanduser(path + end.rstrip("/"))
    if not socket.strip("/"):
        raise AddressError("the unix socket has no path; give one like unix:///run/llama.sock")
    prefix, model = _parted("/" + after)
    shown = plain(f"unix://{socket}{prefix}")
    return Address("http://localhost", _quoted(prefix), shown, "localhost", socket=socket, model=model)


def _tcp(scheme: str, rest: str) -> Address:
    netloc, *tail = re.split(r"(?=[/?#])", rest, maxsplit=1)
    userinfo, _, where = netloc.rpartition("@")
    after = where + "".join(tail)
    try:
        parts = urlsplit(f"{scheme or 'http'}://{_bracketed(after)}")
        host, port = parts.hostname, parts.port
    except ValueError:
        shown = "this is" if "@" in rest else f"{plain(after, 80)}:"  # what stands before an @ may be a password
        raise AddressError(f"{shown} not an address; give one like http://localhost:8080") from None
    if not host:
        raise AddressError("the address names no host; give one like http://localhost:8080")
    host = host.replace("%25", "%") if ":" in host else host  # a zone of IPv6, as browsers write it
    if port is None and not scheme:
        port = DEFAULT_PORT
    netloc = (f"[{host}]" if ":" in host else host) + (f":{port}" if port is not None else "")
    origin = f"{parts.scheme}://{netloc}"
    path, model = _parted(parts.path)
    prefix = _quoted(path)
    secret = Secret(unquote(userinfo)) if userinfo else None
    return Address(origin, prefix, plain(origin + prefix), host, port, model=model, userinfo=secret)


def _quoted(path: str) -> str:
    return quote(path, safe="/%:@!$&'()*+,;=~")


def _bracketed(text: str) -> str:
    """Add what was left out: the brackets of a bare IPv6 address, the host of ":8080" and "8080"."""
    host, slash, path = text.partition("/")
    if host.isdigit() and len(host) <= 5:
        host = f"localhost:{host}"
    elif host.startswith(":") and host[1:].isdigit():
        host = f"localhost{host}"
    elif host.count(":") > 1 and not host.startswith("["):
        host = f"[{host}]"
    return host + slash + path


def _parted(path: str) -> tuple[str, str | None]:
    """The path in front of all routes, and the model named in a path of llama-swap's."""
    route = _ROUTE.fullmatch(path)
    prefix = (route["prefix"] if route else path).rstrip("/")
    upstream = _UPSTREAM.fullmatch(prefix)
    return (upstream["prefix"], unquote(upstream["model"])) if upstream else (prefix, None)
