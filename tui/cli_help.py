"""What the help says about engine options, and where a misplaced one should go."""

from __future__ import annotations

from collections.abc import Sequence

from slotview.engine.flag_table import FLAGS, HARMLESS, REFUSED, Flag, Kind

from .cli_words import TAKE_VALUE

__all__ = ["COMMANDS", "EXAMPLES", "engine_help", "misplaced_option"]

COMMANDS = ("dashboard", "demo", "attach", "serve", "run", "complete", "replay", "plan")
WITH_ENGINE = ("demo", "serve", "complete", "plan")
OWN_VALUES = ("--listen", "--refresh", "--theme")

EXAMPLES = """Examples:
  slotview                         the dashboard over the embedded engine
  slotview -c 8192 -np 4           four slots of 2,048 tokens each
  slotview -np 4 -kvu --pace off   one shared pool, as fast as it goes
  slotview attach localhost:8080   a llama-server that runs elsewhere
  slotview attach URL --once --json
  slotview serve --port 8080 -np 2 the same engine behind HTTP
  slotview run -- -m model.gguf -np 4
  slotview demo                    a scripted minute for a class
  slotview plan "burst n=8 prompt=61 answer=64" -c 8192

\b
The engine's options (-c, -np, -kvu, --pace …) are listed by
  slotview dashboard --help"""


def engine_help() -> str:
    """List llama-server's flags that mean something, those that are ignored, and those that are refused."""
    lines = ["\b", "Engine options (llama-server's):"]
    lines += [_line(flag) for flag in FLAGS if flag not in HARMLESS]
    harmless = ", ".join(flag.names[0] for flag in HARMLESS)
    lines += ["", "\b", "Accepted and without meaning here:", *_wrapped(harmless)]
    lines += ["", "\b", "Refused with a reason:", *_wrapped(", ".join(REFUSED))]
    return "\n".join(lines)


def _line(flag: Flag) -> str:
    names = ", ".join((*flag.names, *flag.negative)) + ("" if flag.kind is Kind.SWITCH else " X")
    environment = f" [{flag.env}]" if flag.env else ""
    return f"  {names}\n        {flag.help}{environment}"


def _wrapped(text: str) -> list[str]:
    import textwrap

    return textwrap.wrap(text, 76, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False)


def misplaced_option(words: Sequence[str]) -> str | None:
    """Say what is wrong where a command follows options, or a stray word follows them."""
    if not words or not words[0].startswith("-"):
        return None
    place = 0
    while place < len(words):
        word = words[place]
        if word == "--":
            return None
        if word in COMMANDS:
            before = " ".join(words[:place])
            if word in WITH_ENGINE:
                return f"options go after the command: slotview {word} {before}"
            return f"{before}: engine options have no meaning before {word}; see slotview {word} --help"
        if not word.startswith("-"):
            return f"unexpected argument {word!r}; see slotview --help"
        place += 2 if word in TAKE_VALUE or word in OWN_VALUES else 1
    return None
