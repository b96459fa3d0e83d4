"""llama-server's command line and environment, read into frozen options (spec §1). No NumPy."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from ..context import LaunchFlags
from ..model.sampling_params import SamplingParams
from ..pace import PROFILES, DeviceProfile, profile
from .reader import FlagReader
from .values import FlagError
from .words import unescaped

__all__ = ["EngineFlags", "FlagError", "HttpFlags", "parse_flags"]

EVERYTHING, NOTHING = 2**31 - 1, -1  # verbosities
DEBUG = ("LLAMA_TRACE", "LLAMA_SERVER_SLOTS_DEBUG", "LLAMA_SERVER_SLOTS_N_DIFF")  # variables that have no flag


class HttpFlags(Struct, frozen=True):
    """Flags of the HTTP side (spec §1.4). ``timeout`` and ``sse_ping_interval`` in seconds."""

    hosts: tuple[str, ...] = ("127.0.0.1",)
    port: int = 8080
    api_prefix: str = ""
    aliases: tuple[str, ...] = ()
    slots: bool = True
    metrics: bool = False
    props: bool = False
    slot_save_path: str = ""
    api_keys: tuple[str, ...] = ()
    api_key_file: str | None = None
    timeout: int = 3600
    sse_ping_interval: int = 30
    chat_template: str = ""
    chat_template_kwargs: Mapping[str, object] = field(default_factory=dict)
    reasoning: bool | None = None
    reasoning_effort: str = ""
    reasoning_format: str = "deepseek"
    reasoning_preserve: bool | None = None
    prefill_assistant: bool = True
    tags: tuple[str, ...] = ()
    cors_origins: str = "*"
    cors_methods: str = "GET, POST, DELETE, OPTIONS"
    cors_headers: str = "*"
    cors_credentials: bool = True

    def __repr__(self) -> str:
        return "HttpFlags(***)"  # keys are among them


class EngineFlags(Struct, frozen=True):
    """Everything the engine can be started with. ``warnings``: lines to print before it starts.

    ``profiles``: what ``pace`` can name. ``debug``: the variables of `DEBUG` that are set and not 0.
    """

    model: str = ""
    launch: LaunchFlags = field(default_factory=LaunchFlags)
    http: HttpFlags = field(default_factory=HttpFlags)
    sampling: SamplingParams = field(default_factory=SamplingParams)
    n_predict: int = -1
    n_keep: int = 0
    cont_batching: bool = True
    context_shift: bool = False
    reverse_prompt: tuple[str, ...] = ()
    special: bool = False
    slot_prompt_similarity: float = 0.1
    cache_prompt: bool = True
    cache_reuse: int = 0
    cache_ram: int = 8192
    cache_idle_slots: bool = True
    threads: int = -1
    verbosity: int = 3
    log_prefix: bool = True
    log_timestamps: bool = True
    log_jsonl: bool = False
    log_file: str = ""
    warmup: bool = True
    batching: str = "continuous"
    pace: str = ""
    profiles: Mapping[str, DeviceProfile] = PROFILES
    debug: Mapping[str, int] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    @property
    def device(self) -> DeviceProfile | None:
        """The profile that ``pace`` names, None = off. Raises `UnknownProfileError`."""
        return profile(self.pace, self.profiles)


def parse_flags(words: Sequence[str], environ: Mapping[str, str] | None = None) -> EngineFlags:
    """Read a command line after the environment (spec §1.1). Raises `FlagError` with one line.

    ``environ`` None = ignore environment variables; pass `os.environ` when a program starts.
    """
    environ = {} if environ is None else environ
    reader = FlagReader()
    reader.read_environment(environ)
    rest = list(words)
    while rest:
        reader.read_option(rest)
    flags = _assemble(reader.values)
    debug = {name: value for name in DEBUG if (value := _leading_integer(environ.get(name, "")))}
    return replace(flags, warnings=tuple(reader.warnings), debug=debug)


def _leading_integer(text: str) -> int:
    found = re.match(r"\s*[+-]?[0-9]{1,9}", text)
    return int(found[0]) if found else 0


def _assemble(values: dict[str, object]) -> EngineFlags:
    """Sort values into the frozen groups by the field's prefix; the table of flags sees to their types."""
    _settle(values)
    groups: dict[str, dict[str, Any]] = {"launch": {}, "http": {}, "sampling": {}, "": {}, "ignored": {}}
    for name, value in values.items():
        group, dot, short = name.partition(".")
        groups[group if dot else ""][short if dot else name] = value
    return EngineFlags(
        launch=LaunchFlags(**groups["launch"]),
        http=HttpFlags(**groups["http"]),
        sampling=SamplingParams(**groups["sampling"]),
        **groups[""],
    )


def _settle(values: dict[str, object]) -> None:
    """Combine what several flags say together."""
    if values.pop("verbose", False):
        values["verbosity"] = EVERYTHING
    if values.pop("log_disable", False):
        values["verbosity"] = NOTHING
    means_characters = values.pop("escape", True)
    for name in ("reverse_prompt", "sampling.dry_sequence_breakers"):
        words = values.get(name)
        if isinstance(words, tuple) and means_characters:
            values[name] = tuple(unescaped(word) for word in words)
    breakers = values.get("sampling.dry_sequence_breakers")
    if isinstance(breakers, tuple) and "none" in breakers:
        last = len(breakers) - breakers[::-1].index("none")
        values["sampling.dry_sequence_breakers"] = breakers[last:]
