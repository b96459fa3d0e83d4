"""What surrounds every handler: CORS, loading, keys, and how a connection is kept (spec §7.1)."""

from __future__ import annotations

from collections import OrderedDict
from urllib.parse import unquote

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..bodies.json_text import MAX_BODY, UnreadableError
from ..bodies.remarks import listen
from ..errors import outer_error
from ..http.heads import Head, has_token
from ..http.ranges import Ranges, lie_outside, read_ranges
from ..replies import json_reply
from ..state import ServerState
from .cors import allowed_origin, is_skipped, preflight

__all__ = ["Edge"]

FREE_PATHS = ("/health", "/v1/health", "/")
ANSWERS_PER_CONNECTION = 100
CONNECTIONS_REMEMBERED = 4096
SERVER = "llama.cpp"
UNROUTED = ("CONNECT", "TRACE", "PRI")  # methods that no route can have


class Edge:
    """ASGI application around the routes."""

    def __init__(self, app: ASGIApp, state: ServerState) -> None:
        self._app = app
        self._state = state
        self._answers: OrderedDict[object, int] = OrderedDict()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer what no handler has to see; pass on the rest."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        scope = _without_fragment(scope)
        listen(self._state.remark)
        if is_skipped(self._state.flags.http, origin := headers.get("origin", "")):
            self._state.warn(f"(CORS) skip non-localhost origin: {origin}")
        answer = self._early_answer(scope, headers)
        if (Head.of(scope).length or 0) > MAX_BODY:
            await _drain(receive)
            answer = Response(status_code=413)
        await (answer or self._app)(scope, _checked(scope, receive), self._finishing(scope, headers, send))

    def _early_answer(self, scope: Scope, headers: Headers) -> Response | None:
        """The answer to what no handler sees; None = the handler's turn.

        In llama-server's order: OPTIONS, any request while the model is loading, one without a key.
        """
        if scope["method"] == "OPTIONS":
            return Response(b"", headers=preflight(self._state.flags.http) | _end(scope))
        if self._state.host is None and scope["path"] != "/":
            return json_reply(outer_error("Loading model", "unavailable_error"), 503)
        keys = headers.get("authorization", ""), headers.get("x-api-key", "")
        if scope["path"] not in FREE_PATHS and not self._state.allows(*keys):
            self._state.warn("unauthorized: Invalid API Key")
            return json_reply(outer_error("Invalid API Key", "authentication_error"), 401)
        return Response(status_code=400) if scope["method"] in UNROUTED else None

    def _finishing(self, scope: Scope, request: Headers, send: Send) -> Send:
        """A ``send`` that adds the headers which every answer carries, and sends no body where Range asks for more."""
        ranges = read_ranges(request.get("range", "").encode("latin-1"))
        is_emptied = False

        async def finish(message: Message) -> None:
            nonlocal is_emptied
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                is_emptied = message["status"] == 200 and _lack(headers, ranges)
                if is_emptied:
                    message["status"], headers["Content-Length"] = 416, "0"
                self._add_headers(headers, message["status"], scope, request)
            elif is_emptied:
                message = {**message, "body": b""}
            await send(message)

        return finish

    def _add_headers(self, headers: MutableHeaders, status: int, scope: Scope, request: Headers) -> None:
        """Add what every answer carries."""
        headers["Server"] = SERVER
        allowed = allowed_origin(self._state.flags.http, request.get("origin", ""))
        if allowed is not None:
            headers["Access-Control-Allow-Origin"] = allowed
        asked_to_close = has_token(request.raw, b"connection", b"close")
        if status >= 400 or asked_to_close or self._count(scope) >= ANSWERS_PER_CONNECTION:
            headers["Connection"] = "close"
        elif "connection" not in headers:
            headers["Keep-Alive"] = "timeout=5, max=100"
        if scope["method"] == "HEAD":
            headers["Accept-Ranges"] = "bytes"

    def _count(self, scope: Scope) -> int:
        """Answers so far on this connection, this one included. Connections are told apart by the client's address."""
        client = scope.get("client")
        if client is None:
            return 1
        number = self._answers.pop(client, 0) + 1
        self._answers[client] = 0 if number >= ANSWERS_PER_CONNECTION else number
        if len(self._answers) > CONNECTIONS_REMEMBERED:
            self._answers.popitem(last=False)
        return number


def _without_fragment(scope: Scope) -> Scope:
    """llama-server cuts a target off at its first ``#``; uvicorn does not."""
    raw_path, mark, _ = scope["raw_path"].partition(b"#")
    if mark:
        return {**scope, "raw_path": raw_path, "path": unquote(raw_path.decode("ascii")), "query_string": b""}
    return {**scope, "query_string": scope["query_string"].partition(b"#")[0]}


def _end(scope: Scope) -> dict[str, str]:
    """The header of an answer that leaves a body unread which the client would have asked for leave to send."""
    return {"Connection": "close"} if Head.of(scope).expects else {}


def _lack(headers: MutableHeaders, ranges: Ranges | None) -> bool:
    """Whether an answer with these headers, which is no stream, lacks bytes that Range asks for."""
    length = headers.get("content-length")
    return bool(ranges) and length is not None and lie_outside(ranges or [], int(length))


async def _drain(receive: Receive) -> None:
    """Read the body to its end: a client that is still sending would see a reset connection instead of the answer."""
    while (await receive()).get("more_body"):
        pass


def _checked(scope: Scope, receive: Receive) -> Receive:
    """A ``receive`` that raises `UnreadableError` where a body is broken, or too long without telling its length."""
    size = 0

    async def count() -> Message:
        nonlocal size
        message = await receive()
        size += len(message.get("body", b""))
        if size > MAX_BODY:
            raise UnreadableError(413)
        if refusal := scope["state"].get("refusal"):
            raise UnreadableError(refusal)
        return message

    return count
