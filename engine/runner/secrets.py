"""Secrets on a child's command line and in its environment: the key that we need, and what no text may show."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

from ..flags.key_file import keys_in
from .arguments import option

__all__ = ["api_key_of", "command_to_copy", "secrets_of"]

VARIABLES = {"--api-key": "LLAMA_API_KEY", "--hf-token": "HF_TOKEN", "-hft": "HF_TOKEN"}


def api_key_of(words: Sequence[str], environ: Mapping[str, str]) -> str | None:
    """The first of its API keys, which we need to watch it."""
    return next(_api_keys(words, environ), None)


def _api_keys(words: Sequence[str], environ: Mapping[str, str]) -> Iterator[str]:
    told = option(words, "--api-key") or environ.get("LLAMA_API_KEY") or ""
    yield from filter(None, told.split(","))
    path = option(words, "--api-key-file") or environ.get("LLAMA_ARG_API_KEY_FILE")
    with suppress(OSError, UnicodeError):
        yield from keys_in(path) if path else ()


def secrets_of(words: Sequence[str], environ: Mapping[str, str]) -> Iterator[str]:
    """All that no text may show: a script around the server may print its command line."""
    yield from _api_keys(words, environ)
    yield from filter(None, (option(words, "--hf-token", "-hft"), environ.get("HF_TOKEN")))


def command_to_copy(words: Sequence[str]) -> str:
    """The command line for a shell, with secrets replaced by the variables that may hold them."""
    shown: list[str] = []
    rest = iter(words)
    for word in rest:
        name, equals, _ = word.partition("=")
        variable = VARIABLES.get(name.replace("_", "-"))
        if variable is None:
            shown.append(shlex.quote(word))
            continue
        if not equals:
            next(rest, None)
        shown += [name, f'"${variable}"']
    return " ".join(shown)
