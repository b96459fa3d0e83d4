"""What a child's log adds to what it reports over HTTP."""

from __future__ import annotations

import pytest

from slotview.engine.context import LaunchFlags
from slotview.engine.runner.log_reader import ChildFacts
from slotview.engine.runner.view import completed
from slotview.engine.snapshot import ServerFacts, Snapshot

QUIET = ChildFacts(n_slots=2, n_ctx_slot=512, unified=False)
"""What the log tells without its trace lines."""


@pytest.mark.parametrize(
    ("told", "flags", "cells"),
    [
        (QUIET, LaunchFlags(ctx_size=1024, parallel=2), 1024),
        (ChildFacts(n_slots=4, n_ctx_slot=768, unified=True), LaunchFlags(), 768),
        (QUIET, LaunchFlags(kv_unified_per_slot=512, parallel=2), None),
        (ChildFacts(n_slots=2, n_ctx_slot=8192, unified=False), LaunchFlags(parallel=2), None),
        (ChildFacts(n_slots=2, n_ctx_slot=8192, unified=False, n_ctx=32768), LaunchFlags(parallel=2), 32768),
    ],
)
def test_without_trace_lines_the_pool_is_what_its_slots_hold_unless_they_are_limited(
    told: ChildFacts, flags: LaunchFlags, cells: int | None
) -> None:
    seen = completed(Snapshot(facts=ServerFacts(n_ctx_train=8192)), told, flags)
    assert seen.pool.cells == seen.facts.n_ctx == cells


def test_an_unknown_context_is_not_what_was_asked_for() -> None:
    seen = completed(Snapshot(), QUIET, LaunchFlags(ctx_size=1000, parallel=2))
    assert (seen.facts.n_ctx, seen.facts.n_ctx_asked) == (None, None)
    seen = completed(Snapshot(facts=ServerFacts(n_ctx_train=8192)), QUIET, LaunchFlags(ctx_size=1000, parallel=2))
    assert (seen.facts.n_ctx, seen.facts.n_ctx_asked) == (1024, 1000)
