"""GET /models of a server, a router or llama-swap, and llama-swap's /running."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from .values import as_count, as_map, as_text

__all__ = ["AT_PEER", "FAILED", "ModelEntry", "merged", "read_models", "read_running"]

FAILED = "failed"
"""The state of a model whose server ended by itself, or did not start."""

AT_PEER = "at a peer"
"""The state of a model that llama-swap only passes requests on for: it has no path to its slots."""

_NEVER_RAN = 10  # as builds of about May 2026 tell of every model that was not loaded yet (measured with b9093)


class ModelEntry(Struct, frozen=True):
    """One model. ``state`` is the router's word; ``args`` the command line of its server, if reported.

    ``name`` is fit to be shown; ``spelled`` is the router's own spelling, if it differs. The model answers to its
    ``aliases``, too.
    """

    name: str
    state: str = ""
    args: tuple[str, ...] = ()
    n_params: int | None = None
    n_ctx_train: int | None = None
    spelled: str = ""
    aliases: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """What to ask the router for."""
        return self.spelled or self.name

    def is_called(self, name: str | None) -> bool:
        """Whether the model goes by this name."""
        return name in (self.name, self.id, *self.aliases)


def read_models(answer: object) -> tuple[ModelEntry, ...] | None:
    """Read ``data`` (or ``models``); None if it is not a list of models."""
    fields = as_map(answer)
    rows = next((fields[key] for key in ("data", "models") if isinstance(fields.get(key), list)), None)
    return None if rows is None else tuple(_entries(rows))


def _entries(rows: list[Any]) -> Iterable[ModelEntry]:
    for row in map(as_map, rows):
        aliases = _words(row.get("aliases"))
        names = row.get("id"), row.get("name"), row.get("model"), *aliases
        told = next(filter(as_text, names), None)
        if name := as_text(told):
            meta = as_map(row.get("meta"))
            status = row.get("status")
            yield ModelEntry(
                name=name,
                state=AT_PEER if "peerID" in as_map(meta.get("llamaswap")) else _state(status),
                args=_words(as_map(status).get("args")),
                n_params=as_count(meta.get("n_params")) or None,
                n_ctx_train=as_count(meta.get("n_ctx_train")) or None,
                spelled=str(told) if told != name else "",
                aliases=aliases,
            )


def _state(status: object) -> str:
    """A router's word, or `FAILED`."""
    fields: Mapping[str, Any] = as_map(status)
    if fields.get("failed") is True and fields.get("exit_code") != _NEVER_RAN:
        return FAILED
    return as_text(fields.get("value"), 40) or as_text(status, 40) or ""


def _words(args: object) -> tuple[str, ...]:
    return tuple(word for word in args if isinstance(word, str)) if isinstance(args, list) else ()


def read_running(answer: object) -> tuple[ModelEntry, ...] | None:
    """Read llama-swap's list of running models; None if it is not one."""
    rows = as_map(answer).get("running", False)
    rows = [] if rows is None else rows
    if not isinstance(rows, list):
        return None
    return tuple(_running(rows))


def _running(rows: list[Any]) -> Iterable[ModelEntry]:
    for row in map(as_map, rows):
        told = row.get("model")
        name = as_text(told)
        if name:
            yield ModelEntry(name, as_text(row.get("state"), 40) or "", spelled=str(told) if told != name else "")


def merged(leading: tuple[ModelEntry, ...], others: tuple[ModelEntry, ...]) -> tuple[ModelEntry, ...]:
    """Merge the lists of llama-swap, one of running models and one of all; where both name one, ``leading`` holds."""
    names = {entry.name for entry in leading}
    return leading + tuple(
        replace(entry, state=AT_PEER if entry.state == AT_PEER else "stopped")
        for entry in others
        if entry.name not in names
    )
