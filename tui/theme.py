"""Two themes of our own, for dark and for light terminals; Textual's are available too."""

from __future__ import annotations

from textual.theme import Theme

__all__ = ["DARK", "DEFAULT_THEME", "LIGHT", "THEMES"]

DARK = Theme(
    name="slotview-dark",
    dark=True,
    primary="#6cb6eb",
    secondary="#8a7fd6",
    accent="#f2b866",
    foreground="#d5dde8",
    background="#0f141b",
    surface="#161d27",
    panel="#1d2633",
    success="#79c98a",
    warning="#e9b44c",
    error="#ef7177",
    variables={"footer-key-foreground": "#f2b866", "border-blurred": "#2a3646"},
)
LIGHT = Theme(
    name="slotview-light",
    dark=False,
    primary="#1f6aa5",
    secondary="#5b4fb0",
    accent="#a35a00",
    foreground="#24303d",
    background="#fbfaf6",
    surface="#f1efe8",
    panel="#e6e3d9",
    success="#2b7a3e",
    warning="#9a6400",
    error="#b3303a",
    variables={"footer-key-foreground": "#a35a00", "border-blurred": "#cfcabb"},
)
THEMES = (DARK, LIGHT)
DEFAULT_THEME = DARK.name
