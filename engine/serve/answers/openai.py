"""Answers in OpenAI's shapes (spec §7.10)."""

from __future__ import annotations

import secrets
import string
import time
from collections.abc import Sequence

from msgspec import Struct, field

from slotview.engine.slots.queue.task import Final, Partial, Progress, StopType
from slotview.engine.slots.report.timing_values import timing_values

from ..bodies.json_text import Json
from ..bodies.params import RequestOptions
from ..chat.thoughts import PLAIN_ANSWER, AnswerReader, Said
from .native import probs_json, prompt_progress

__all__ = ["ChatShape", "Shape", "TextShape"]

LETTERS = string.digits + string.ascii_letters


def completion_id() -> str:
    """A random id as the server makes them."""
    return "chatcmpl-" + "".join(secrets.choice(LETTERS) for _ in range(32))


def _reason(stop: StopType) -> str:
    return "stop" if stop in (StopType.EOS, StopType.WORD) else "length"


def _finished(text: str, result: Final) -> str:
    """The text or the tail of a result without a character that is not finished, which chats do not show."""
    return text[: len(text) - result.n_unfinished]


def _usage(result: Final) -> Json:
    return {
        "completion_tokens": result.n_decoded,
        "prompt_tokens": result.n_prompt,
        "total_tokens": result.n_decoded + result.n_prompt,
        "prompt_tokens_details": {"cached_tokens": result.timings.cache_n},
    }


class Shape(Struct):
    """What all objects of one answer have in common."""

    model: str
    fingerprint: str
    options: RequestOptions
    id: str = field(default_factory=completion_id)

    def _logprobs(self, partial: Partial) -> Json | None:
        if partial.probs is None:
            return None
        post_sampling = self.options.params.sampling.post_sampling_probs
        return {"content": probs_json([partial.probs], post_sampling=post_sampling)}

    def _all_logprobs(self, result: Final) -> Json | None:
        sampling = result.params.sampling
        if sampling.n_probs <= 0 or not result.probs:
            return None
        return {"content": probs_json(result.probs, post_sampling=sampling.post_sampling_probs)}


class TextShape(Shape):
    """``/v1/completions``."""

    def whole(self, results: Sequence[Final]) -> Json:
        """The answer: choices of all outputs, the rest of the first one."""
        choices: list[Json] = [
            {
                "text": result.text,
                "index": result.index,
                "logprobs": self._all_logprobs(result),
                "finish_reason": _reason(result.stop_type),
            }
            for result in results
        ]
        return self._object(choices) | {
            "usage": _usage(results[0]),
            "id": self.id,
            "timings": timing_values(results[0].timings),
        }

    def partial(self, result: Partial, *, timings: bool) -> list[Json]:
        """One streamed token."""
        choice: Json = {
            "text": result.text,
            "index": result.index,
            "logprobs": self._logprobs(result),
            "finish_reason": None,
        }
        shown = self._object([choice]) | {"id": self.id}
        if timings or result.completes_stop:
            shown["timings"] = timing_values(result.timings)
        return [shown]

    def progress(self, result: Progress, *, timings: bool) -> list[Json]:
        """A progress event."""
        choice: Json = {"text": "", "index": result.index, "logprobs": None, "finish_reason": None}
        shown = self._object([choice]) | {"id": self.id}
        if timings:
            shown["timings"] = timing_values(result.timings)
        return [shown | {"prompt_progress": prompt_progress(result)}]

    def last(self, result: Final) -> list[Json]:
        """The last chunk: the reason, usage and timings."""
        choice: Json = {
            "text": result.tail,
            "index": result.index,
            "logprobs": None,
            "finish_reason": _reason(result.stop_type),
        }
        return [
            self._object([choice]) | {"usage": _usage(result), "id": self.id, "timings": timing_values(result.timings)}
        ]

    def _object(self, choices: list[Json]) -> Json:
        return {
            "choices": choices,
            "created": int(time.time()),
            "model": self.model,
            "system_fingerprint": self.fingerprint,
            "object": "text_completion",
        }


class ChatShape(Shape):
    """``/v1/chat/completions``. ``texts`` and ``said``: of each output of a stream, so far."""

    reader: AnswerReader = PLAIN_ANSWER
    repeats: bool = True
    texts: dict[int, str] = field(default_factory=dict)
    said: dict[int, Said] = field(default_factory=dict)

    def whole(self, results: Sequence[Final]) -> Json:
        """The answer."""
        return {
            "choices": [self._choice(result) for result in results],
            "created": int(time.time()),
            "model": self.model,
            "system_fingerprint": self.fingerprint,
            "object": "chat.completion",
            "usage": _usage(results[0]),
            "id": self.id,
            "timings": timing_values(results[0].timings),
        }

    def _choice(self, result: Final) -> Json:
        choice: Json = {
            "finish_reason": _reason(result.stop_type),
            "index": result.index,
            "message": (self.reader.read(_finished(result.text, result)) or Said(content=result.text)).message,
        }
        if logprobs := self._all_logprobs(result):
            choice["logprobs"] = logprobs
        return choice

    def partial(self, result: Partial, *, timings: bool) -> list[Json]:
        """One streamed token: the role before the first one, then what it adds, where it adds something."""
        group = [self._role(result.index)] if result.n_decoded == 1 else []
        group += self._added(result.index, result.text)
        logprobs = self._logprobs(result)
        if logprobs and group:
            choices = group[-1]["choices"]
            assert isinstance(choices, list)
            choices[0]["logprobs"] = logprobs
        if group and (timings or result.completes_stop):
            group[-1]["timings"] = timing_values(result.timings)
        return group

    def progress(self, result: Progress, *, timings: bool) -> list[Json]:
        """A progress event; the first one repeats what the answer goes on with."""
        group = [self._role(result.index), *self._added(result.index, "")]
        if timings:
            group[-1]["timings"] = timing_values(result.timings)
        group[-1]["prompt_progress"] = prompt_progress(result)
        return group

    def last(self, result: Final) -> list[Json]:
        """What was held back, the reason, then usage where asked for; timings on the last object."""
        group = self._added(result.index, _finished(result.tail, result), is_all=True)
        group.append(self._chunk(result.index, {}, _reason(result.stop_type)))
        if self.options.include_usage:
            group.append(self._chunk(result.index, None) | {"usage": _usage(result)})
        group[-1]["timings"] = timing_values(result.timings)
        return group

    def _added(self, index: int, text: str, *, is_all: bool = False) -> list[Json]:
        """The chunks of an output that gets more text; at its end also what might have been the beginning of a tag."""
        before = self.said.get(index) or (Said() if self.repeats else self.reader.read(""))
        text = self.texts[index] = self.texts.get(index, "") + text
        said = self.reader.read(text) or (Said(content=text) if is_all and text.strip() else before)
        self.said[index] = said
        return [self._chunk(index, delta) for delta in said.added_to(before)]

    def _role(self, index: int) -> Json:
        return self._chunk(index, {"role": "assistant", "content": None})

    def _chunk(self, index: int, delta: Json | None, reason: str | None = None) -> Json:
        choices = [] if delta is None else [{"finish_reason": reason, "index": index, "delta": delta}]
        return {
            "choices": choices,
            "created": int(time.time()),
            "id": self.id,
            "model": self.model,
            "system_fingerprint": self.fingerprint,
            "object": "chat.completion.chunk",
        }
