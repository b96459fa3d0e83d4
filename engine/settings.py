"""The configuration file. The command line and the environment take precedence over it."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError, ValidationInfo, field_validator

from .config_place import config_path
from .pace import PROFILES, DeviceProfile, profile

__all__ = ["ProfileEntry", "ServerEntry", "Settings", "SettingsError", "devices", "load_settings"]


_IN_WORDS = {"extra_forbidden": "there is no such setting", "missing": "is missing"}


class SettingsError(ValueError):
    """The configuration file cannot be used; the text is one line."""


class ServerEntry(BaseModel):
    """A server with a name. The file never holds the key itself, only the name of the variable that does."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    url: str
    api_key_env: str = "LLAMA_API_KEY"
    model: str | None = None


Milliseconds = Annotated[float, Field(ge=0, le=60_000)]


class ProfileEntry(BaseModel):
    """A device to imitate, as `DeviceProfile`."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    step: Milliseconds
    per_slot: Milliseconds = 0
    per_prompt: Milliseconds = 0
    per_prompt_token: Milliseconds = 0


class Settings(BaseModel):
    """What can be set once and for all. Times are seconds; None = the program's own default."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    theme: str | None = None
    profiles: dict[str, ProfileEntry] = Field(default_factory=dict)
    pace: str | None = None
    refresh: float | None = Field(default=None, ge=0.05, le=10)
    interval: float | None = Field(default=None, ge=0.05, le=3600)
    metrics_every: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    servers: dict[str, ServerEntry] = Field(default_factory=dict)

    @field_validator("profiles")
    @classmethod
    def _off_is_no_profile(cls, own: dict[str, ProfileEntry]) -> dict[str, ProfileEntry]:
        if "off" in own:
            raise ValueError("off means that nothing is paced; give the device another name")
        return own

    @field_validator("pace")
    @classmethod
    def _pace_has_a_profile(cls, pace: str, before: ValidationInfo) -> str:
        profile(pace, devices(before.data.get("profiles", {})))
        return pace


def devices(own: Mapping[str, ProfileEntry]) -> dict[str, DeviceProfile]:
    """All profiles by name: those that come along, and the file's ``own``, which replace one of the same name."""
    about = "as the configuration file says"
    return {**PROFILES, **{name: DeviceProfile(name, about, **entry.model_dump()) for name, entry in own.items()}}


def load_settings(path: Path | None = None) -> Settings:
    """Read the file, or return the defaults if there is none. Raises `SettingsError`."""
    place = config_path() if path is None else path
    try:
        text = place.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        return Settings()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{place}: cannot be read: {error}") from None
    try:
        return Settings.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{place}: not valid TOML: {error}") from None
    except RecursionError:
        raise SettingsError(f"{place}: not valid TOML: nested too deeply") from None
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"])
        told = first["msg"].removeprefix("Value error, ")
        raise SettingsError(f"{place}: {field}: {_IN_WORDS.get(first['type'], told)}") from None
