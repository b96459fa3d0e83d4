"""Refusals in llama-server's error form (spec §7.1)."""

from __future__ import annotations

__all__ = [
    "KINDS",
    "ApiError",
    "ThrownError",
    "disabled",
    "error_body",
    "flag_wanted",
    "no_part",
    "not_supported",
    "outer_error",
]

KINDS = {
    "invalid_request_error": 400,
    "exceed_context_size_error": 400,
    "authentication_error": 401,
    "not_found_error": 404,
    "server_error": 500,
    "not_supported_error": 501,
    "unavailable_error": 503,
}


class ApiError(Exception):
    """A refusal with its status, type and message; ``extra`` keys follow inside the error object."""

    def __init__(self, message: str, kind: str = "invalid_request_error", extra: dict[str, int] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.kind = kind
        self.status = KINDS[kind]
        self.extra = extra or {}


class ThrownError(ApiError):
    """A refusal that leaves its handler as an exception, which the server's log tells (spec §9.2)."""


def error_body(error: ApiError) -> dict[str, object]:
    """The error object of a handler: code, message, type, and what else is known."""
    return {"error": {"code": error.status, "message": error.message, "type": error.kind, **error.extra}}


def outer_error(message: str, kind: str) -> dict[str, object]:
    """The error object of the layers around the handlers, whose keys stand in another order."""
    return {"error": {"message": message, "type": kind, "code": KINDS[kind]}}


def not_supported(what: str) -> ApiError:
    """A feature that is no part of a slot engine."""
    return ApiError(no_part(what), "not_supported_error")


def no_part(what: str) -> str:
    """Why there is no such feature."""
    return f"This server does not support {what}: it is a slot engine for text completions"


def disabled(what: str, flag: str) -> ApiError:
    """A feature that is off without a flag."""
    return ApiError(flag_wanted(what, flag), "not_supported_error")


def flag_wanted(what: str, flag: str) -> str:
    """Which flag switches a feature on."""
    return f"This server does not support {what}. Start it with `{flag}`"
