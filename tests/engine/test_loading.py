"""From flags to a loaded model."""

from __future__ import annotations

import gc
import threading

import pytest
from msgspec.structs import replace

from slotview.engine.embedded import loading
from slotview.engine.flags import parse_flags
from slotview.engine.model import load


@pytest.mark.parametrize(("line", "helpers"), [("-t 1", 0), ("-t 3", 2), ("--threads 100", 3)])
def test_as_many_threads_compute_as_asked_for_and_not_more_than_there_are_cores(
    monkeypatch: pytest.MonkeyPatch, line: str, helpers: int
) -> None:
    monkeypatch.setattr(load, "usable_cores", lambda: 4)
    gc.collect()
    before = set(threading.enumerate())
    model = loading.load(parse_flags(line.split()))
    added = [one for one in set(threading.enumerate()) - before if one.name == "slotview-model"]
    assert len(added) == helpers
    assert model.n_vocab == 1024


def test_a_file_that_is_only_looked_at_has_the_facts_of_a_loaded_model() -> None:
    flags = parse_flags([])
    loaded = loading.model_facts(loading.load(flags), flags.launch)
    assert loading.facts_of_file(str(loading.bundled_model())) == replace(loaded, compute_bytes=0)
