"""Link the package folders as slotview/… where type checkers look for them."""

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TYPES = ROOT / ".venv" / "types" / "slotview"


def link(name: str, target: Path) -> None:
    """Make ``slotview/name`` point to ``target``."""
    place = TYPES / name
    if not place.is_symlink():
        os.symlink(target, place, target_is_directory=target.is_dir())


TYPES.mkdir(parents=True, exist_ok=True)
for folder in ("engine", "tui", "widgets"):
    link(folder, ROOT / folder)
for file in (ROOT / "tui" / "_root").glob("*.py"):
    link(file.name, file)
link("py.typed", ROOT / "tui" / "_root" / "py.typed")
