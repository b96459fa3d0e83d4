"""What the help says about the engine's options, and hints for misplaced words."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

from slotview.engine.flags.flag import Flag, Kind
from slotview.engine.flags.table import FLAGS, HARMLESS, OWN, REFUSED

from .words import TAKE_VALUE

__all__ = ["COMMANDS", "EXAMPLES", "engine_help", "misplaced_option"]

COMMANDS = ("dashboard", "demo", "attach", "serve", "run", "complete", "replay", "plan")
WITH_ENGINE = ("demo", "serve", "complete", "plan")
OWN_VALUES = ("--listen", "--refresh", "--theme", "--record")

EXAMPLES = """Examples:
  slotview                         the dashboard on the embedded engine
  slotview -c 8192 -np 4           four slots of 2,048 tokens each
  slotview -np 4 -kvu --pace off   one shared pool, as fast as possible
  slotview attach localhost:8080   a llama-server that runs elsewhere
  slotview attach URL --once --json
  slotview serve --port 8080 -np 2 the same engine behind HTTP
  slotview run -- -m model.gguf -np 4
  slotview demo                    a scripted minute for a class
  slotview plan "burst n=8 prompt=61 answer=64" -c 8192

\b
The engine's options (-c, -np, -kvu, --pace …) are listed by
  slotview dashboard --help"""

_OTHERS = (
    "llama-server's other options are accepted without effect (-ngl, --numa …),",
    "or refused with the reason (--lora, --grammar, -hf …).",
)


def engine_help() -> str:
    """List the flags that do something, slotview's own first, and say what happens to llama-server's others."""
    usual = [flag for flag in FLAGS if flag not in OWN and flag not in HARMLESS]
    title = "Engine options (llama-server's, except for --batching and --pace):"
    return "\n".join(["\b", title, *map(_line, (*OWN, *usual)), "", "\b", *_OTHERS])


def _line(flag: Flag) -> str:
    names = ", ".join((*flag.names, *flag.negative)) + ("" if flag.kind is Kind.SWITCH else " X")
    environment = f" [{flag.env}]" if flag.env else ""
    return f"  {names}\n        {flag.help}{environment}"


def misplaced_option(words: Sequence[str]) -> str | None:
    """Say what is wrong if there is no such command, or if a command or a stray word follows options."""
    if not words or words[0] in COMMANDS:
        return None
    if words[0] and not words[0].startswith("-"):
        near = get_close_matches(words[0], COMMANDS, 1)
        hint = f"did you mean {near[0]}?" if near else "see slotview --help"
        return f"there is no command {words[0]!r}; {hint}"
    place = 0
    while place < len(words):
        word = words[place]
        if word == "--" or word in REFUSED:  # the parser of the flags gives the reason
            return None
        if word in COMMANDS:
            from slotview.engine.runner.secrets import command_to_copy

            before = words[:place]
            if word in WITH_ENGINE:
                line = command_to_copy([word, *before, *words[place + 1 :]])
                return f"options go after the command: slotview {line}"
            options = command_to_copy(before)
            return f"{options}: engine options have no meaning before {word}; see slotview {word} --help"
        if not word.startswith("-"):
            return f"unexpected argument {word!r}; see slotview --help"
        place += 2 if word in TAKE_VALUE or word in OWN_VALUES else 1
    return None
