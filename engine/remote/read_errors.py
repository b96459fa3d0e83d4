"""Refusals of every kind: error objects, bare texts, web pages; and what each says about an endpoint."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..plain import plain
from ..snapshot import EndpointState
from .body import NotJsonError, looks_like_html, parse_json
from .values import as_count, as_map, as_text, first

__all__ = ["Refusal", "read_refusal", "state_of"]

_TITLE = re.compile(rb"<title>(.*?)</title>", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Refusal:
    """An answer with a status that is not 2xx. ``message`` is one inert line; ``kind`` the error's type word."""

    status: int
    message: str
    kind: str = ""
    n_prompt_tokens: int | None = None
    n_ctx: int | None = None

    @property
    def is_loading(self) -> bool:
        """The model is still being loaded (503 in two shapes, spec §10.1)."""
        return self.status == 503 and "loading" in self.message.lower()

    @property
    def is_all_busy(self) -> bool:
        """A 503 that only means that no slot is idle."""
        return self.status == 503 and "no slot available" in self.message.lower()

    @property
    def is_too_long(self) -> bool:
        """The prompt does not fit a slot, in the words of any build since 2025."""
        return self.kind == "exceed_context_size_error" or "exceeds the available context size" in self.message

    @property
    def wants_model(self) -> bool:
        """A router that was asked without naming a model."""
        return self.status == 400 and "model name is missing" in self.message.lower()


def read_refusal(status: int, body: bytes) -> Refusal:
    """Read what a refusal says; never fails."""
    try:
        answer = None if looks_like_html(body) else parse_json(body[:200_000])
    except NotJsonError:
        answer = None
    error = first(as_map(answer), "error", "message", "detail", "status")
    fields = as_map(error)
    message = as_text(fields.get("message")) or as_text(error) or _bare_text(answer, body) or "no reason given"
    kind = as_text(fields.get("type"), 60) or ""
    return Refusal(status, message, kind, as_count(fields.get("n_prompt_tokens")), as_count(fields.get("n_ctx")))


def _bare_text(answer: object, body: bytes) -> str | None:
    """The first line of a text answer, or a web page's title."""
    if isinstance(answer, str):
        return as_text(answer)
    if answer is not None:
        return None
    title = _TITLE.search(body[:4000])
    line = title[1] if title else b"a web page" if looks_like_html(body) else body[:400].strip().split(b"\n")[0]
    return plain(line.decode("utf-8", "replace").strip(), 200) or None


def state_of(refusal: Refusal) -> EndpointState:
    """What a refusal says about the endpoint that gave it."""
    status = refusal.status
    if refusal.is_loading:
        return EndpointState.LOADING
    if refusal.is_all_busy:
        return EndpointState.OK
    if status == 401 or (status == 403 and refusal.kind != "feature_disabled"):
        return EndpointState.KEY
    if status in (403, 501):
        return EndpointState.OFF
    if status in (404, 405, 410):
        return EndpointState.ABSENT
    return EndpointState.NO_ANSWER if status in (429, 502, 503, 504) else EndpointState.BAD
