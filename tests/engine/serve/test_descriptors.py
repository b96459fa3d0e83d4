"""More connections than the process may have open."""

from __future__ import annotations

import io
import socket

import pytest

from slotview.engine.flags import parse_flags
from slotview.engine.serve.printer import LogPrinter

from .face import Face, until

resource = pytest.importorskip("resource")


def test_too_many_connections_are_a_line_in_the_log_and_the_server_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    shown = io.StringIO()
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    with Face("-np 1") as face:
        face.state.log = LogPrinter(parse_flags([]), 0, shown)
        links = [socket.socket() for _ in range(20)]
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (max(link.fileno() for link in links) + 1, limits[1]))
            for link in links:
                link.connect(("127.0.0.1", face.port))
            until(shown.getvalue)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, limits)
            for link in links:
                link.close()
        assert face.ask("/health").status == 200
    assert shown.getvalue().count("\n") == 1
    assert "Too many open files" in shown.getvalue()
    assert not caplog.records
