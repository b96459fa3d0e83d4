"""The routes, and the layers around them in llama-server's order: loading, key, handler (spec §7.1)."""

from __future__ import annotations

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from ..bodies.json_text import UnreadableError, write_json
from ..bodies.request import Handler, read_first
from ..errors import ApiError, ThrownError, error_body, outer_error
from ..http.presence import ClientGoneError
from ..replies import JSON, json_reply
from ..state import ServerState
from . import absent, info, texts
from .actions import slot_action
from .completions import chat_completions, completions, input_tokens, native
from .edge import Edge

__all__ = ["make_app"]

GETS: dict[str, Handler] = {
    "/health": info.health,
    "/v1/health": info.health,
    "/slots": info.slots,
    "/metrics": info.metrics,
    "/props": info.props,
    "/models": info.models,
    "/v1/models": info.models,
    "/lora-adapters": absent.lora_adapters,
    "/cors-proxy": absent.switched_off,
    "/tools": absent.switched_off,
}
POSTS: dict[str, Handler] = {
    "/completion": native,
    "/completions": native,
    "/v1/completions": completions,
    "/chat/completions": chat_completions,
    "/v1/chat/completions": chat_completions,
    "/chat/completions/input_tokens": input_tokens,
    "/v1/chat/completions/input_tokens": input_tokens,
    "/v1/chat/completions/control": texts.control,
    "/tokenize": texts.tokenize,
    "/detokenize": texts.detokenize,
    "/apply-template": texts.apply_template,
    "/props": info.change_props,
    "/slots/": slot_action,
    "/slots//": slot_action,
    "/slots/{slot}": slot_action,
    "/slots/{slot}/": slot_action,
    "/lora-adapters": absent.set_lora_adapters,
    "/cors-proxy": absent.switched_off,
    "/tools": absent.switched_off,
    **absent.REFUSED,
}


def make_app(state: ServerState) -> Edge:
    """Build the ASGI application."""
    prefix = state.flags.http.api_prefix.rstrip("/")
    routes = [Route(prefix + path, read_first(handler), methods=["GET"]) for path, handler in GETS.items()]
    routes += [Route(prefix + path, read_first(handler), methods=["POST"]) for path, handler in POSTS.items()]
    handlers = {
        ApiError: _refused,
        HTTPException: _not_found,
        UnreadableError: _unreadable,
        ClientGoneError: _gone,
        ClientDisconnect: _disconnected,
        Exception: _broken,
    }
    app = Starlette(routes=routes, exception_handlers=handlers)
    app.router.redirect_slashes = False
    app.state.server = state
    return Edge(app, state)


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, ApiError)
    body = error_body(error)
    if isinstance(error, ThrownError):
        request.app.state.server.warn(f"got exception: {write_json(body)}")
    return json_reply(body, error.status)


async def _not_found(_: Request, error: Exception) -> Response:
    """Unknown paths, and known ones with another method."""
    return json_reply(outer_error("File Not Found", "not_found_error"), 404)


async def _unreadable(request: Request, error: Exception) -> Response:
    assert isinstance(error, UnreadableError)
    if not error.why:
        return Response(status_code=error.status)
    request.app.state.server.warn(f"got exception: {error.why}", "E")
    return Response(error.why, error.status, {"Content-Type": "text/plain"})


async def _gone(_: Request, error: Exception) -> Response:
    """A client that has closed its side may still read."""
    return Response(media_type=JSON)


async def _disconnected(_: Request, error: Exception) -> Response:
    """Nobody reads this."""
    return Response(status_code=400)


async def _broken(request: Request, error: Exception) -> Response:
    return await _refused(request, ThrownError(f"{type(error).__name__}: {error}", "server_error"))
