"""Chat bodies: what is refused, and what the template gets to see (spec §7.10)."""

from __future__ import annotations

import pytest

from slotview.engine.serve.chat import ChatPrompt, read_chat
from slotview.engine.serve.errors import ApiError
from tests.engine.stub_model import ByteTokenizer

ASK = {"role": "user", "content": "Hi"}


def read(template: str = "", /, **body: object) -> ChatPrompt:
    return read_chat({"messages": [ASK], **body}, ByteTokenizer(), template)


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        ({"response_format": {"type": "xml"}}, 400, "response_format type must be one of"),
        ({"tools": [{"type": "function", "function": {"name": "f"}}]}, 501, "does not support tools"),
        ({"tools": 5}, 500, "Failed to parse tools: Expected 'tools' to be an array, got 5; tools = 5"),
        ({"tool_choice": "maybe"}, 400, "Invalid tool_choice: maybe"),
        ({"continue_final_message": True}, 400, "Cannot set both"),
        ({"reasoning_format": "x"}, 500, "Unknown reasoning format: x"),
        ({"chat_template_kwargs": {"enable_thinking": "x"}}, 400, 'invalid type for "enable_thinking"'),
        ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, 500, "image input is not supported"),
        ({"messages": [{"role": "user", "content": [{"type": "text"}]}]}, 500, "Failed to parse messages: "),
    ],
)
def test_refusals(body: dict[str, object], status: int, words: str) -> None:
    with pytest.raises(ApiError) as told:
        read(**body)
    assert told.value.status == status
    assert words in told.value.message


def test_a_template_sees_what_the_body_gives_it() -> None:
    template = "{{ enable_thinking }} {{ reasoning_effort }} {{ mood }}"
    prompt = read(template, chat_template_kwargs={"mood": "kind"}, reasoning_effort="low")
    assert prompt.text == "False low kind"


def test_thoughts_are_wanted_where_the_template_knows_any() -> None:
    template = "{{ enable_thinking }}{% for m in messages %}<t>{{ m.reasoning_content }}</t>{{ m.content }}{% endfor %}"
    assert read(template).text.startswith("True")
    assert read(template, reasoning_effort="none").text.startswith("False")
    assert read("{{ enable_thinking }}").text == "False"


def test_an_open_tag_at_the_end_of_the_prompt_belongs_to_the_answer() -> None:
    template = "{% for m in messages %}<t>{{ m.reasoning_content }}</t>{{ m.content }}{% endfor %}"
    template += "{% if add_generation_prompt %}A:<t>{% endif %}"
    said = read(template).reader.read("hm</t>yes")
    assert (said.thoughts, said.content) == ("hm", "yes")
    kept = read(template, reasoning_format="none").reader.read("hm</t>yes")
    assert (kept.thoughts, kept.content) == ("", "<t>hm</t>yes")


def test_developers_are_the_system_unless_the_template_tells_them_apart() -> None:
    message = {"role": "developer", "content": "x"}
    template = "{{ messages[0].role }} {{ messages[0].content }}"
    assert read(template, messages=[message]).text == "system x"
    assert read(f"{template}<|channel|>", messages=[message]).text == "developer x<|channel|>"


def test_a_template_without_a_system_sees_its_words_in_the_next_message() -> None:
    template = "{% for m in messages if m.role == 'user' %}{{ m.content }};{% endfor %}"
    assert read(template, messages=[{"role": "system", "content": "x"}, ASK]).text.startswith("x\n")
    assert read(template, messages=[{"role": "system", "content": "x"}]).text == ""


def test_a_last_answer_goes_on_two_lines_apart() -> None:
    parts = [{"type": "text", "text": text} for text in ("a", "b")]
    prompt = read(messages=[ASK, {"role": "assistant", "content": parts}])
    assert prompt.text.endswith("<|im_start|>assistant\na\n\nb")
    assert prompt.reader.read(" c").content == "a\n\nb c"
    assert prompt.fields["generation_prompt"] == "<|im_start|>assistant\na\n\nb"


def test_probabilities_of_a_chat_become_those_of_a_completion() -> None:
    assert read(logprobs=True).fields["n_probs"] == 20
    assert read(logprobs=True, top_logprobs=2).fields["n_probs"] == 2
    assert "n_probs" not in read(logprobs=5).fields
