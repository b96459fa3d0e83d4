"""Commands that take the engine's options, which Typer passes on unparsed, and shell completion for them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from typer.core import TyperCommand, TyperGroup

from slotview.engine.flags.table import FLAGS

from .words import split_words

__all__ = ["EngineCommand", "EngineGroup"]


def _engine_options(incomplete: str) -> list[Any]:
    """The engine's options that begin with this word."""
    if not incomplete.startswith("-"):
        return []
    names = ((name, flag.help) for flag in FLAGS for name in (*flag.names, *flag.negative))
    return [SimpleNamespace(value=name, help=text, type="plain") for name, text in names if name.startswith(incomplete)]


class EngineCommand(TyperCommand):
    """A command that takes the engine's options, before or after its arguments."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the command's own words and leave the engine's in ``ctx.args``."""
        own_options = {
            name: not getattr(option, "is_flag", False)
            for option in self.get_params(ctx)
            for name in (*option.opts, *option.secondary_opts)
        }
        own, engine = split_words(args, own_options)
        super().parse_args(ctx, own)
        ctx.args = [*engine, *ctx.args]
        return list(ctx.args)

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """Offer the command's own options, then the engine's."""
        return [*super().shell_complete(ctx, incomplete), *_engine_options(incomplete)]


class EngineGroup(TyperGroup):
    """All commands; options without a command are the dashboard's."""

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """Offer commands and options, then those of the dashboard, which needs no command."""
        offered = super().shell_complete(ctx, incomplete)
        names = {item.value for item in offered}
        dashboard = self.get_command(ctx, "dashboard")
        more = dashboard.shell_complete(ctx, incomplete) if dashboard else []
        return [*offered, *(item for item in more if item.value not in names)]
