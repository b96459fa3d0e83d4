"""Chat templates of many kinds: what they see, and in which shape they get the messages."""

from __future__ import annotations

from ..client import Client
from ..scenario import scenario
from .prompts import each

USER = {"role": "user", "content": "What is a slot?"}
ANSWER = {"role": "assistant", "content": "A slot"}
PARTS = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
CALL = {"type": "function", "id": "c1", "function": {"name": "f", "arguments": '{"a": 1}'}}
CHATS = each(
    [USER], [], [USER, ANSWER], [USER, ANSWER, USER], [{"role": "system", "content": "Be kind."}, USER],
    [{"role": "user", "content": PARTS}], [{"role": "user", "content": None}],
    [{"role": "wizard", "content": "x"}, USER],
    [USER, {**ANSWER, "reasoning_content": "r"}, USER], [{"role": "user", "content": ""}],
    [USER, {"role": "assistant", "content": None, "tool_calls": [CALL]}, {"role": "tool", "content": "y"}],
    [{"role": "user", "content": "  spaced  \n"}], [{"role": "developer", "content": "D"}, USER],
    [{"role": "user", "content": []}], [USER, {"role": "assistant", "content": PARTS}, USER],
)  # fmt: skip
OPTIONS = each(
    {}, {"add_generation_prompt": False}, {"chat_template_kwargs": {"x": 1, "messages": [], "tools": 7}},
    {"reasoning_effort": "low"}, {"chat_template_kwargs": {"add_generation_prompt": False}},
    {"chat_template_kwargs": {"preserve_reasoning": False}}, {"chat_template_kwargs": {"reasoning_effort": "high"}},
    {"add_generation_prompt": False, "chat_template_kwargs": {"add_generation_prompt": True}},
    {"chat_template_kwargs": {"datetime": None, "bos_token": "B"}},
)  # fmt: skip
ASKS = "{% if add_generation_prompt %}A:{% endif %}"
EACH = "{% for m in messages %}{{ m.role }}:"
TEMPLATES = {
    "filters": (
        EACH + "{{ m.content|upper|trim }}{{ '{}={}'|format(m.role, 1) }}{{ '%s'|format(2) }};{% endfor %}" + ASKS
    ),
    "names": (
        "{{ tools is defined }}{{ tools }}{{ add_generation_prompt is defined }}{{ add_generation_prompt }}"
        "{{ date_string }}{{ datetime }}{{ reasoning_effort }}|{{ reasoning_strength }}|{{ preserve_thinking }}"
        "{{ clear_thinking }}{{ bos_token }}{{ eos_token }}{{ x }}{{ y.z }}{{ none }}{{ messages[0].content }}"
    ),
    "parts": EACH + "{% for p in m.content %}{{ p.type }}={{ p.text }}/{% endfor %};{% endfor %}" + ASKS,
    "texts and parts": (
        EACH + "{% if m.content is string %}{{ m.content }}{% else %}{% for p in m.content %}[{{ p.text }}]{% endfor %}"
        "{% endif %};{% endfor %}" + ASKS
    ),
    "refusals": (
        "{% for m in messages %}{% if m.role not in ['user', 'assistant', 'system'] %}"
        "{{ raise_exception('Only these roles') }}{% endif %}{{ m.role }}:{{ m.content }};{% endfor %}"
    ),
    "calls": (
        EACH + "{{ m.content }}{% for c in m.tool_calls %}<{{ c.function.name }}"
        "({% for k, v in c.function.arguments.items() %}{{ k }}={{ v }},{% endfor %})>{% endfor %};{% endfor %}" + ASKS
    ),
    "chatml": "chatml",
    "no message": "nothing of it",
}  # fmt: skip


def kind(name: str, template: str) -> None:
    """One scenario for a template."""

    @scenario(f"a template with {name}", "-c 1024 -np 1", env=f"LLAMA_ARG_CHAT_TEMPLATE={template}")
    def run(c: Client) -> None:
        c.ask("/props")
        for messages in CHATS:
            c.ask("/apply-template", {"messages": messages}, step=f"{messages}")
        for options in OPTIONS:
            for messages in ([USER], [USER, ANSWER]):
                c.ask("/apply-template", {"messages": messages, **options}, step=f"{options} {messages}")
        for stream in (False, True):
            c.ask("/v1/chat/completions", {"messages": [USER], "max_tokens": 5, "temperature": 0, "stream": stream})


for one, source in TEMPLATES.items():
    kind(one, source)


def way(name: str) -> None:
    """One scenario for a way to show thoughts."""

    @scenario(f"thoughts as {name}", f"-c 512 -np 1 --jinja --reasoning-format {name}")
    def run(c: Client) -> None:
        asked = {"messages": [USER], "max_tokens": 3, "temperature": 0, "verbose": True}
        for more in each({}, {"stream": True}, {"reasoning_format": "deepseek"}):
            c.ask("/v1/chat/completions", asked | more, step=f"{more}")
        c.complete("A", 1)
        c.slots()
        c.ask("/props")


for word in ("none", "auto", "deepseek-legacy"):
    way(word)


@scenario(
    "a template that forgets thoughts", "-c 512 -np 1 --no-reasoning-preserve --chat-template {{preserve_thinking}}"
)
def forgets(c: Client) -> None:
    c.ask("/apply-template", {"messages": [USER]})
    c.ask("/apply-template", {"messages": [USER], "chat_template_kwargs": {"preserve_reasoning": True}})
