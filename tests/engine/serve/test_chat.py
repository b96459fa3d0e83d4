"""Chat bodies: what is refused, and what the template gets to see (spec §7.10)."""

from __future__ import annotations

import pytest

from slotview.engine.serve.chat.prompt import ChatPrompt, ChatRules, read_chat
from slotview.engine.serve.errors import ApiError
from tests.engine.stub_model import ByteTokenizer

ASK = {"role": "user", "content": "Hi"}
ANSWER = {"role": "assistant", "content": "Hi"}
CALL = {"type": "function", "id": "7", "function": {"name": "f", "arguments": {"a": 1}}}

ARGUMENTS = "{% for k, v in c.function.arguments.items() %}{{ k }}={{ v }}{% endfor %}"
CALLS = (
    "{% for m in messages %}{{ m.role }}: {{ m.content }}{{ '(' ~ m.tool_call_id ~ ')' if m.tool_call_id }}"
    "{% for c in m.tool_calls or [] %}{{ c.function.name }}(" + ARGUMENTS + "){{ c.id }}{% endfor %};{% endfor %}"
)


def read(template: str = "", /, **body: object) -> ChatPrompt:
    return read_chat({"messages": [ASK], **body}, ByteTokenizer(), template)


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        ({"response_format": {"type": "xml"}}, 400, "response_format type must be one of"),
        ({"tools": [{"type": "function", "function": {"name": "f"}}]}, 501, "does not support tools"),
        ({"tools": 5}, 500, "Failed to parse tools: Expected 'tools' to be an array, got 5; tools = 5"),
        ({"tools": [{}]}, 500, "Failed to parse tools: Missing tool type: {}"),
        ({"tools": [{"type": "function", "function": 5}]}, 500, "cannot use at() with number"),
        ({"tools": [{"type": "function", "function": {}}]}, 500, "key 'name' not found"),
        ({"tools": [{"type": "function", "function": {"name": 5}}]}, 500, "type must be string, but is number"),
        ({"tools": [{"type": "function", "function": {"name": "f", "description": []}}]}, 500, "string, but is array"),
        ({"tool_choice": "maybe"}, 400, "Invalid tool_choice: maybe"),
        ({"continue_final_message": True}, 400, "Cannot set both"),
        ({"grammar": "g", "json_schema": {}}, 500, "Cannot use both json_schema and grammar"),
        ({"messages": [ANSWER, ANSWER]}, 400, "Cannot have 2 or more assistant messages at the end of the list."),
        (
            {"messages": [ASK, {"role": "assistant", "tool_calls": [CALL]}]},
            400,
            "Cannot continue an assistant message that contains tool calls.",
        ),
        ({"reasoning_format": 5}, 400, "type must be string, but is number"),
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


def call(**given: object) -> dict[str, object]:
    return {"role": "assistant", "tool_calls": [given]}


@pytest.mark.parametrize(
    ("message", "status", "words"),
    [
        ({"role": "assistant"}, 400, "Assistant message must contain either 'content' or 'tool_calls'!"),
        ({"role": "user", "content": 5}, 400, "Expected 'content' to be a string or an array"),
        ({"role": "user", "content": [{"type": "x"}]}, 400, "unsupported content[].type"),
        ({"content": "a"}, 500, """Failed to parse messages: Missing 'role' in message: {"content":"a"}"""),
        ({**ASK, "name": 5}, 500, "type must be string, but is number"),
        (call(), 500, "Missing tool call type: {}"),
        (call(type="x"), 500, """Unsupported tool call type: {"type":"x"}"""),
        (call(type="function"), 500, "Missing tool call function: "),
        (call(type="function", function={}), 500, "Missing tool call name: "),
        (call(type="function", function={"name": "f"}), 500, "key 'arguments' not found"),
        (call(type="function", function={"name": 5, "arguments": ""}), 500, "type must be string, but is number"),
        (call(type="function", function={"name": "f", "arguments": "{"}), 500, "Failed to parse tool call arguments"),
        (call(type="function", function={"name": "f", "arguments": ""}, id=5), 500, "type must be string"),
    ],
)
def test_messages_that_cannot_be_read(message: dict[str, object], status: int, words: str) -> None:
    with pytest.raises(ApiError) as told:
        read(CALLS, messages=[message, ASK])
    assert (told.value.status, words in told.value.message) == (status, True), told.value.message


def test_calls_of_tools_are_shown_as_the_template_wants_them() -> None:
    messages = [ASK, call(**CALL), {"role": "tool", "content": "yes", "tool_call_id": "7", "name": ""}]
    assert read(CALLS, messages=messages).text == "user: Hi;assistant: f(a=1)7;tool: yes(7);"
    unasked = read_chat({"messages": messages[:2]}, ByteTokenizer(), CALLS, ChatRules(prefills=False))
    assert unasked.text == "user: Hi;assistant: f(a=1)7;"
    texts = CALLS.replace(ARGUMENTS, "{{ c.function.arguments }}")
    assert read(texts, messages=messages).text == """user: Hi;assistant: f({"a":1})7;tool: yes(7);"""


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


@pytest.mark.parametrize(
    ("thoughts", "content", "told", "end"),
    [
        ("hm", "yes", True, "A:<t>hm</t>yes"),
        ("", "yes", True, "A:<t></t>yes"),
        ("hm", "", True, "A:<t>hm"),
        ("hm", "", "content", "A:<t>hm</t>"),
        ("hm", "yes", "reasoning_content", "A:<t>hm"),
    ],
)
def test_an_answer_goes_on_with_its_thoughts(thoughts: str, content: str, told: object, end: str) -> None:
    template = "{% for m in messages %}<t>{{ m.reasoning_content }}</t>{{ m.content }}{% endfor %}"
    template += "{% if add_generation_prompt %}A:{% endif %}"
    last = {"role": "assistant", "reasoning_content": thoughts, "content": content}
    prompt = read(template, messages=[ASK, last], continue_final_message=told, add_generation_prompt=False)
    assert prompt.text == f"<t></t>Hi{end}"


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{% for m in messages %}{{ m.content }};{% endfor %}", "a\nb;c;"),
        ("{% for m in messages %}{% for p in m.content %}{{ p.text }},{% endfor %};{% endfor %}", "a,b,;c,;"),
    ],
)
def test_a_template_sees_contents_as_it_takes_them(template: str, text: str) -> None:
    parts = [{"type": "text", "text": text} for text in ("a", "b")]
    messages = [{"role": "user", "content": parts}, {"role": "user", "content": "c"}]
    assert read(template, messages=messages).text == text


def test_probabilities_of_a_chat_become_those_of_a_completion() -> None:
    assert read(logprobs=True).fields["n_probs"] == 20
    assert read(logprobs=True, top_logprobs=2).fields["n_probs"] == 2
    assert "n_probs" not in read(logprobs=5).fields
