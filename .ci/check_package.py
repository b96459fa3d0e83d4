"""Build the wheel, look what is in it, install it in an empty venv outside the checkout, and use it there."""

import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WANTED = ("slotview/engine/model/data/slotview-1m.gguf", "slotview/tui/app.tcss", "slotview/py.typed")


def run(*words: str | Path, cwd: Path) -> str:
    """Run a command and return what it printed."""
    return subprocess.run(words, cwd=cwd, check=True, text=True, stdout=subprocess.PIPE).stdout


def check_contents(wheel: Path) -> None:
    """Only slotview may be in the wheel, with its model and its styles."""
    names = zipfile.ZipFile(wheel).namelist()
    strays = [name for name in names if not name.startswith(("slotview/", "slotview-"))]
    missing = [name for name in WANTED if name not in names]
    if strays or missing:
        sys.exit(f"wheel: strays {strays}, missing {missing}")


def main() -> None:
    """Run the whole check."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", place, ROOT, cwd=place)
        wheel = next(place.glob("*.whl"))
        check_contents(wheel)
        venv.create(place / "venv", with_pip=True)
        scripts = place / "venv" / ("Scripts" if sys.platform == "win32" else "bin")
        run(scripts / "python", "-m", "pip", "install", "--quiet", wheel, cwd=place)
        print(run(scripts / "slotview", "--version", cwd=place), end="")
        text = run(scripts / "slotview", "complete", "What is a slot?", "-n", "24", "--temp", "0", cwd=place)
        print(text, end="")
        if len(text.split()) < 4:
            sys.exit("the installed slotview completed nothing")


if __name__ == "__main__":
    main()
