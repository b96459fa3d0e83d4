"""A child's command line: the flags about slots and context, which a retune changes, and all the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..backend import BackendError
from ..context import LaunchFlags
from ..flags import FlagError, parse_flags
from ..flags.flag import Kind
from ..flags.table import FLAGS

__all__ = ["address_of", "model_path", "option", "split_arguments", "url_of", "without_launch"]

LEFT_AS_THEY_ARE = ("launch.fit_ctx", "launch.fit_target")
"""No retune changes them, and llama-server takes more forms of them, such as a target for each device."""
LAUNCH = {
    name: flag
    for flag in FLAGS
    if flag.field.startswith("launch.") and flag.field not in LEFT_AS_THEY_ARE
    for name in (*flag.names, *flag.negative)
}
VARIABLES = frozenset(
    name for flag in LAUNCH.values() for name in (flag.env, flag.env.replace("LLAMA_ARG_", "LLAMA_ARG_NO_"))
)
MODEL_NAMES = ("-m", "--model")
EVERYWHERE = ("0.0.0.0", "::")
"""Hosts that stand for all addresses of this machine."""


def split_arguments(words: Sequence[str], environ: Mapping[str, str]) -> tuple[LaunchFlags, list[str]]:
    """Separate the launch flags, also those in the environment, from the other words of a command line.

    Raises `BackendError` if a flag is invalid.
    """
    launch: list[str] = []
    others: list[str] = []
    rest = list(words)
    while rest:
        word = rest.pop(0)
        flag = LAUNCH.get(word.partition("=")[0].replace("_", "-"))
        if flag is None:
            others.append(word)
            continue
        launch.append(word)
        if flag.kind is not Kind.SWITCH and "=" not in word and rest:
            launch.append(rest.pop(0))
    try:
        return parse_flags(launch, {name: environ[name] for name in VARIABLES & environ.keys()}).launch, others
    except FlagError as error:
        raise BackendError(str(error)) from None


def without_launch(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment of a child whose command line holds all launch flags: a variable left in it would bring back
    what a retune has set to its default.
    """
    return {name: value for name, value in environ.items() if name not in VARIABLES}


def model_path(words: Sequence[str], environ: Mapping[str, str]) -> str | None:
    """The model file that a command line or the environment names."""
    return option(words, *MODEL_NAMES) or environ.get("LLAMA_ARG_MODEL")


def option(words: Sequence[str], *names: str) -> str | None:
    """The value of an option in a command line; the last one counts, as it does for llama-server."""
    found = None
    for place, word in enumerate(words):
        name, equals, value = word.partition("=")
        if name.replace("_", "-") in names:
            found = value if equals else next(iter(words[place + 1 : place + 2]), None)
    return found


def address_of(words: Sequence[str], environ: Mapping[str, str]) -> tuple[str, int | None]:
    """Host, or several, and port that a server is to listen on; port None = any free one. Raises `BackendError`."""
    host = option(words, "--host") or environ.get("LLAMA_ARG_HOST") or "127.0.0.1"
    if _reachable(host) is None:
        raise BackendError(f"--host {host}: a socket file cannot be watched; name an address, or leave it out")
    port = option(words, "--port") or environ.get("LLAMA_ARG_PORT") or "0"
    if not (port.isascii() and port.isdecimal() and int(port) < 65536):
        raise BackendError(f"--port {port}: a number from 1 to 65535 is needed")
    return host, int(port) or None


def _reachable(hosts: str) -> str | None:
    """The first address of a list that is no socket file."""
    return next((host for host in map(str.strip, hosts.split(",")) if host and not host.endswith(".sock")), None)


def url_of(words: Sequence[str], environ: Mapping[str, str], port: int) -> str:
    """The URL at which a server with this command line can be reached from here."""
    host = _reachable(address_of(words, environ)[0]) or "127.0.0.1"
    host = "127.0.0.1" if host in EVERYWHERE else f"[{host}]" if ":" in host else host
    secure = option(words, "--ssl-cert-file") or environ.get("LLAMA_ARG_SSL_CERT_FILE")
    prefix = option(words, "--api-prefix") or environ.get("LLAMA_ARG_API_PREFIX") or ""
    return f"http{'s' if secure else ''}://{host}:{port}{prefix}"
