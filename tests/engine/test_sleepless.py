"""The clock of what is watched elsewhere goes on while this machine sleeps."""

from __future__ import annotations

import sys
import time

import pytest

from slotview.engine.sleepless import sleepless
from slotview.tui.cli.attach import AttachOptions, _backends


@pytest.mark.skipif(sys.platform != "linux", reason="names the clock of Linux")
def test_data_are_as_old_as_they_are_on_a_machine_that_has_slept(monkeypatch: pytest.MonkeyPatch) -> None:
    slept = 3600.0
    monkeypatch.setattr(time, "clock_gettime", lambda clock: time.monotonic() + slept * (clock == time.CLOCK_BOOTTIME))
    assert sleepless() - time.monotonic() == pytest.approx(slept, abs=1)
    ((_, backend),) = _backends(["http://127.0.0.1:1"], AttachOptions(), None)
    assert backend.latest().time - time.monotonic() == pytest.approx(slept, abs=1)
