"""Between which tags a template puts thoughts."""

from __future__ import annotations

import pytest

from slotview.engine.model.chat.template import CHATML
from slotview.engine.model.chat.thoughts import ThoughtTags, read_thought_tags

ALL = "{% for m in messages %}"
SAID = "{{ m.content }}{% endfor %}"
ASKS = "{% if add_generation_prompt %}A:"
ENDS = "{% endif %}"
OFF = "{% if not enable_thinking %}"


@pytest.mark.parametrize(
    ("template", "tags"),
    [
        (CHATML, None),
        (ALL + "<t>\n{{ m.reasoning_content }}\n</t>\n" + SAID, ("<t>\n", "\n</t>\n")),
        (ALL + "{% if m.reasoning_content %}{{ m.reasoning_content }}[/T] {% endif %}" + SAID, ("", "[/T] ")),
        (ALL + "{{ m.reasoning_content }}" + SAID, None),
        (ALL + SAID + ASKS + "{% if enable_thinking %}<t>" + ENDS + ENDS, ("<t>", "")),
        (ALL + SAID + ASKS + "<t>" + OFF + "</t>" + ENDS + ENDS, ("<t>", "</t>")),
        (ALL + SAID + ASKS + OFF + "words" + ENDS + ENDS, ("", "words")),
        (OFF + "/no" + ENDS + ALL + SAID + "x" * 64 + OFF + "<t></t>" + ENDS, ("<t>", "</t>")),
        (
            ALL + "{{ m.content.split('</think>')[0] }}{{ content.split('</think>') }}{% endfor %}",
            ("<think>", "</think>"),
        ),
        ("{{ raise_exception('no') }}", None),
    ],
)
def test_tags_of_a_template(template: str, tags: tuple[str, str] | None) -> None:
    assert read_thought_tags(template) == (tags and ThoughtTags(*tags))
