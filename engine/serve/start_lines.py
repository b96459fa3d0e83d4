"""What llama-server logs about prompts, templates and debugging once the slots are there (spec §1.4, §5.3)."""

from __future__ import annotations

from collections.abc import Iterator

from ..flags import EngineFlags
from ..model.chat.caps import read_caps
from ..model.chat.thoughts import read_thought_tags

__all__ = ["start_lines"]

LOAD, INIT = "srv    load_model: ", "srv          init: "
KEEPS = "chat template supports preserving reasoning"
Lines = Iterator[tuple[str, str]]


def start_lines(flags: EngineFlags, template: str, *, unified: bool) -> Lines:
    """Level and text of each line; ``template``: the chat template in use."""
    for name, value in flags.debug.items():
        yield "W", f"{LOAD}{name} = {value}"
    yield from _of_the_store(flags, unified=unified)
    yield "T", f"{INIT}init: chat template, thinking = {int(_thinks(flags, template))}"
    yield from _of_thoughts(flags.http.reasoning_preserve, is_known=read_caps(template).supports_preserve_reasoning)


def _of_the_store(flags: EngineFlags, *, unified: bool) -> Lines:
    """The prompt store, and what becomes of idle slots."""
    if flags.cache_ram == 0:
        yield "T", f"{LOAD}prompt cache is disabled - use `--cache-ram N` to enable it"
        if flags.cache_idle_slots:
            yield "W", f"{INIT}--cache-idle-slots requires --cache-ram, disabling"
        return
    limit = "no limit" if flags.cache_ram < 0 else f"{flags.cache_ram} MiB"
    yield "T", f"{LOAD}prompt cache is enabled, size limit: {limit}"
    yield "T", f"{LOAD}use `--cache-ram 0` to disable the prompt cache"
    if flags.cache_idle_slots:
        what = "saved to prompt cache and cleared" if unified else "saved to prompt cache"
        yield "T", f"{INIT}idle slots will be {what} upon starting a new task"


def _thinks(flags: EngineFlags, template: str) -> bool:
    return flags.http.reasoning is not False and read_thought_tags(template) is not None


def _of_thoughts(preserve: bool | None, *, is_known: bool) -> Lines:
    """Whether the thoughts of earlier answers are kept; ``preserve`` None = the command line says nothing."""
    keeps = preserve is not False
    yield "T", f"{INIT}preserve_reasoning kwarg: {str(keeps).lower() if is_known else 'not supported by template'}"
    if is_known and preserve is None:
        how = "(may use more tokens, disable via --no-reasoning-preserve)"
        yield "W", f"{INIT}{KEEPS}, it is enabled by default {how}"
    elif is_known and not keeps:
        yield "I", f"{INIT}{KEEPS}, consider enabling it via --reasoning-preserve"
    elif not is_known and preserve:
        yield "W", f"{INIT}chat template does NOT support preserving reasoning, --reasoning-preserve has no effect"
