"""llama-server's command line and environment, read into frozen options (spec §1). No NumPy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from .context import LaunchFlags
from .flag_table import FLAGS, REFUSED, REFUSED_VARIABLES, Flag, Kind
from .flag_values import FALSE_WORDS, FlagError, boolean, converted
from .flag_words import unescaped
from .model.sampling_params import SamplingParams

__all__ = ["EngineFlags", "FlagError", "HttpFlags", "parse_flags"]

EVERYTHING, NOTHING = 2**31 - 1, -1  # verbosities


@dataclass(frozen=True, slots=True)
class HttpFlags:
    """Flags of the HTTP side (spec §1.4). ``timeout`` and ``sse_ping_interval`` in seconds."""

    host: str = "127.0.0.1"
    port: int = 8080
    api_prefix: str = ""
    alias: str = ""
    slots: bool = True
    metrics: bool = False
    props: bool = False
    slot_save_path: str = ""
    api_keys: tuple[str, ...] = field(default=(), repr=False)
    api_key_file: str = ""
    timeout: int = 3600
    sse_ping_interval: int = 30
    chat_template: str = ""
    chat_template_kwargs: Mapping[str, object] = field(default_factory=dict)
    reasoning: bool | None = None
    reasoning_effort: str = ""
    reasoning_format: str = "deepseek"
    reasoning_preserve: bool = True
    prefill_assistant: bool = True
    tags: str = ""
    cors_origins: str = "*"
    cors_methods: str = "GET, POST, DELETE, OPTIONS"
    cors_headers: str = "*"
    cors_credentials: bool = True


@dataclass(frozen=True, slots=True)
class EngineFlags:
    """Everything the engine can be started with. ``warnings``: lines to print before it starts."""

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
    batching: str = "continuous"
    pace: str = ""
    slots_debug: bool = False
    warnings: tuple[str, ...] = ()


def parse_flags(words: Sequence[str], environ: Mapping[str, str] | None = None) -> EngineFlags:
    """Read a command line after the environment (spec §1.1). Raises `FlagError` with one line.

    ``environ`` None = ignore environment variables; pass `os.environ` when a program starts.
    """
    values: dict[str, object] = {}
    warnings: list[str] = []
    environ = {} if environ is None else environ
    from_environment = _read_environment(environ, values)
    seen: set[str] = set()
    rest = list(words)
    while rest:
        _read_option(rest, values, seen, from_environment, warnings)
    flags = _assemble(values)
    debug = environ.get("LLAMA_SERVER_SLOTS_DEBUG", "")
    return replace(flags, warnings=tuple(warnings), slots_debug=debug.strip() not in ("", "0"))


def _read_environment(environ: Mapping[str, str], values: dict[str, object]) -> dict[str, str]:
    """Take values from the environment; returns which variable each field came from."""
    found: dict[str, str] = {}
    for name in sorted(REFUSED_VARIABLES.keys() & environ.keys()):
        if environ[name] not in ("", *FALSE_WORDS):
            raise FlagError(f"error: environment variable {name} is not possible here: {REFUSED_VARIABLES[name]}")
    for flag in FLAGS:
        if not flag.env:
            continue
        if flag.kind is Kind.SWITCH and (negative := flag.env.replace("LLAMA_ARG_", "LLAMA_ARG_NO_")) in environ:
            values[flag.field], found[flag.field] = False, negative
        elif flag.env in environ:
            text = environ[flag.env]
            try:
                value: object = boolean(text) if flag.kind is Kind.SWITCH else converted(flag, text)
            except FlagError as error:
                raise FlagError(f'error while handling environment variable "{flag.env}": {error}') from None
            values[flag.field], found[flag.field] = value, flag.env
    return found


def _read_option(
    rest: list[str], values: dict[str, object], seen: set[str], environment: dict[str, str], warnings: list[str]
) -> None:
    """Take one option and its value from the front of ``rest``."""
    word = rest.pop(0)
    name, equals, attached = word.partition("=")
    name = name[:2] + name[2:].replace("_", "-") if name.startswith("--") else name
    if name in REFUSED:
        raise FlagError(f"error: {name} is not possible here: {REFUSED[name]}")
    flag = BY_NAME.get(name)
    if flag is None:
        raise FlagError(f"error: invalid argument: {word}")
    if flag.kind is Kind.SWITCH:
        if equals:
            raise FlagError(f'error while handling argument "{name}": error: it takes no value')
        values[flag.field] = name not in flag.negative
    else:
        if not equals and not rest:
            raise FlagError(f'error while handling argument "{name}": error: expected value for argument')
        text = attached if equals else rest.pop(0)
        _store(flag, name, text, values, append=flag.names[0] in seen)
    if flag.field in environment:
        warnings.append(
            f"warn: {environment[flag.field]} environment variable is set, but will be overwritten by command line"
            f" argument {name}"
        )
    elif flag.names[0] in seen and flag.kind not in (Kind.LIST, Kind.WORDS, Kind.SWITCH):
        warnings.append(
            f"DEPRECATED: argument '{name}' specified multiple times, use comma-separated values instead"
            " (only last value will be used)"
        )
    if flag.warning:
        warnings.append(f"warn: {name}: {flag.warning}")
    seen.add(flag.names[0])


def _store(flag: Flag, name: str, text: str, values: dict[str, object], *, append: bool) -> None:
    try:
        value = converted(flag, text)
    except FlagError as error:
        raise FlagError(f'error while handling argument "{name}": error: {error}') from None
    if flag.kind in (Kind.LIST, Kind.WORDS) and append:
        before = values[flag.field]
        assert isinstance(before, tuple)
        assert isinstance(value, tuple)
        value = (*before, *value)
    values[flag.field] = value


def _assemble(values: dict[str, object]) -> EngineFlags:
    """Sort values into the frozen groups by the field's prefix."""
    _settle(values)
    groups: dict[str, dict[str, object]] = {"launch": {}, "http": {}, "sampling": {}, "": {}}
    for name, value in values.items():
        group, dot, short = name.partition(".")
        if name.startswith("ignored."):
            continue
        groups[group if dot else ""][short if dot else name] = value
    return EngineFlags(
        launch=LaunchFlags(**groups["launch"]),  # type: ignore[arg-type]
        http=HttpFlags(**groups["http"]),  # type: ignore[arg-type]
        sampling=SamplingParams(**groups["sampling"]),  # type: ignore[arg-type]
        **groups[""],  # type: ignore[arg-type]
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


BY_NAME = {name: flag for flag in FLAGS for name in (*flag.names, *flag.negative)}
