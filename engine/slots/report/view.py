"""Looking at the core from outside: snapshot, details, cells."""

from __future__ import annotations

from types import MappingProxyType

import numpy as np
from msgspec import Struct
from msgspec.structs import asdict
from numpy.typing import NDArray

from slotview.engine.snapshot import (
    Health,
    HealthState,
    KvPool,
    ServerFacts,
    SlotDetails,
    SlotState,
    SlotView,
    Snapshot,
    Totals,
    WaitingRequest,
    WaitingView,
)

from ..queue.job import ActionJob
from ..queue.task import TaskParams
from ..queue.task_queue import Waiting
from ..slot import Phase, Slot
from ..state import CoreState
from .timing_values import timing_values

__all__ = ["FREE", "SHARED", "StreamCells", "View"]

FREE = -1
SHARED = -2


class StreamCells(Struct, frozen=True, eq=False):
    """Who uses each cell of one stream: ``owner`` [cells] is a slot's id, `FREE`, or `SHARED` (then in ``sharers``)."""

    owner: NDArray[np.int16]
    head: int
    sharers: dict[int, tuple[int, ...]]


class View:
    """Reads; changes nothing."""

    def __init__(self, state: CoreState) -> None:
        self._state = state
        self._facts = _facts(state)
        self._serial = 0
        self._idle = [_slot_view(slot) for slot in state.slots]  # an idle slot's view is made once

    def snapshot(self, now: int) -> Snapshot:
        """Everything a watcher shows, as of the last completed piece."""
        state = self._state
        self._serial += 1
        time = now / 1e6
        slots = tuple(_slot_view(slot) if slot.job is not None else self._idle_view(slot) for slot in state.slots)
        return Snapshot(
            time=time,
            serial=self._serial,
            facts=self._facts,
            health=Health(HealthState.OK),
            slots=slots,
            slots_at=time,
            waiting=self._waiting(),
            pool=self._pool(),
            totals=self._totals(sum(view.is_busy for view in slots)),
        )

    def _idle_view(self, slot: Slot) -> SlotView:
        view = self._idle[slot.id]
        if view.n_tokens != slot.n_tokens or view.task != slot.last_task:
            view = self._idle[slot.id] = _slot_view(slot)
        return view

    def _waiting(self) -> WaitingView:
        deferred = self._state.queue.deferred
        return WaitingView(len(deferred), tuple(_waiting_request(job) for job in deferred))

    def _pool(self) -> KvPool:
        state = self._state
        used = sum(stream.used for stream in state.cache.streams)
        active = self._active()
        n_bytes = state.cache.store.nbytes
        return KvPool(state.plan.unified, state.plan.n_cells, (), active, max(0, used - active), False, n_bytes)

    def _active(self) -> int:
        """Cells that busy slots use; cells shared by a parent and its children count once."""
        busy = self._state.busy()
        total = sum(slot.sequence.n for slot in busy)
        if not self._state.plan.unified or not any(
            slot.job is not None and slot.job.parent is not None for slot in busy
        ):
            return total
        return len(np.unique(np.concatenate([slot.sequence.cells[: slot.sequence.n] for slot in busy])))

    def _totals(self, busy: int) -> Totals:
        book = self._state.metrics
        return Totals(
            prompt_tokens=book.prompt_tokens,
            prompt_tokens_cached=book.prompt_cached,
            prompt_seconds=book.prompt_us / 1e6,
            predicted_tokens=book.predicted_tokens,
            predicted_seconds=book.predicted_us / 1e6,
            decodes=book.n_decode,
            busy_per_decode=book.busy_per_decode or None,  # a decode has a busy slot: 0 is no average yet
            n_tokens_max=book.n_tokens_max,
            processing=busy,
        )

    def details(self, number: int) -> SlotDetails:
        """One slot's parameters, timings and text."""
        slot = self._state.slots[number]
        params, prompt = slot.params, slot.prompt
        if params is None or prompt is None:
            return SlotDetails(number, note="this slot has not run a task yet", view=_slot_view(slot))
        return SlotDetails(
            slot=number,
            params=MappingProxyType(_params(params)),
            timings=MappingProxyType(timing_values(slot.timings())) if slot.is_processing else MappingProxyType({}),
            prompt=self._state.tokenizer.decode(prompt.tolist(), special=True),
            generated=slot.generated_text.decode("utf-8", "replace"),
            note="" if slot.is_processing else "the last task's; its timings are in its answer",
            view=_slot_view(slot),
        )

    def cells(self) -> tuple[StreamCells, ...]:
        """For each stream, which slot uses which cell."""
        return tuple(self._stream_cells(number) for number in range(len(self._state.cache.streams)))

    def _stream_cells(self, number: int) -> StreamCells:
        """The owners of one stream's cells; a cell with several is listed with all of them."""
        stream = self._state.cache.streams[number]
        owner = np.full(stream.size, FREE, np.int16)
        sharers: dict[int, list[int]] = {int(cell): [] for cell in np.flatnonzero(stream.counts > 1)}
        for slot in self._state.slots:
            if slot.sequence.stream is stream:
                cells = slot.sequence.cells[: slot.sequence.n]
                owner[cells] = slot.id
                for cell in cells.tolist() if sharers else ():
                    if cell in sharers:
                        sharers[cell].append(slot.id)
        owner[list(sharers)] = SHARED
        owner.setflags(write=False)
        return StreamCells(owner, stream.head, {cell: tuple(ids) for cell, ids in sharers.items()})


