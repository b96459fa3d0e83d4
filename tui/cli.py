"""The command line."""

import typer

from slotview import __version__

app = typer.Typer()


@app.command()
def version() -> None:
    """Print the version."""
    print(__version__)


def main() -> None:
    """Run."""
    app()
