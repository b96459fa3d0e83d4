"""Plain JSON replies."""

from __future__ import annotations

from starlette.responses import Response

from .bodies.json_text import write_json

__all__ = ["JSON", "json_reply"]

JSON = "application/json; charset=utf-8"


def json_reply(value: object, status: int = 200) -> Response:
    """Compact JSON."""
    return Response(write_json(value), status, media_type=JSON)
