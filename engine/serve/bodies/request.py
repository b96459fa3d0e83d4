"""What a handler takes from its request: the server's state and the body."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import Response

from ..errors import ApiError
from ..http.heads import Head
from ..state import ServerState
from .form import members, read_form
from .json_text import Json, UnreadableError, read_json
from .json_words import no_object
from .query import LONGEST_QUERY_BODY, read_query

__all__ = ["Handler", "read_first", "read_members", "read_named", "read_object", "read_value", "state_of"]

Handler = Callable[[Request], Awaitable[Response]]
COMPRESSIONS = ("gzip", "deflate", "br", "zstd")
LARGE_BODY = 256 * 1024
"""Bytes from which on a body is parsed in a worker thread, so that other requests need not wait for it."""


def state_of(request: Request) -> ServerState:
    """What all handlers share."""
    state: ServerState = request.app.state.server
    return state


def read_first(handler: Handler) -> Handler:
    """A handler of a route: the body is read before it is asked, also where it has no use for one."""

    async def handle(request: Request) -> Response:
        is_compressed = request.headers.get("content-encoding", "").lower() in COMPRESSIONS
        if is_compressed and (_has_body(request) or await request.body()):
            raise UnreadableError(415)
        data = await request.body()
        if _is_form(request) and _has_body(request):
            fields = read_form(data, request.headers["content-type"])
            if request.method == "POST":
                members(fields)
        if _is_query(request) and len(data) > LONGEST_QUERY_BODY:
            raise UnreadableError(413)
        return await handler(request)

    return handle


def _is_form(request: Request) -> bool:
    return _media_type(request) == "multipart/form-data"


def _is_query(request: Request) -> bool:
    return _media_type(request) == "application/x-www-form-urlencoded"


def _media_type(request: Request) -> str:
    """What kind of body is announced; capital letters are another kind."""
    return request.headers.get("content-type", "").partition(";")[0].strip(" \t")


def _has_body(request: Request) -> bool:
    """Whether a body was announced; an empty one counts where a body belongs."""
    head = Head.of(request.scope)
    return head.chunked or bool(head.length) or (request.method == "POST" and head.length is not None)


async def read_named(request: Request) -> dict[str, str]:
    """The values that the target names, and over them those of a body that is announced as pairs."""
    named = read_query(request.scope["query_string"].decode("latin-1"))
    if _is_query(request):
        named |= read_query((await request.body()).decode("utf-8", "replace"))
    return named


async def read_value(request: Request) -> object:
    """The body as JSON or as a form, whatever its type. Raises `ApiError`, `UnreadableError`."""
    data = await request.body()
    if _is_form(request):
        return members(read_form(data, request.headers["content-type"])) if _has_body(request) else {}
    return read_json(data) if len(data) < LARGE_BODY else await asyncio.to_thread(read_json, data)


async def read_object(request: Request) -> Json:
    """The body, which has to be an object. Raises `ApiError`, `UnreadableError`."""
    body = await read_value(request)
    if not isinstance(body, dict):
        raise ApiError(no_object(body))
    return body


async def read_members(request: Request) -> Json:
    """The body's members; a body that is no object has none. Raises `ApiError`, `UnreadableError`."""
    body = await read_value(request)
    return body if isinstance(body, dict) else {}
