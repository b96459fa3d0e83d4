"""What the wheel holds."""

import tomllib
from pathlib import Path

from slotview import __version__

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def folders_on_disk() -> set[str]:
    """Every package folder of the three rooms, by the name it is installed under."""
    found = {"slotview"}
    for room in ("engine", "tui", "widgets"):
        for init in (ROOT / room).rglob("__init__.py"):
            parts = init.parent.relative_to(ROOT).parts
            if "_root" not in parts:
                found.add("slotview." + ".".join(parts))
    return found


def test_every_package_folder_is_in_the_wheels_list() -> None:
    assert set(PROJECT["tool"]["setuptools"]["packages"]) == folders_on_disk()


def test_the_version_is_the_same_everywhere() -> None:
    assert PROJECT["project"]["version"] == __version__
