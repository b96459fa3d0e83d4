"""Between which tags a chat template puts the thoughts of an answer.

Found out as llama-server does: a template is rendered with and without thoughts, and what differs is looked at.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

from msgspec import Struct

from .template import ChatTemplateError, render

__all__ = ["SPACE", "ThoughtTags", "read_thought_tags"]

SPACE = " \t\n\r\f\v"
THOUGHT = "REASON_PART I am thinking END_R"
USER = {"role": "user", "content": "U_USER_MSG Hello END_U"}
ANSWER = {"role": "assistant", "content": "A_ASST_MSG I can help END_A"}
THOUGHTFUL = {**ANSWER, "reasoning_content": THOUGHT}
MARKER = r"(?:<[^>]*>|\[[^\]]*\])"
BETWEEN = re.compile(rf"({MARKER}[{SPACE}]*){THOUGHT}([{SPACE}]*{MARKER}[{SPACE}]*)")
BEFORE = re.compile(rf"{THOUGHT}[{SPACE}]*({MARKER}[{SPACE}]*)")
TWO_MARKERS = re.compile(rf"[{SPACE}]*({MARKER})[{SPACE}]*({MARKER})[{SPACE}]*")
LAST_MARKER = re.compile(rf"({MARKER})[{SPACE}]*\Z")
SPLITS = "content.split('</think>')"  # of templates that drop earlier thoughts and do not show them by another name
MISTRAL = ("[SYSTEM_PROMPT]", "[TOOL_CALLS]", "[ARGS]")  # in templates that show thoughts as parts of a content
ANCHOR = 64  # characters at an end of a text by which it is found in another one


class ThoughtTags(Struct, frozen=True):
    """What stands before and after thoughts. ``start`` "" = an answer begins with thoughts."""

    start: str
    end: str

    @property
    def bare(self) -> tuple[str, str]:
        """Both without blanks around them."""
        return self.start.strip(SPACE), self.end.strip(SPACE)


@lru_cache(maxsize=8)
def read_thought_tags(template: str) -> ThoughtTags | None:
    """The tags of a template; None = it knows no thoughts."""
    if all(mark in template for mark in MISTRAL) and "[CALL_ID]" not in template:
        return ThoughtTags("[THINK]", "[/THINK]")
    start, end = _around_thoughts(template)
    start, end = _of_the_switch(template, start, end)
    if not (start or end) and SPLITS in template and "reasoning_content" not in template:
        start, end = "<think>", "</think>"
    return ThoughtTags(start, end) if start or end else None


def _rendered(
    template: str, messages: Sequence[Mapping[str, object]], *, asks: bool = False, thinks: bool = True
) -> str:
    """The text, "" where the template fails."""
    known: dict[str, object] = {"messages": messages, "bos_token": "", "eos_token": "", "enable_thinking": thinks}
    try:
        return render(template, known | ({"add_generation_prompt": True} if asks else {}), 0)
    except ChatTemplateError:
        return ""


def _around_thoughts(template: str) -> tuple[str, str]:
    """The tags around the thoughts of an answer that has some."""
    plain, shown = _rendered(template, [USER, ANSWER]), _rendered(template, [USER, THOUGHTFUL])
    if not plain:
        return "", ""
    if found := BETWEEN.search(shown):
        return found[1], found[2]
    found = BEFORE.search(shown)
    return "", found[1] if found else ""


def _of_the_switch(template: str, start: str, end: str) -> tuple[str, str]:
    """The tags with which thoughts are asked for or kept away, where earlier answers do not show them."""
    off, on = (_rendered(template, [USER], asks=True, thinks=thinks) for thinks in (False, True))
    if not (off and on):
        return start, end
    if on.startswith(off):
        added = on[len(off) :]
        return start or (added if _ends_with(on, added) else ""), end
    if off.startswith(on):
        added = off[len(on) :]
        if end or not _ends_with(off, added):
            return start, end
        before = LAST_MARKER.search(on) if re.fullmatch(MARKER, added.strip(SPACE)) else None
        return before[1] if before else start, added
    for base, longer in ((on, off), (off, on)):
        _, anchor, extra = longer.rpartition(base[-ANCHOR:])
        if anchor and (found := TWO_MARKERS.fullmatch(extra)):
            return start or found[1], end or found[2]
    return start, end


def _ends_with(text: str, added: str) -> bool:
    """Whether a text ends with what was added, which is more than blanks and has none at its end."""
    return bool(added.strip(SPACE)) and text.endswith(added.strip(SPACE))
