"""Use slotview where what Windows or macOS has not is missing: ``python -m tests.without_unix SYSTEM URL``.

Libraries are loaded first, as they are made for the system that runs them. Then modules and functions that the other
system lacks are taken away, slotview is loaded, and both dashboards are used: the one on the embedded engine and the
one over the server at the URL. It fails where they do not show what they should.
"""

from __future__ import annotations

import asyncio
import importlib
import os
import signal
import socket
import sys
import sysconfig
import time

LIBRARIES = (
    "gguf httpx httpcore jinja2 msgspec multiprocessing numpy platformdirs plotext pydantic starlette.applications"
    " subprocess textual.app textual.drivers.headless_driver textual.drivers.linux_driver textual.widgets threadpoolctl"
    " tokenizers typer uvicorn"
)
UNIX_MODULES = "fcntl termios tty pty resource pwd grp posix readline syslog curses"
GONE: dict[str, dict[object, str]] = {
    "win32": {
        os: "fork forkpty killpg setsid getpgid getpgrp setpgid sysconf sched_getaffinity getuid geteuid getgid mkfifo"
        " openpty statvfs uname wait3 wait4 waitid WNOHANG tcsetpgrp posix_fallocate pread pwrite sendfile fchmod"
        " fchown chown register_at_fork pidfd_open getloadavg ctermid",
        signal: "SIGHUP SIGKILL SIGSTOP SIGUSR1 SIGUSR2 SIGTSTP SIGCONT SIGCHLD SIGPIPE SIGWINCH SIGQUIT SIGALRM"
        " SIGTTOU SIGTTIN pthread_sigmask alarm setitimer",
        socket: "AF_UNIX",
        time: "clock_gettime clock_gettime_ns CLOCK_MONOTONIC CLOCK_BOOTTIME CLOCK_REALTIME tzset",
    },
    "darwin": {os: "sched_getaffinity pidfd_open posix_fallocate", signal: "SIGPWR", time: "CLOCK_BOOTTIME"},
}


def become(system: str) -> None:
    """Take away what the system lacks."""
    sysconfig.get_config_vars()
    for name in LIBRARIES.split():
        importlib.import_module(name)
    if system == "win32":
        for name in UNIX_MODULES.split():
            sys.modules[name] = None  # type: ignore[assignment]
    for place, names in GONE[system].items():
        for name in names.split():
            if hasattr(place, name):
                delattr(place, name)
    sys.platform = system


async def screens(url: str) -> None:
    """Fire two prompts on the embedded engine and retune it, then look at a server."""
    from slotview.engine.backend import FireRequest
    from slotview.engine.context import LaunchFlags
    from slotview.engine.embedded.local import LocalBackend
    from slotview.engine.flags import parse_flags
    from slotview.engine.remote.backend import RemoteBackend
    from slotview.tui.app import SlotviewApp
    from tests.tui.helpers import assert_shows, run

    local = LocalBackend(parse_flags(["-c", "1024", "-np", "2", "--pace", "off"]))
    async with run(SlotviewApp(local, refresh=0.1), (120, 36)) as pilot:
        await assert_shows(pilot, "n_ctx per slot 512")
        local.submit(FireRequest("What is a slot?", count=2, n_predict=8))
        await assert_shows(pilot, "average 2.00 per decode")
        await asyncio.wrap_future(local.retune(LaunchFlags(ctx_size=1024, parallel=4)))
        await assert_shows(pilot, "n_ctx per slot 256")
    async with run(SlotviewApp(RemoteBackend(url), refresh=0.1), (120, 36)) as pilot:
        await assert_shows(pilot, "of 4 busy")


def main() -> None:
    """See above."""
    system, url = sys.argv[1:]
    loop = asyncio.new_event_loop()
    become(system)
    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        runner.run(screens(url))


if __name__ == "__main__":
    main()
