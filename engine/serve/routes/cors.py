"""Which pages of other origins may ask (spec §7.1): ``--cors-origins`` and its kin."""

from __future__ import annotations

from urllib.parse import urlsplit

from slotview.engine.flags import HttpFlags

__all__ = ["allowed_origin", "is_skipped", "preflight"]

LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1")


def allowed_origin(flags: HttpFlags, origin: str) -> str | None:
    """The value of ``Access-Control-Allow-Origin``; None = no such header."""
    if flags.cors_origins == "localhost":
        return origin if _host(origin) in LOCAL_HOSTS else None
    if flags.cors_origins == "*" and flags.cors_credentials:
        return origin  # a browser takes no * together with credentials
    return flags.cors_origins


def is_skipped(flags: HttpFlags, origin: str) -> bool:
    """Whether an origin gets no header because it is not of this machine."""
    return bool(origin) and allowed_origin(flags, origin) is None


def _host(origin: str) -> str | None:
    try:
        return urlsplit(origin).hostname
    except ValueError:
        return None


def preflight(flags: HttpFlags) -> dict[str, str]:
    """The headers of an answer to OPTIONS."""
    return {
        "Content-Type": "text/html",
        "Access-Control-Allow-Credentials": "true" if flags.cors_credentials else "false",
        "Access-Control-Allow-Methods": flags.cors_methods,
        "Access-Control-Allow-Headers": flags.cors_headers,
    }