def _params(params: TaskParams) -> dict[str, object]:
    """All parameters of a task by the names they have in a request, in one row."""
    shown = asdict(params)
    for inner in ("sampling", "extra", "preserved", "requested_n_predict"):  # the last: what /slots says of n_predict
        del shown[inner]
    sampling = asdict(params.sampling)
    return {**shown, "preserved_tokens": sorted(params.preserved), **sampling, **params.extra}


def _slot_view(slot: Slot) -> SlotView:
    job = slot.job
    if job is None:
        state = SlotState.UNUSED if slot.last_task is None else SlotState.IDLE
        return SlotView(slot.id, state, slot.n_ctx, slot.last_task, slot.n_tokens, None, 0, 0, 0)
    return SlotView(
        slot.id,
        SlotState.GENERATING if slot.phase == Phase.GENERATING else SlotState.PROMPT,
        slot.n_ctx,
        job.task,
        slot.n_tokens,
        len(job.prompt),
        slot.n_prompt_processed,
        slot.n_prompt_cached,
        slot.n_gen,
        None if slot.n_predict_max == -1 else slot.n_predict_max - slot.n_gen,
        slot.n_predict_max == -1,
        slot.truncated,
        None,
        (slot.t_prompt_last - slot.t_start) / 1e6,
        slot.gen_us / 1e6,
        slot.n_untimed,
        slot.started_at / 1e6,
    )


def _waiting_request(job: Waiting) -> WaitingRequest:
    if isinstance(job, ActionJob):
        return WaitingRequest(job.task, None, job.action.id_slot, job.posted / 1e6, job.action.action)
    return WaitingRequest(job.task, len(job.prompt), None if job.pin == -1 else job.pin, job.posted / 1e6)


def _facts(state: CoreState) -> ServerFacts:
    plan, model = state.plan, state.model
    return ServerFacts(
        source="embedded",
        model=model.name,
        model_path=model.path or None,
        n_params=model.n_params,
        n_ctx_train=model.n_ctx_train,
        n_slots=plan.n_slots,
        n_ctx=plan.n_ctx,
        n_ctx_asked=plan.flags.ctx_size if plan.flags.ctx_size not in (0, plan.n_ctx) else None,
        n_ctx_slot=plan.slot_n_ctx,
        unified=plan.unified,
        n_batch=plan.n_batch,
        n_ubatch=plan.n_ubatch,
        type_k=plan.flags.type_k,
        type_v=plan.flags.type_v,
        batching=state.options.batching,
    )
