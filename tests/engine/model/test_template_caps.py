"""What is found out about a chat template."""

from __future__ import annotations

import pytest
from msgspec.structs import asdict

from slotview.engine.model.chat.caps import read_caps
from slotview.engine.model.chat.template import CHATML

ALL = "{% for m in messages %}"
END = "{% endfor %}"
CALLS = "{{ m.content }}{% for c in m.tool_calls %}{{ c.function.name }}"
PARTS = "{% for p in m.content %}{{ p.text }}{% endfor %}"


def known(template: str) -> set[str]:
    """The names of what a template supports."""
    return {name.removeprefix("supports_") for name, value in asdict(read_caps(template)).items() if value}


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        (CHATML, {"string_content", "system_role"}),
        (f"{ALL}{PARTS}{END}", {"typed_content", "system_role"}),
        (
            ALL + "{% if m.content is string %}{{ m.content }}{% else %}" + PARTS + "{% endif %}" + END,
            {"string_content", "typed_content", "system_role"},
        ),
        (ALL + "{% if m.role == 'user' %}{{ m.content }}{% endif %}" + END, {"string_content"}),
        (
            f"{ALL}{CALLS}{END}{END}" + "{{ tools | tojson }}",
            {"string_content", "system_role", "tool_calls", "parallel_tool_calls", "tools"},
        ),
        (
            f"{ALL}{CALLS}" + "{{ c.function.arguments | tojson }}" + f"{END}{END}",
            {"string_content", "system_role", "tool_calls", "parallel_tool_calls", "object_arguments"},
        ),
        (
            ALL + "{{ m.reasoning_content }}{{ m.content }}" + END,
            {"string_content", "system_role", "preserve_reasoning"},
        ),
        (
            "{{ 'E: ' + reasoning_effort }}" + f"{ALL}" + "{{ m.content }}" + END,
            {"string_content", "system_role", "reasoning_effort"},
        ),
    ],
)
def test_what_a_template_supports(template: str, expected: set[str]) -> None:
    assert known(template) == expected


def test_a_template_that_always_fails_supports_no_tools() -> None:
    assert known("{{ raise_exception('no') }}") == set()
