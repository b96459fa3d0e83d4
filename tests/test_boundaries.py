"""Who may know whom, and who may load what."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
ENGINE = ROOT / "engine"
MAY_KNOW: dict[str, set[str]] = {
    "model": set(),
    "slots": {"model"},
    "lab": {"model", "slots"},
    "serve": {"model", "slots"},
    "remote": set(),
    "observe": {"remote"},  # recordings may hold raw answers of a server
    "runner": {"remote"},
}
"""Which rooms of the engine a room may know, beside the modules of the engine itself."""
MAY_NOT_KNOW = {"engine": {"slotview.widgets", "slotview.tui"}, "widgets": {"slotview.tui"}}


def modules_loaded_by(code: str) -> set[str]:
    """The top-level modules that a fresh interpreter has loaded after running ``code``."""
    script = f"{code}\nimport sys\nprint(*sorted({{name.partition('.')[0] for name in sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    return set(done.stdout.split())


def test_attach_loads_no_numpy_and_no_server() -> None:
    loaded = modules_loaded_by("import slotview.tui.cli, slotview.tui.app, slotview.engine.remote.backend")
    assert "textual" in loaded
    assert not loaded & {"numpy", "tokenizers", "uvicorn", "starlette", "jinja2", "plotext", "pydantic"}


def test_serve_loads_no_textual() -> None:
    loaded = modules_loaded_by("import slotview.tui.cli, slotview.engine.serve.server, slotview.engine.model.load")
    assert "numpy" in loaded
    assert not loaded & {"textual", "plotext"}


def test_the_dashboards_first_frame_waits_for_no_numpy() -> None:
    loaded = modules_loaded_by("import slotview.tui.cli, slotview.tui.app, slotview.engine.local")
    assert "numpy" not in loaded


def test_context_arithmetic_needs_no_numpy() -> None:
    assert "numpy" not in modules_loaded_by("import slotview.engine.context, slotview.engine.flags")


@pytest.mark.parametrize("room", sorted(MAY_NOT_KNOW))
def test_nothing_points_back_up(room: str) -> None:
    for path in (ROOT / room).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom):
                source = node.module or ""
                assert not any(source.startswith(banned) for banned in MAY_NOT_KNOW[room]), f"{path}: {source}"


@pytest.mark.parametrize("room", sorted(MAY_KNOW))
def test_inside_the_engine_rooms_know_few_others(room: str) -> None:
    for path in (ENGINE / room).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.level:
                known = room_of(path, node)
                assert known in (None, room, *MAY_KNOW[room]), f"{path}: {known}"


def room_of(path: Path, node: ast.ImportFrom) -> str | None:
    """The room of the engine that a relative import leads to; None for the engine's own modules."""
    place = path.parents[node.level - 1].relative_to(ENGINE).parts
    names = (*place, *(node.module or node.names[0].name).split("."))
    return names[0] if names[0] in MAY_KNOW else None


def test_every_room_of_the_engine_has_its_rule() -> None:
    assert {path.parent.name for path in ENGINE.glob("*/__init__.py")} == set(MAY_KNOW)


def test_the_three_rooms_are_imported_by_their_installed_names() -> None:
    for room in ("engine", "tui", "widgets", "tests"):
        for path in (ROOT / room).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
                if isinstance(node, ast.ImportFrom) and node.level == 0:
                    names.append(node.module or "")
                assert not any(name.split(".")[0] in ("engine", "tui", "widgets") for name in names), path
