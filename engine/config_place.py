"""Where the configuration file is. Apart from `settings`, which is slow to load and which most people do not need."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["config_path"]


def config_path() -> Path:
    """Return ``SLOTVIEW_CONFIG``, or ``config.toml`` in the user's configuration folder."""
    if named := os.environ.get("SLOTVIEW_CONFIG"):
        return Path(named)
    from platformdirs import user_config_path

    return user_config_path("slotview", appauthor=False) / "config.toml"
