"""What all commands share: ending with one line, the configuration file, and the engine's options."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from slotview.engine.flags import EngineFlags
    from slotview.engine.pace import DeviceProfile
    from slotview.engine.settings import Settings

__all__ = ["DEFAULT_PACE", "fail", "load_config", "read_flags"]

DEFAULT_PACE = "m4-9b"
LONGEST_LINE = 2000


def fail(message: object, code: int = 1) -> NoReturn:
    """Exit with one line on stderr, without what a file or a server might have hidden in it for the terminal."""
    from slotview.engine.text.plain import plain

    print(f"slotview: {plain(str(message), LONGEST_LINE)}", file=sys.stderr)
    sys.exit(code)


def load_config() -> Settings | None:
    """Read the configuration file, if there is one; exits with one line if it is invalid."""
    from slotview.engine.config_place import config_path

    place = config_path()
    if not place.exists():
        return None
    from slotview.engine.settings import SettingsError, load_settings

    try:
        return load_settings(place)
    except SettingsError as error:
        fail(error, 2)


def read_flags(words: Sequence[str], *, check: bool = True, usual_pace: str = "") -> EngineFlags:
    """Parse the engine's options and print their warnings; exits with one line if they are invalid.

    ``check``: or if no model could start with them. ``usual_pace``: where none is given.
    """
    from msgspec.structs import replace

    from slotview.engine.context import ContextError
    from slotview.engine.embedded.loading import check_flags
    from slotview.engine.flags import FlagError, parse_flags
    from slotview.engine.pace import UnknownProfileError

    try:
        flags = parse_flags(words, os.environ)
        flags = replace(flags, pace=flags.pace or usual_pace, profiles=_profiles() or flags.profiles)
        _ = flags.device
        if check:
            check_flags(flags)
    except UnknownProfileError as error:
        fail(f"--pace {flags.pace}: {error}", 2)
    except (FlagError, ContextError) as error:
        fail(error, 2)
    for warning in flags.warnings:
        print(warning, file=sys.stderr)
    return flags


def _profiles() -> Mapping[str, DeviceProfile] | None:
    """Those of the configuration file and our own, None where there is no such file."""
    saved = load_config()
    if saved is None:
        return None
    from slotview.engine.settings import devices

    return devices(saved.profiles)
