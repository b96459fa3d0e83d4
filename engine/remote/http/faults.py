"""Classifies what can go wrong with a connection; no message reveals a secret."""

from __future__ import annotations

import re

from slotview.engine.text.plain import plain

from .answer import Fault

__all__ = ["fault_of", "transport_errors"]

_OPENSSL_MARKS = re.compile(r"\[[^]]*\] | ?\(_ssl\.c:\d+\)")
_TLS_WORDS = ("ssl", "certificate", "tls")
_NAME_WORDS = ("name or service", "nodename", "getaddrinfo", "name resolution", "no address")


def transport_errors() -> tuple[type[Exception], ...]:
    """What a request may raise, also if no client can be made, as with an unknown kind of proxy."""
    import httpx

    return httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, OSError, ValueError, ImportError


def fault_of(error: Exception) -> tuple[Fault, str]:
    """Classify a transport error and describe it in one line."""
    import httpx

    text = str(error)
    lower = text.lower()
    if isinstance(error, httpx.ConnectTimeout):
        return Fault.UNCONNECTED, "no connection in time"
    if isinstance(error, httpx.TimeoutException):
        return Fault.TIMEOUT, "no answer in time"
    if isinstance(error, httpx.ConnectError):
        return _connect_fault(lower), plain(_OPENSSL_MARKS.sub("", text), 160)
    if isinstance(error, OSError):  # before any connection: the transport wraps those of sockets
        return Fault.TLS, "SSL_CERT_FILE names no certificate file"
    if isinstance(error, ImportError):
        return Fault.OTHER, "SOCKS proxies are not supported; unset ALL_PROXY, or add the host to NO_PROXY"
    if isinstance(error, httpx.RemoteProtocolError):
        return _protocol_fault(lower)
    if isinstance(error, httpx.ReadError) and " alert " in lower:  # in TLS 1.3, after all else seemed well
        return Fault.TLS, plain(_OPENSSL_MARKS.sub("", text), 160)
    if isinstance(error, httpx.ReadError | httpx.WriteError):
        return Fault.DROPPED, "the connection was dropped"
    return Fault.OTHER, plain(text or type(error).__name__, 160)


def _protocol_fault(lower: str) -> tuple[Fault, str]:
    """What came was not HTTP, ended too early, or broke HTTP's rules."""
    if lower.startswith("illegal "):
        return Fault.NOT_HTTP, "something that is not HTTP"
    if "complete message body" in lower:
        return Fault.DROPPED, "the answer was cut off"
    if "disconnected" in lower:
        return Fault.DROPPED, "the connection was dropped"
    return Fault.GARBLED, f"invalid HTTP ({plain(lower, 80)})"


def _connect_fault(lower: str) -> Fault:
    if any(word in lower for word in _TLS_WORDS):
        return Fault.TLS
    if any(word in lower for word in _NAME_WORDS):
        return Fault.NAME
    if "unreachable" in lower or "no route" in lower:
        return Fault.UNREACHABLE
    return Fault.REFUSED if "refused" in lower else Fault.CONNECT
