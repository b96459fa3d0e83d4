"""The openai client works unchanged."""

from __future__ import annotations

from collections.abc import Iterator

import openai
import pytest

from .face import Face


@pytest.fixture(scope="module")
def client() -> Iterator[openai.OpenAI]:
    with Face("-c 2048 -np 4 --api-key key --alias stub") as face:
        with openai.OpenAI(base_url=f"http://127.0.0.1:{face.port}/v1", api_key="key", max_retries=0) as made:
            yield made
        assert face.is_quiet


def test_models(client: openai.OpenAI) -> None:
    assert [model.id for model in client.models.list()] == ["stub"]


def test_a_completion(client: openai.OpenAI) -> None:
    answer = client.completions.create(model="any", prompt="hello", max_tokens=5, temperature=0)
    assert len(answer.choices[0].text) == 5
    assert answer.choices[0].finish_reason == "length"
    assert answer.usage is not None
    assert (answer.usage.prompt_tokens, answer.usage.completion_tokens) == (5, 5)


def test_a_stream_says_the_same_as_the_whole(client: openai.OpenAI) -> None:
    whole = client.completions.create(model="any", prompt="hello", max_tokens=9, temperature=0).choices[0].text
    chunks = client.completions.create(model="any", prompt="hello", max_tokens=9, temperature=0, stream=True)
    assert "".join(chunk.choices[0].text for chunk in chunks) == whole


def test_a_chat_and_its_stream(client: openai.OpenAI) -> None:
    messages: list[openai.types.chat.ChatCompletionMessageParam] = [{"role": "user", "content": "hi"}]
    whole = client.chat.completions.create(
        model="any", messages=messages, max_tokens=6, temperature=0, logprobs=True, top_logprobs=2
    )
    assert whole.choices[0].message.role == "assistant"
    assert whole.choices[0].logprobs is not None
    assert whole.choices[0].logprobs.content is not None
    assert len(whole.choices[0].logprobs.content) == 6
    chunks = list(
        client.chat.completions.create(
            model="any",
            messages=messages,
            max_tokens=6,
            temperature=0,
            stream=True,
            stream_options={"include_usage": True},
        )
    )
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert text == whole.choices[0].message.content
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.completion_tokens == 6


def test_several_choices(client: openai.OpenAI) -> None:
    answer = client.completions.create(model="any", prompt="hello", max_tokens=3, n=3, temperature=0)
    assert [choice.index for choice in answer.choices] == [0, 1, 2]


def test_errors_become_the_clients_exceptions(client: openai.OpenAI) -> None:
    with pytest.raises(openai.BadRequestError, match="exceeds the available context size"):
        client.completions.create(model="any", prompt="x" * 600)
    with pytest.raises(openai.AuthenticationError):
        client.with_options(api_key="wrong").models.list()
