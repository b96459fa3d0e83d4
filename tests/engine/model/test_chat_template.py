"""Chat templates: what common ones make of messages, and what none may do."""

from __future__ import annotations

import re
import time

import pytest

from slotview.engine.model.chat.template import ChatTemplateError, render_chat

ASK = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi ✓"}]


def test_without_a_template_a_chat_is_chatml() -> None:
    expected = "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi ✓<|im_end|>\n"
    assert render_chat("", ASK) == expected + "<|im_start|>assistant\n"
    assert render_chat("", ASK, add_generation_prompt=False) == expected


def test_beginning_and_end_tokens_are_at_hand() -> None:
    template = "{{ bos_token }}{% for m in messages %}[{{ m.content | trim }}]{{ eos_token }}{% endfor %}"
    assert (
        render_chat(template, ASK, variables={"bos_token": "<s>", "eos_token": "</s>"})
        == "<s>[Be brief.]</s>[Hi ✓]</s>"
    )


def test_blocks_leave_no_blank_lines() -> None:
    template = "{% for m in messages %}\n    {% if true %}\n{{ m.role }}\n    {% endif %}\n{% endfor %}\n"
    assert render_chat(template, ASK) == "system\nuser\n"


def test_loops_can_be_left_early() -> None:
    template = "{% for m in messages %}{% if loop.index > 1 %}{% break %}{% endif %}{{ m.role }}{% endfor %}"
    assert render_chat(template, ASK) == "system"


def test_helpers_of_common_templates() -> None:
    assert render_chat("{{ messages[1] | tojson }}", ASK) == '{"role": "user", "content": "Hi ✓"}'
    assert re.fullmatch(r"\d\d \w+ \d{4}", render_chat("{{ strftime_now('%d %b %Y') }}", []))
    assert render_chat("{% generation %}{{ messages[0].role }}{% endgeneration %}!", ASK) == "system!"
    assert render_chat("{% if tools %}tools{% endif %}{{ tools is defined }}", ASK) == "False"
    assert render_chat("{{ '{}-{}'|format(1, messages[0].role) }}{{ '%s'|format(1) }}", ASK) == "1-system%s"
    namespace = "{% set n = namespace(x=0) %}{% for m in messages %}{% set n.x = n.x + 1 %}{% endfor %}{{ n.x }}"
    assert render_chat(namespace, ASK) == "2"


def test_what_is_not_there_prints_nothing() -> None:
    nothing = "{{ messages[7].content }}{{ x.y.z }}{{ none }}{{ messages.__class__.__mro__ }}{{ messages[0] }}"
    assert render_chat(nothing + "{{ 'a' + x }}", ASK) == "a"
    assert render_chat("{{ [1, ['b', none], true] }}", ASK) == "1bTrue"


def test_what_a_template_changes_is_gone_afterwards() -> None:
    for _ in range(2):
        assert render_chat("{{ messages.append(1) }}{{ messages | length }}", ASK) == "3"


def test_a_template_knows_the_day_and_what_it_is_told() -> None:
    assert re.fullmatch(r"\d\d \w+ \d{4}\|\w+ \d\d \d{4}", render_chat("{{ date_string }}|{{ datetime }}", ASK))
    seen = "{{ add_generation_prompt is defined }}{{ reasoning_strength }}{{ preserve_thinking }}{{ messages }}"
    told = {"reasoning_effort": "low", "preserve_reasoning": False, "messages": "M"}
    assert render_chat(seen, ASK, add_generation_prompt=False, variables=told) == "FalselowFalseM"


def test_a_template_can_refuse_messages_in_its_own_words() -> None:
    with pytest.raises(ChatTemplateError, match="roles must alternate"):
        render_chat("{{ raise_exception('roles must alternate\nindeed') }}", ASK)


@pytest.mark.parametrize(
    "template",
    [
        "{{",
        "{% for %}",
        "{{ messages[7].content.upper() }}",
        "{{ 1 / 0 }}",
        "{{ messages | nosuchfilter }}",
        "{{ messages[0].role + 1 }}",
        "{{ '{}' | format }}",
        "{{ cycler.__init__.__globals__.os.system('true') }}",
        "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
        "{% include 'other' %}",
    ],
)
def test_a_template_that_cannot_run_is_refused_in_one_line(template: str) -> None:
    with pytest.raises(ChatTemplateError) as caught:
        render_chat(template, ASK)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "template",
    [
        "{% for i in range(90000) %}{% for j in range(90000) %}{% endfor %}{% endfor %}",
        "{% for i in range(90000) %}{{ 'a' * 1000 }}{% endfor %}",
        "{{ 'a' * 10 ** 9 }}",
        "{{ 10 ** (10 ** 10) }}",
        "{{ [1] * 99999999 }}",
    ],
)
def test_a_template_cannot_run_away(template: str) -> None:
    begin = time.thread_time()
    with pytest.raises(ChatTemplateError):
        render_chat(template, ASK)
    assert time.thread_time() - begin < 5


def test_a_long_chat_is_not_mistaken_for_a_runaway() -> None:
    messages = [{"role": "user", "content": "word " * 200_000}] * 5
    assert render_chat("", messages).count("word") == 1_000_000
