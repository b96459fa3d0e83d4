"""Reads from a llama-server's log what HTTP does not report: the pool's mode, choices, shifts, purges (spec §9)."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ..events import ContextShifted, Event, HowChosen, LogLine, PoolFull, Purged, SlotChosen
from .log_line import read_line

__all__ = ["ChildFacts", "LogReader"]

SLOT = re.compile(r"^slot +\S+: id +(\d+) \| task (-?\d+) \| (.*)$")
INITIALIZING = re.compile(r"initializing, n_slots = (\d+), n_ctx_slot = (\d+), kv_unified = '(true|false)'")
CONTEXT = re.compile(r"^llama_context: (n_ctx|n_ctx_seq|n_batch|n_ubatch) += (\d+)$")
KV_SIZE = re.compile(r"^llama_kv_cache: size = +([\d.]+) MiB .*K \((\w+)\).*V \((\w+)\)")
BY_LCP = re.compile(r"selected slot by LCP similarity, f_sim_best = ([\d.]+) .*f_keep = ([\d.]+)")
SHIFT = re.compile(r"slot context shift, n_keep = (\d+), n_left = (\d+), n_discard = (\d+)")
PURGE = re.compile(r"purging slot (\d+) with (\d+) tokens")
LAUNCHED = "processing task, is_child"
SPAWNED = re.compile(r"spawning server instance with name=(.+) on port (\d+)")
SHOWN_PREFIXES = ("srv ", "slot ", "que ", "res ")


class ChildFacts(Struct, frozen=True):
    """What the log has revealed; None = nothing yet. ``kv_bytes`` is rounded as in the log."""

    n_slots: int | None = None
    n_ctx_slot: int | None = None
    unified: bool | None = None
    n_ctx: int | None = None
    n_ctx_seq: int | None = None
    n_batch: int | None = None
    n_ubatch: int | None = None
    kv_bytes: int | None = None
    type_k: str | None = None
    type_v: str | None = None


class LogReader:
    """Reads lines one by one. ``now`` returns the time for events, in seconds of the watcher's clock; ``hide`` takes
    out of a line what must not be shown. ``model``: which of a router's models is watched.

    A router passes on what the servers of its models say; only the one that is watched counts.
    """

    def __init__(self, now: Callable[[], float], hide: Callable[[str], str] = str, model: str | None = None) -> None:
        self.model = model
        self._now = now
        self._hide = hide
        self._facts: dict[str | None, ChildFacts] = {}
        self._ports: dict[str, str] = {}
        self._chosen: dict[int, tuple[HowChosen, float | None, float | None]] = {}

    @property
    def facts(self) -> ChildFacts:
        """What is known of the server that is watched."""
        return self._facts.get(self._port, ChildFacts())

    @property
    def _port(self) -> str | None:
        return self._ports.get(self.model or "")

    def read(self, line: str) -> list[Event]:
        """Read a line and return what happened, including the line itself if it is worth showing."""
        level, text, port = read_line(line)
        self._learn(text, port)
        events = self._happened(text) if port == self._port else []
        if level in (None, "W", "E") or text.startswith(SHOWN_PREFIXES):
            source = f"[{port}] " if port else ""
            events += [LogLine(self._now(), level or "", source + part) for part in self._hide(text).split("\n")]
        return events

    def _happened(self, text: str) -> list[Event]:
        slot = SLOT.match(text)
        return self._slot_line(int(slot[1]), int(slot[2]), slot[3]) if slot else self._server_line(text)

    def _slot_line(self, slot: int, task: int, text: str) -> list[Event]:
        if text.startswith("selected slot by"):
            by_content = BY_LCP.search(text)
            how: HowChosen = "lcp" if by_content else ("id" if " by id" in text else "lru")
            self._chosen[slot] = (how, *(map(float, by_content.groups()) if by_content else (None, None)))
        elif text.startswith(LAUNCHED) and slot in self._chosen:
            how, similarity, keep = self._chosen.pop(slot)
            return [SlotChosen(self._now(), slot, task, how, similarity, keep)]
        elif shift := SHIFT.search(text):
            return [ContextShifted(self._now(), slot, task, *map(int, shift.groups()))]
        return []

    def _server_line(self, text: str) -> list[Event]:
        if purge := PURGE.search(text):
            return [Purged(self._now(), int(purge[1]), int(purge[2]))]
        if "decode() failed: Context size has been exceeded" in text:
            return [PoolFull(self._now(), 0)]
        return []

    def _learn(self, text: str, port: str | None) -> None:
        """Take facts from a line of the server at this port, or of the child itself."""
        told: dict[str, Any] = {}
        if start := INITIALIZING.search(text):
            told = {"n_slots": int(start[1]), "n_ctx_slot": int(start[2]), "unified": start[3] == "true"}
        elif context := CONTEXT.match(text):
            told = {context[1]: int(context[2])}
        elif size := KV_SIZE.match(text):
            told = {"kv_bytes": round(float(size[1]) * 2**20), "type_k": size[2], "type_v": size[3]}
        elif spawned := SPAWNED.search(text):
            self._ports[spawned[1]] = spawned[2]
        if told:
            self._facts[port] = replace(self._facts.get(port, ChildFacts()), **told)
