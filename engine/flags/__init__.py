"""llama-server's command line and environment, read into frozen options (spec §1). No NumPy."""

from .engine_flags import EngineFlags, FlagError, HttpFlags, parse_flags

__all__ = ["EngineFlags", "FlagError", "HttpFlags", "parse_flags"]
