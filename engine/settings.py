"""The configuration file. The command line and the environment take precedence over it."""

from __future__ import annotations

import tomllib
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from .config_place import config_path
from .pace import check_name

__all__ = ["ServerEntry", "Settings", "SettingsError", "load_settings"]


_IN_WORDS = {"extra_forbidden": "there is no such setting", "missing": "is missing"}


class SettingsError(ValueError):
    """The configuration file cannot be used; the text is one line."""


class ServerEntry(BaseModel):
    """A server with a name. The file never holds the key itself, only the name of the variable that does."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    url: str
    api_key_env: str = "LLAMA_API_KEY"
    model: str | None = None


class Settings(BaseModel):
    """What can be set once and for all. Times are seconds; None = the program's own default."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    theme: str | None = None
    pace: str | None = None
    refresh: float | None = Field(default=None, ge=0.05, le=10)
    interval: float | None = Field(default=None, ge=0.05, le=3600)
    metrics_every: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    servers: dict[str, ServerEntry] = Field(default_factory=dict)

    _pace_has_a_profile = field_validator("pace")(check_name)


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
