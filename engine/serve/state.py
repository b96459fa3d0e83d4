"""What all handlers share: the flags, the engine once it is loaded, the keys."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from secrets import compare_digest, token_urlsafe

from slotview import __version__

from ..embedded.host import EngineHost
from ..flags import EngineFlags
from ..flags.key_file import keys_in
from ..model.chat.template import CHATML
from ..model.interface import Model, Tokenizer
from .chat.prompt import ChatRules
from .printer import LogPrinter

__all__ = ["KeyFileError", "ServerState", "read_keys"]

BUILD = 11434


class KeyFileError(ValueError):
    """The file of keys cannot be read; the text is one line."""


def read_keys(flags: EngineFlags) -> tuple[str, ...]:
    """Keys of the command line and of the file."""
    keys = flags.http.api_keys
    if flags.http.api_key_file is not None:
        try:
            keys += keys_in(flags.http.api_key_file)
        except (OSError, UnicodeError):
            raise KeyFileError(f"error: failed to open file '{flags.http.api_key_file}'") from None
    return keys


@dataclass(slots=True)
class ServerState:
    """``host`` None = the model is being loaded. ``media_marker``: a word of /props, where pictures would stand."""

    flags: EngineFlags
    keys: tuple[str, ...] = field(default=(), repr=False)
    host: EngineHost | None = None
    started_us: int = 0
    log: LogPrinter | None = None
    media_marker: str = field(default_factory=lambda: f"<__media_{token_urlsafe(24)}__>")

    def warn(self, text: str, level: str = "W") -> None:
        """Log what a handler met, where there is a log."""
        if self.log:
            self.log.line(level, f"srv    operator(): {text}")

    def remark(self, text: str) -> None:
        """Log what is odd about a request that is taken, where there is a log."""
        if self.log:
            self.log.line("W", text)

    @property
    def engine(self) -> EngineHost:
        """The engine; only called behind the loading check."""
        assert self.host is not None
        return self.host

    @property
    def model(self) -> Model:
        """The loaded model."""
        return self.engine.core.model

    @property
    def model_name(self) -> str:
        """The name answers carry: the first alias in the alphabet, else the file as it was given."""
        aliases = self.aliases
        return aliases[0] if aliases else (self.flags.model or Path(self.model.path).name or self.model.name)

    @property
    def aliases(self) -> list[str]:
        """Names given with ``--alias``, sorted."""
        return sorted(set(self.flags.http.aliases))

    @property
    def fingerprint(self) -> str:
        """Build text of answers: the number of the build it behaves as, and our own version."""
        return f"b{BUILD}-slotview-{__version__}"

    @property
    def chat_template(self) -> str:
        """Template in use."""
        return self.template_of(self.model.tokenizer)

    def template_of(self, tokenizer: Tokenizer) -> str:
        """The template of the command line or of a model, with plain line ends and without the last one."""
        template = self.flags.http.chat_template or tokenizer.chat_template
        if template in (None, "", "chatml"):
            return CHATML
        shown = template.replace("\r\n", "\n").replace("\r", "\n")
        return shown.removesuffix("\n") if template.endswith("\n") else shown

    @property
    def chat_rules(self) -> ChatRules:
        """What the command line says about chats."""
        http = self.flags.http
        told: dict[str, object] = {"preserve_reasoning": http.reasoning_preserve is not False}
        told |= http.chat_template_kwargs
        if http.reasoning is not None:
            told["enable_thinking"] = http.reasoning
        if http.reasoning_effort:
            told["reasoning_effort"] = http.reasoning_effort
        return ChatRules(told, http.prefill_assistant, http.reasoning_format)

    def allows(self, authorization: str, x_api_key: str) -> bool:
        """Whether a request's headers carry one of the keys (spec §7.1)."""
        if not self.keys:
            return True
        given = (authorization or x_api_key).removeprefix("Bearer ").encode()
        return any(compare_digest(given, key.encode()) for key in self.keys)
