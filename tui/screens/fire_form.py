"""The fields of the fire dialog: checked, and turned into requests."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby

from msgspec import Struct
from msgspec.structs import replace

from slotview.engine.backend import FireRequest
from slotview.engine.snapshot import SlotView

__all__ = ["PRESETS", "FireForm", "FormError", "expand"]

MAX_COUNT = 256
MAX_SEED = 2**32 - 1
_CHOICE = re.compile(r"\{([^{}|]*(?:\|[^{}|]*)+)\}")


class FormError(ValueError):
    """A field has a value that cannot be sent; ``field`` is its name, the text one line."""

    def __init__(self, field: str, text: str) -> None:
        super().__init__(text)
        self.field = field


class FireForm(Struct, frozen=True):
    """The fields as typed; an empty one leaves the choice to the server."""

    text: str = ""
    count: str = "1"
    n_predict: str = "64"
    temperature: str = ""
    seed: str = ""
    id_slot: str = ""
    ignore_eos: bool = False

    def check(self, slots: Sequence[SlotView] | None) -> None:
        """Raise `FormError` for the first field that is wrong."""
        if not self.text.strip():
            raise FormError("text", "write a prompt, or take an example below")
        _whole("count", "at once", self.count, 1, MAX_COUNT)
        _whole("n_predict", "n_predict", self.n_predict, -1, 10**9)
        _decimal("temperature", self.temperature)
        _whole("seed", "seed", self.seed, -1, MAX_SEED)
        _check_slot(self.id_slot, slots)

    def requests(self) -> list[FireRequest]:
        """The requests to send; equal prompts in a row become one request with a count."""
        base = FireRequest(
            "",
            n_predict=_number(self.n_predict),
            temperature=float(self.temperature) if self.temperature.strip() else None,
            seed=_number(self.seed),
            id_slot=_number(self.id_slot),
            ignore_eos=self.ignore_eos,
        )
        prompts = expand(self.text, _number(self.count) or 1)
        return [replace(base, prompt=prompt, count=len(list(same))) for prompt, same in groupby(prompts)]


def expand(text: str, count: int) -> list[str]:
    r"""Make ``count`` prompts of a text: "{a|b}" takes a, then b, in turn, "{n}" counts from 1, "\n" is a new line."""
    return [_one(text.replace("\\n", "\n"), number) for number in range(count)]


def _one(text: str, number: int) -> str:
    def choose(found: re.Match[str]) -> str:
        choices = found[1].split("|")
        return choices[number % len(choices)]

    return _CHOICE.sub(choose, text).replace("{n}", str(number + 1))


def _number(text: str) -> int | None:
    return int(text) if text.strip() else None


def _whole(field: str, label: str, text: str, low: int, high: int) -> None:
    if field != "count" and not text.strip():
        return
    try:
        value = int(text)
    except ValueError:
        raise FormError(field, f"{label}: a whole number is needed, from {low} to {high}") from None
    if not low <= value <= high:
        raise FormError(field, f"{label}: {value} is not between {low} and {high}")


def _decimal(field: str, text: str) -> None:
    if not text.strip():
        return
    try:
        value = float(text)
    except ValueError:
        raise FormError(
            field, "temperature: a number is needed, for example 0.8; 0 always takes the likeliest"
        ) from None
    if not 0 <= value <= 100:
        raise FormError(field, f"temperature: {text} is not between 0 and 100")


def _check_slot(text: str, slots: Sequence[SlotView] | None) -> None:
    _whole("id_slot", "slot", text, 0, 10**6)
    if not text.strip() or slots is None:
        return
    ids = [slot.id for slot in slots]
    if int(text) not in ids:
        there = f"there are {min(ids)} to {max(ids)}" if ids else "there are none"
        raise FormError("id_slot", f"slot: there is no slot {int(text)}; {there}")


_CATS = "{Anna|Ben|Clara|Dan|Emma|Finn|Greta|Hugo} was a little cat."
PRESETS: tuple[tuple[str, FireForm], ...] = (
    ("Eight stories", FireForm(_CATS, count="8", n_predict="96")),
    ("One question", FireForm("What is a slot?", n_predict="64", temperature="0")),
    ("Same prompt twice", FireForm("Once upon a time there was a small house.", count="2", n_predict="48")),
    ("Never-ending", FireForm(_CATS, count="4", n_predict="-1", ignore_eos=True)),
)
"""Examples to start from: a title, and the fields it fills in."""
