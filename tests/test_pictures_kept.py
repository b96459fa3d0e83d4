"""Every picture is compared with by a test. Tests spread over several processes do not tell."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDER = "__snapshots__"


def test_every_picture_belongs_to_a_test() -> None:
    pictures = [picture.relative_to(ROOT) for picture in ROOT.glob(f"tests/**/{FOLDER}/*/*.svg")]
    places = [(picture.parents[2] / f"{picture.parent.name}.py", picture.stem) for picture in pictures]
    command = [sys.executable, "-m", "pytest", "--collect-only", *{str(file) for file, _ in places}]
    told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=60).stdout
    tests = {line for line in told.splitlines() if "::" in line}
    assert {f"{file.as_posix()}::{name}" for file, name in places} == tests
