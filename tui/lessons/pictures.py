"""Takes pictures of the app: ``python -m slotview.tui.lessons.pictures FOLDER``."""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import Sequence
from pathlib import Path

from slotview.engine.backend import Backend
from slotview.engine.embedded.local import LocalBackend
from slotview.engine.flags import parse_flags

from .demo import SCRIPT, STORIES, DemoApp, Step

__all__ = ["main", "take_attach_picture", "take_demo_pictures", "take_pictures"]

SIZE = (120, 36)
FLAGS = ("-c", "8192", "-np", "4", "--pace", "m4-9b")
ATTACHED = (Step("", 1), Step("", 5, fire=STORIES, picture="attach"))


async def take_pictures(
    backend: Backend, script: Sequence[Step], folder: Path, size: tuple[int, int] = SIZE
) -> list[Path]:
    """Play a script without a terminal, and save the screen at the end of each step that names a picture.

    Closes the backend. Raises `RuntimeError` if the app failed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    taken: list[Path] = []

    def save(name: str) -> None:
        taken.append(folder / f"{name}.svg")
        taken[-1].write_text(app.export_screenshot(title="slotview"), encoding="utf-8")

    app = DemoApp(backend, script=script, picture=save)
    leaving = asyncio.create_task(_leave_when_played(app))
    try:
        await app.run_async(headless=True, size=size)
    finally:
        leaving.cancel()
        backend.close()
    if app.return_code:
        raise RuntimeError("the app stopped before all pictures were taken")
    return taken


async def take_demo_pictures(folder: Path) -> list[Path]:
    """Take the pictures of the demo over the embedded engine."""
    return await take_pictures(LocalBackend(parse_flags(FLAGS, {})), SCRIPT, folder)


async def take_attach_picture(folder: Path) -> list[Path]:
    """Take a picture of the same screen over HTTP: the embedded engine serves, and is watched from outside."""
    from slotview.engine.remote.backend import RemoteBackend
    from slotview.engine.serve.beside import listen_beside

    flags = parse_flags((*FLAGS, "--metrics"), {})
    address = f"127.0.0.1:{_free_port()}"
    engine = LocalBackend(flags, on_ready=listen_beside(address, flags))
    engine.start()
    try:
        await asyncio.to_thread(engine.wait_ready, 30)
        return await take_pictures(RemoteBackend(f"http://{address}", interval=0.5), ATTACHED, folder)
    finally:
        engine.close()


def _free_port(wanted: int = 8080) -> int:
    """The usual port if it is free, so that the picture is the same each time, else any."""
    for port in (wanted, 0):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return int(probe.getsockname()[1])
    raise OSError("no port is free on 127.0.0.1")


async def _leave_when_played(app: DemoApp) -> None:
    await app.played.wait()
    app.exit()


async def _all(folder: Path) -> list[Path]:
    return [*await take_demo_pictures(folder), *await take_attach_picture(folder)]


def main() -> None:
    """Take all pictures and print their paths."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "screenshots")
    for path in asyncio.run(_all(folder)):
        print(path)


if __name__ == "__main__":
    main()
