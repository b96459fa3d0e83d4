"""Plain JSON replies."""

from __future__ import annotations

from starlette.responses import Response

from .body import write_json

__all__ = ["json_reply"]


def json_reply(value: object, status: int = 200) -> Response:
    """Compact JSON with the server's content type."""
    return Response(write_json(value), status, media_type="application/json; charset=utf-8")
