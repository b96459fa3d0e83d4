"""One completion without a screen or a thread: the core in a plain loop."""

from __future__ import annotations

from collections.abc import Iterator

from ..events import Notice
from ..flags import EngineFlags
from ..pace import microseconds
from .loading import StartError, build_core, load

__all__ = ["complete"]


def complete(flags: EngineFlags, prompt: str) -> Iterator[str]:
    """Yield the answer's text as it comes. Raises `StartError` if the engine or the request cannot start."""
    from ..slots.queue.task import Failed, Final, Partial, TaskParams

    model = load(flags)
    core = build_core(flags, model, microseconds())
    params = TaskParams(stream=True, sampling=flags.sampling, stop=flags.reverse_prompt)
    core.post([model.tokenizer.encode(prompt)], params, microseconds())
    while not core.is_idle:
        core.step(microseconds(), lambda _: microseconds())
        for result in core.take_results():
            if isinstance(result, Partial) and result.text:
                yield result.text
            elif isinstance(result, Final):
                yield result.tail
            elif isinstance(result, Failed):
                why = [event.text for event in core.take_events() if isinstance(event, Notice)]
                raise StartError(" ".join((result.message, *why)))
