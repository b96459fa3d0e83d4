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
    "text": set(),
    "context": {"text"},
    "model": {"context", "text"},
    "flags": {"context", "model"},  # the defaults of samplers are flags
    "slots": {"context", "model", "text"},
    "embedded": {"context", "flags", "model", "slots"},
    "serve": {"context", "embedded", "flags", "model", "slots"},
    "lab": {"context", "model", "slots", "text"},
    "remote": {"context", "text"},
    "observe": {"context", "remote", "text"},  # recordings may hold raw answers of a server
    "runner": {"context", "embedded", "flags", "remote", "text"},  # a model file's numbers are read there
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
    loaded = modules_loaded_by("import slotview.tui.cli, slotview.tui.app, slotview.engine.embedded.local")
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
            if isinstance(node, ast.ImportFrom):
                strangers = rooms_of(path, node) - {room, *MAY_KNOW[room]}
                assert not strangers, f"{path}: {strangers}"


def rooms_of(path: Path, node: ast.ImportFrom) -> set[str]:
    """The rooms of the engine that an import leads to; the engine's own modules are none."""
    place = ("slotview", "engine", *path.parent.relative_to(ENGINE).parts)
    source = (*(place[: len(place) - node.level + 1] if node.level else ()), *(node.module or "").split("."))
    names = [".".join(name for name in (*source, alias.name) if name) for alias in node.names]
    return {name.split(".")[2] for name in names if name.startswith("slotview.engine.")} & set(MAY_KNOW)


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
