"""Refusals of every kind (error objects, plain text, web pages), and what each says about an endpoint."""

from __future__ import annotations

import re

from msgspec import Struct

from slotview.engine.snapshot import EndpointState
from slotview.engine.text.plain import plain

from .body import NotJsonError, heading, looks_like_html, parse_json
from .values import as_count, as_map, as_text, first

__all__ = ["Refusal", "read_refusal", "state_of", "status_inside", "words_of"]

_PAUSE_OF_429 = 10.0
_SCHEME = re.compile(r"(?:^|,)\s*([a-z][a-z0-9-]*)(?=\s|,|$)", re.IGNORECASE)  # of WWW-Authenticate
_KEY_OF_SWAP = 'basic realm="llama-swap"'  # llama-swap means its API key
_TLS_PORT = re.compile(rb"plain HTTP\b.{,60}\b(?:HTTPS|SSL)|HTTP request to an HTTPS", re.IGNORECASE | re.DOTALL)


class Refusal(Struct, frozen=True):
    """An answer with a status other than 2xx. ``message`` is one harmless line; ``kind`` the type of the error."""

    status: int
    message: str
    kind: str = ""
    wants_password: bool = False  # a proxy's question, not llama-server's
    wants_tls: bool = False  # the port takes nothing but TLS
    wants_certificate: bool = False  # the port takes nobody without a client certificate
    is_of_fastapi: bool = False  # a server in Python, as LiteLLM: its /health sends a prompt to each model
    scheme: str = ""  # what a proxy wants where neither a password nor a key will do
    pause: float = 0.0  # seconds after which to ask again

    @property
    def told(self) -> str:
        """Status and message in one line."""
        return self.message if self.message.startswith(str(self.status)) else f"{self.status} {self.message}"

    @property
    def is_of_proxy(self) -> bool:
        """Whether a proxy has refused on its own account, rather than llama-server."""
        state = state_of(self)
        is_forbidden = self.status == 403 and state is EndpointState.KEY
        return self.wants_password or is_forbidden or state is EndpointState.NO_ANSWER

    @property
    def is_own_word(self) -> bool:
        """Whether a llama-server says that it has no such path (builds since 2024)."""
        return self.status == 404 and self.kind == "not_found_error" and self.message == "File Not Found"

    @property
    def is_loading(self) -> bool:
        """Whether the model is still being loaded (503 in two shapes, spec §10.1)."""
        return self.status == 503 and "loading" in self.message.lower()

    @property
    def is_all_busy(self) -> bool:
        """Whether it is a 503 that only means that no slot is idle."""
        return self.status == 503 and "no slot available" in self.message.lower()

    @property
    def wants_model(self) -> bool:
        """Whether a router was asked without naming a model."""
        return self.status == 400 and "model name is missing" in self.message.lower()


def read_refusal(status: int, body: bytes, pointer: str = "", pause: float | None = None) -> Refusal:
    """Read what a refusal says; never fails. ``pointer`` and ``pause`` as in `Answer`."""
    if 300 <= status < 400 and pointer:
        return Refusal(status, f"a redirect to {_shown_target(pointer)}")
    try:
        answer = None if looks_like_html(body) else parse_json(body[:200_000])
    except NotJsonError:
        answer = None
    fields = as_map(as_map(answer).get("error"))
    schemes = _schemes(pointer) if status == 401 else []
    return Refusal(
        status,
        message=words_of(answer) or _bare_text(answer, body) or _phrase(status),
        kind=as_text(fields.get("type"), 60) or "",
        wants_password="basic" in schemes,
        wants_tls=status == 400 and _TLS_PORT.search(body[:4000]) is not None,
        wants_certificate=status == 400 and b"SSL certificate" in body[:4000],
        is_of_fastapi=answer == {"detail": "Not Found"},
        scheme="" if {"basic", "bearer"} & {*schemes} else plain(" or ".join(schemes), 60),
        pause=_PAUSE_OF_429 if pause is None and status == 429 else pause or 0.0,
    )


def status_inside(answer: object) -> int | None:
    """The status in an error object, if it came with another one, as some proxies answer everything with 200."""
    code = as_count(as_map(as_map(answer).get("error")).get("code"))
    return code if code is not None and 400 <= code < 600 else None


def words_of(answer: object) -> str | None:
    """What an error object says, in the forms that llama-server and others use; until 2024 it was the ``content``."""
    error = first(as_map(answer), "error", "message", "detail", "status")
    return as_text(first(as_map(error), "message", "content")) or as_text(error)


def _shown_target(location: str) -> str:
    """An address without the parts that may be secret."""
    return plain(re.sub(r"//[^/@]*@", "//", location.partition("?")[0]), 120)


def _schemes(pointer: str) -> list[str]:
    """The ways of proving who one is that a server offers."""
    return ["bearer"] if pointer.lower().startswith(_KEY_OF_SWAP) else _SCHEME.findall(pointer.lower())


def _phrase(status: int) -> str:
    """What the number stands for."""
    from http import HTTPStatus

    return next((known.phrase for known in HTTPStatus if known == status), "no reason given")


def _bare_text(answer: object, body: bytes) -> str | None:
    """The first line of a text, or what a web page is headed."""
    if isinstance(answer, str):
        return as_text(answer)
    if answer is not None:
        return None
    if title := heading(body):
        return title
    line = b"a web page" if looks_like_html(body) else body[:400].strip().split(b"\n")[0]
    return plain(" ".join(line.decode("utf-8", "replace").split()), 200) or None


def state_of(refusal: Refusal) -> EndpointState:
    """What a refusal says about the endpoint that gave it."""
    status = refusal.status
    if refusal.is_loading:
        return EndpointState.LOADING
    if refusal.is_all_busy:
        return EndpointState.OK
    if status in (401, 407) or (status == 403 and refusal.kind != "feature_disabled"):
        return EndpointState.KEY
    if status in (403, 501):
        return EndpointState.OFF
    if status in (404, 405, 410):
        return EndpointState.ABSENT
    is_of_proxy = status in (429, 502, 503, 504) or 520 <= status <= 530  # the latter are Cloudflare's
    return EndpointState.NO_ANSWER if is_of_proxy else EndpointState.BAD
