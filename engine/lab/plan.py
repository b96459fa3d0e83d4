"""Capacity plans: which flags suit a workload, found by running the scheduler in virtual time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from ..context import ContextError, ContextPlan, LaunchFlags, ModelFacts, plan_context
from ..pace import DeviceProfile
from .workload import Workload

if TYPE_CHECKING:
    from ..model.interface import Model
    from ..slots.options import CoreOptions
    from .drive import Drive

__all__ = ["PlanResult", "PlanRow", "run_plan", "spread"]


class PlanRow(Struct, frozen=True):
    """How one set of flags did. Times are seconds, sizes tokens; None if nothing was measured.

    ``error`` says in one line why a server cannot start with the flags; the counts are then all zero. ``speed`` is the
    tokens per second of all requests together, ``speed_each`` of one on average. ``wait`` is the time in the queue,
    ``first_token`` that from arrival to the first token, both as mean and 95th percentile. ``pool_peak`` is the most
    that busy slots held.
    """

    flags: LaunchFlags
    error: str | None = None
    n_slots: int = 0
    unified: bool = False
    n_ctx_slot: int = 0
    n_cells: int = 0
    kv_bytes: int | None = None
    seconds: float | None = None
    n_done: int = 0
    n_failed: int = 0
    n_truncated: int = 0
    n_tokens: int = 0
    n_cached: int = 0
    speed: float | None = None
    speed_each: float | None = None
    wait: float | None = None
    wait_p95: float | None = None
    first_token: float | None = None
    first_token_p95: float | None = None
    average_busy: float | None = None
    pool_peak: int = 0
    failure: str | None = None

    @property
    def is_sound(self) -> bool:
        """Whether it started and every request ended as it should."""
        return self.error is None and self.n_failed == 0 and self.n_truncated == 0


class PlanResult(Struct, frozen=True):
    """The rows in the order of the candidates. ``device`` names the profile, or says that this machine was measured."""

    workload: Workload
    device: str
    rows: tuple[PlanRow, ...]
    batching: str = "continuous"

    @property
    def best(self) -> PlanRow | None:
        """The sound row that was done soonest; the first one of equals."""
        sound = [row for row in self.rows if row.is_sound and row.seconds is not None]
        return min(sound, key=lambda row: row.seconds or 0.0, default=None)


def spread(flags: LaunchFlags, slots: Iterable[int] = (1, 2, 4, 8), *, both_modes: bool = True) -> list[LaunchFlags]:
    """The same flags with several numbers of slots, split and (from two slots on) unified."""
    return [
        replace(flags, parallel=n, kv_unified=unified)
        for n in slots
        for unified in ((False, True) if both_modes and n > 1 else (flags.kv_unified,))
    ]


def run_plan(
    candidates: Sequence[LaunchFlags],
    workload: Workload,
    profile: DeviceProfile | None,
    facts: ModelFacts,
    *,
    options: CoreOptions | None = None,
    model: Model | None = None,
    memory: int | None = None,
    on_row: Callable[[PlanRow], None] | None = None,
) -> PlanResult:
    """Run every candidate over the workload; a row says why if its flags cannot start.

    With a ``profile``, time is virtual and no weights are needed. Without one, ``model`` really computes and its steps
    are timed. Idle time is skipped in both cases. ``memory``: bytes of the machine (None = plenty). ``on_row`` is
    called with each row once it is done. Raises `ValueError` if neither profile nor model is given.
    """
    if profile is None and model is None:
        raise ValueError("a plan needs a device profile, or a model to measure this machine with")
    rows: list[PlanRow] = []
    for flags in candidates:
        rows.append(_row(flags, workload, profile, facts, options, model, memory))
        if on_row:
            on_row(rows[-1])
    device = profile.name if profile else "this machine, measured"
    return PlanResult(workload, device, tuple(rows), options.batching if options else "continuous")


def _row(
    flags: LaunchFlags,
    workload: Workload,
    profile: DeviceProfile | None,
    facts: ModelFacts,
    options: CoreOptions | None,
    model: Model | None,
    memory: int | None,
) -> PlanRow:
    from ..slots.core import Core
    from ..slots.options import CoreOptions
    from .drive import Drive, measured
    from .ghost import GhostModel

    try:
        plan = plan_context(flags, facts, memory)
        runs = model if profile is None and model is not None else GhostModel(facts)
        core = Core(plan, runs, options or CoreOptions(verbosity=0))
    except (ContextError, ValueError) as error:
        return PlanRow(flags, error=str(error))
    except MemoryError:
        return PlanRow(flags, error="not enough memory for the KV cache; lower -c or -np")
    drive = Drive(core, workload, measured if profile is None else lambda piece, _: profile.step_us(piece))
    drive.run()
    return _measured_row(plan, drive)


def _measured_row(plan: ContextPlan, drive: Drive) -> PlanRow:
    good = [done for done in drive.done if done.error is None]
    waits = [done.waited for done in good]
    firsts = [done.first_token for done in good if done.first_token is not None]
    speeds = [done.speed for done in good if done.speed is not None]
    seconds = drive.now / 1e6 - min(arrival.at for arrival in drive.workload.arrivals)
    n_tokens = sum(done.n_decoded for done in good)
    return PlanRow(
        flags=plan.flags,
        n_slots=plan.n_slots,
        unified=plan.unified,
        n_ctx_slot=plan.slot_n_ctx,
        n_cells=plan.n_cells,
        kv_bytes=plan.kv_bytes,
        seconds=seconds,
        n_done=len(good),
        n_failed=len(drive.done) - len(good),
        n_truncated=sum(done.truncated for done in good),
        n_tokens=n_tokens,
        n_cached=sum(done.n_cached for done in good),
        speed=n_tokens / seconds if good and seconds > 0 else None,
        speed_each=_mean(speeds),
        wait=_mean(waits),
        wait_p95=_high(waits),
        first_token=_mean(firsts),
        first_token_p95=_high(firsts),
        average_busy=drive.core.metrics.busy_per_decode,
        pool_peak=min(plan.n_cells, drive.peak_active),  # a batch that did not fit counts only as far as it would fit
        failure=next((done.error for done in drive.done if done.error), None),
    )


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _high(values: Sequence[float]) -> float | None:
    """The 95th percentile: the value that 95 of 100 do not exceed."""
    return sorted(values)[-(-95 * len(values) // 100) - 1] if values else None
