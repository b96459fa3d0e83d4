"""What other launch flags would do to a server elsewhere, and the command line that starts it with them."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from itertools import pairwise

from msgspec.structs import replace

from ..backend import RetunePreview
from ..context import ContextError, LaunchFlags, ModelFacts, plan_context
from ..context.preview import planned
from ..snapshot import EndpointState, Snapshot
from .http.address import Address
from .knowledge.endpoint import Route
from .knowledge.known import Known
from .read.values import as_int

__all__ = ["command_line", "flags_of", "known_flags", "preview", "total_context"]

_ENDLESS = 2**31 - 1
_LOST = "a restart ends every running and waiting request and empties all caches"
_OLDER = "sizes as of December 2025; this server is older: one slot without -np, another -c, perhaps no -kvu"


def flags_of(known: Known) -> LaunchFlags | None:
    """The launch flags that a router reports for the chosen model's server; None if nothing reports them."""
    words = known.entry.args if known.entry is not None else ()
    return _read_words(words) if words else None


def _read_words(words: Sequence[str]) -> LaunchFlags:
    """Read the flags that matter here from a full command line."""
    following = dict(pairwise(words))

    def number(*names: str) -> int | None:
        return next((as_int(following[name]) for name in names if name in following), None)

    parallel = number("-np", "--parallel")
    return LaunchFlags(
        ctx_size=number("-c", "--ctx-size"),
        parallel=-1 if parallel is None else parallel,
        kv_unified=any(word in ("-kvu", "--kv-unified") for word in words),
    )


def total_context(flags: LaunchFlags, n_ctx_train: int | None) -> int | None:
    """The total of ``-c`` after rounding; None if it depends on a model that is not known."""
    if not flags.ctx_size and n_ctx_train is None:
        return None
    try:
        return plan_context(flags, ModelFacts(n_ctx_train or _ENDLESS)).n_ctx
    except ContextError:
        return None


def known_flags(known: Known, snapshot: Snapshot) -> LaunchFlags:
    """The flags as far as known: what a router reports, else the number of slots alone."""
    told = flags_of(known)
    if told is not None:
        return told
    return LaunchFlags(parallel=snapshot.facts.n_slots or -1)


def preview(
    flags: LaunchFlags,
    snapshot: Snapshot,
    address: Address,
    facts: ModelFacts | None,
    *,
    has_key: bool,
    is_older: bool = False,
) -> RetunePreview:
    """Compute what the flags amount to; sizes in bytes only with ``facts`` from the model file.

    ``is_older``: the server is of a build before December 2025, whose defaults were others.
    """
    model = facts or _told(snapshot)
    result = RetunePreview(
        flags=flags,
        notes=(
            *([_OLDER] if is_older else []),
            _LOST,
            "add the other flags the server was started with; no endpoint reports them",
        ),
        unknown=tuple(_unknown(flags, snapshot, model, facts)),
        command=command_line(flags, snapshot, address, has_key=has_key),
    )
    if model is None and not flags.ctx_size:
        return replace(result, n_slots=flags.n_slots, unified=flags.is_unified)
    try:
        plan = plan_context(flags, model or ModelFacts(n_ctx_train=_ENDLESS))
    except ContextError as error:
        return replace(result, error=str(error), command=None)
    return planned(result, plan, traced=True)


def _told(snapshot: Snapshot) -> ModelFacts | None:
    trained = snapshot.facts.n_ctx_train
    return None if trained is None else ModelFacts(n_ctx_train=trained)


def _unknown(flags: LaunchFlags, snapshot: Snapshot, model: ModelFacts | None, facts: ModelFacts | None) -> list[str]:
    """What no endpoint reported, so that the numbers may be wrong about it."""
    unknown = []
    if snapshot.facts.n_ctx is None:
        unknown.append("the present -c")
    if snapshot.facts.unified is None:
        unknown.append("whether the present pool is unified, and its size")
    if model is None:
        unknown.append("the context the model was trained on")
    if flags.ctx_size is None and facts is None:
        unknown.append("whether --fit shrinks the context to the memory")
    if facts is None or facts.shape is None:
        unknown.append("KV bytes (give the model file with --model FILE)")
    return unknown


def command_line(flags: LaunchFlags, snapshot: Snapshot, address: Address, *, has_key: bool) -> str:
    """A command to copy. It never contains a key, only the variable that holds one."""
    facts = snapshot.facts
    words = ["llama-server", "-m", facts.model_path or "MODEL.gguf", *flags.arguments()]
    if address.socket:
        words += ["--host", address.socket]
    else:
        words += ["--host", address.host, "--port", str(address.port or 80)]
    if address.prefix:
        words += ["--api-prefix", address.prefix]
    metrics = facts.endpoints.get(Route.METRICS)
    if metrics is not None and metrics.state is EndpointState.OK:
        words.append("--metrics")
    text = " ".join(map(shlex.quote, words))
    return text + ' --api-key "$LLAMA_API_KEY"' if has_key else text
