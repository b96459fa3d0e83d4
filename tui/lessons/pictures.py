"""The app takes pictures of itself: ``python -m slotview.tui.lessons.pictures FOLDER``."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

from slotview.engine.flags import parse_flags
from slotview.engine.local import LocalBackend

from .demo import SCRIPT, DemoApp, Step

__all__ = ["main", "take_pictures"]

SIZE = (120, 36)
FLAGS = ("-c", "8192", "-np", "4", "--pace", "m4-9b")


async def take_pictures(folder: Path, script: Sequence[Step] = SCRIPT, size: tuple[int, int] = SIZE) -> list[Path]:
    """Play the script without a terminal, and save what the screen shows at each step that names a picture."""
    folder.mkdir(parents=True, exist_ok=True)
    taken: list[Path] = []
    backend = LocalBackend(parse_flags(FLAGS, {}))

    def save(name: str) -> None:
        taken.append(folder / f"{name}.svg")
        taken[-1].write_text(app.export_screenshot(title="slotview"), encoding="utf-8")

    app = DemoApp(backend, script=_until_last_picture(script), picture=save)
    try:
        async with app.run_test(size=size):
            await app.played.wait()
    finally:
        backend.close()
    return taken


def _until_last_picture(script: Sequence[Step]) -> Sequence[Step]:
    last = max((number for number, step in enumerate(script, 1) if step.picture), default=0)
    return script[:last]


def main() -> None:
    """Take the pictures and name them."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "screenshots")
    for path in asyncio.run(take_pictures(folder)):
        print(path)


if __name__ == "__main__":
    main()
