"""Plans run the real scheduler in virtual time and say what each set of flags comes to."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from slotview.engine.context import LaunchFlags, ModelFacts
from slotview.engine.context.kv_size import KvShape
from slotview.engine.lab.ghost import GhostModel
from slotview.engine.lab.plan import PlanResult, PlanRow, run_plan, spread
from slotview.engine.lab.report import format_plan
from slotview.engine.lab.workload import Lengths, Workload, burst, parse_workload
from slotview.engine.model.interface import Floats, KvStore, SequenceRun
from slotview.engine.pace import DeviceProfile, profile
from slotview.engine.slots.options import CoreOptions

FACTS = ModelFacts(n_ctx_train=8192, shape=KvShape(30, 3, 64, 64))
M4 = profile("m4-9b")
FLAT = DeviceProfile("flat", "every step takes 10 ms", step=10.0, per_slot=0.0, per_prompt=10.0, per_prompt_token=0.0)


def plan(workload: Workload, *candidates: LaunchFlags, device: DeviceProfile | None = M4) -> PlanResult:
    return run_plan(candidates, workload, device, FACTS)


def one(workload: Workload, flags: LaunchFlags, device: DeviceProfile | None = FLAT) -> PlanRow:
    (row,) = plan(workload, flags, device=device).rows
    return row


@pytest.mark.parametrize(
    ("n_slots", "seconds", "together", "each"), [(1, 24.3, 14.1, 16.3), (2, 17.2, 19.8, 12.8), (4, 12.7, 27.0, 9.8)]
)
def test_the_default_device_does_as_was_measured(n_slots: int, seconds: float, together: float, each: float) -> None:
    """Eight requests at once, about 343 tokens in all, on a 9B model: within 10 % of the published figures."""
    lengths = [64, 64, 20, 35, 64, 40, 28, 28]
    eight = burst(8, Lengths(15), Lengths(43))
    arrivals = tuple(replace(a, n_answer=n) for a, n in zip(eight.arrivals, lengths, strict=True))
    row = one(replace(eight, arrivals=arrivals), LaunchFlags(ctx_size=8192, parallel=n_slots), M4)
    assert row.n_tokens == 343
    assert row.seconds == pytest.approx(seconds, rel=0.1)
    assert row.speed == pytest.approx(together, rel=0.1)
    assert row.speed_each == pytest.approx(each, rel=0.1)


def test_times_follow_the_profile_exactly() -> None:
    row = one(burst(1, Lengths(20), Lengths(11)), LaunchFlags(ctx_size=512, parallel=1))
    assert row.seconds == pytest.approx(0.110)  # one step for the prompt and its first token, ten for the others
    assert row.first_token == pytest.approx(0.010)
    assert row.speed_each == pytest.approx(100.0)
    assert (row.n_done, row.n_tokens, row.wait) == (1, 11, 0.0)


def test_time_counts_from_the_first_arrival() -> None:
    workload = burst(1, Lengths(20), Lengths(11))
    late = replace(workload, arrivals=tuple(replace(arrival, at=60.0) for arrival in workload.arrivals))
    flags = LaunchFlags(ctx_size=512, parallel=1)
    assert one(late, flags).seconds == pytest.approx(one(workload, flags).seconds)


def test_requests_wait_for_a_slot() -> None:
    row = one(burst(2, Lengths(20), Lengths(11)), LaunchFlags(ctx_size=512, parallel=1))
    assert row.wait == pytest.approx(0.110 / 2, abs=0.006)
    assert row.wait_p95 == pytest.approx(0.110, abs=0.011)
    assert row.average_busy == pytest.approx(1.0)


def test_95_of_100_wait_no_longer_than_is_said() -> None:
    row = one(burst(20, Lengths(20), Lengths(11)), LaunchFlags(ctx_size=512, parallel=1))
    assert row.wait is not None
    assert row.wait_p95 == pytest.approx(row.wait * 18 / 9.5)  # they wait for 0, 1, 2 … 19 others


def test_idle_time_is_jumped_over_and_counted() -> None:
    row = one(burst(1, Lengths(20), Lengths(11), times=2, every=3600.0), LaunchFlags(ctx_size=512, parallel=1))
    assert row.seconds == pytest.approx(3600.110, abs=0.01)


def test_a_shared_pool_that_runs_full_fails_where_split_slots_do_not() -> None:
    workload = burst(4, Lengths(61), Lengths(300))
    shared = one(workload, LaunchFlags(ctx_size=512, parallel=4, kv_unified=True))
    assert (shared.n_done, shared.n_failed) == (0, 4)
    assert shared.failure == "Context size has been exceeded."
    assert shared.pool_peak == 512
    split = one(workload, LaunchFlags(ctx_size=2048, parallel=4))
    assert (split.n_done, split.n_failed, split.n_truncated) == (4, 0, 0)


def test_prompts_that_fit_no_slot_are_counted_with_their_reason() -> None:
    row = one(burst(2, Lengths(300), Lengths(5)), LaunchFlags(ctx_size=512, parallel=2))
    assert row.n_failed == 2
    assert row.failure is not None
    assert "request (300 tokens) exceeds the available context size (256 tokens)" in row.failure


def test_answers_cut_by_the_context_are_not_sound() -> None:
    flags = LaunchFlags(ctx_size=256, parallel=1)
    (row,) = (result := plan(burst(1, Lengths(100), Lengths(500)), flags)).rows
    assert row.n_truncated == 1
    assert not row.is_sound
    assert "-c 256 -np 1: 1 answer was cut off because the context was full" in format_plan(result)


def test_a_common_beginning_is_reused() -> None:
    flags = LaunchFlags(ctx_size=1024, parallel=1)
    alike = one(parse_workload("burst n=4 prompt=200 answer=5 shared=150"), flags)
    unlike = one(parse_workload("burst n=4 prompt=200 answer=5"), flags)
    assert alike.n_cached == 3 * 150
    assert unlike.n_cached < 10
    assert 200 < alike.pool_peak == unlike.pool_peak < 205


def test_flags_that_do_not_start_get_a_row_that_says_why() -> None:
    result = plan(burst(1, Lengths(5), Lengths(5)), LaunchFlags(parallel=0), LaunchFlags(ctx_size=512, parallel=1))
    assert result.rows[0].error is not None
    assert "-np 0" in result.rows[0].error
    assert result.best == result.rows[1]
    assert "does not start: -np 0" in format_plan(result)


def test_a_plan_is_the_same_every_time() -> None:
    workload = parse_workload("poisson rate=2 seconds=20 prompt=20..200 answer=30~ seed=5")
    flags = spread(LaunchFlags(ctx_size=4096), (1, 4))
    assert plan(workload, *flags) == plan(workload, *flags)


def test_this_machine_can_be_measured_with_a_model() -> None:
    heard: list[PlanRow] = []
    workload, flags = burst(2, Lengths(8), Lengths(4)), LaunchFlags(ctx_size=512, parallel=2)
    result = run_plan([flags], workload, None, FACTS, model=GhostModel(FACTS), on_row=heard.append)
    assert result.device == "this machine, measured"
    assert tuple(heard) == result.rows
    assert result.rows[0].seconds is not None
    assert 0 < result.rows[0].seconds < 5
    with pytest.raises(ValueError, match="device profile"):
        run_plan([flags], workload, None, FACTS)


def test_only_a_plan_without_a_profile_computes_with_the_model() -> None:
    class Counting(GhostModel):
        n_passes = 0

        def forward(self, runs: Sequence[SequenceRun], kv: KvStore) -> Floats:
            self.n_passes += 1
            return super().forward(runs, kv)

    workload, flags = burst(1, Lengths(8), Lengths(4)), LaunchFlags(ctx_size=512, parallel=1)
    model = Counting(FACTS)
    run_plan([flags], workload, M4, FACTS, model=model)
    assert model.n_passes == 0
    run_plan([flags], workload, None, FACTS, model=model)
    assert model.n_passes == 4


def test_too_little_memory_for_the_cache_is_a_row_that_says_so() -> None:
    class Hungry(GhostModel):
        def new_kv(self, n_stream: int, n_cells: int, type_k: str, type_v: str) -> KvStore:
            raise MemoryError

    workload, flags = burst(1, Lengths(8), Lengths(4)), LaunchFlags(ctx_size=512, parallel=1)
    (row,) = run_plan([flags], workload, None, FACTS, model=Hungry(FACTS)).rows
    assert row.error == "not enough memory for the KV cache; lower -c or -np"


def test_options_of_the_server_count() -> None:
    workload, flags = burst(4, Lengths(30), Lengths(20)), LaunchFlags(ctx_size=1024, parallel=2)
    static = run_plan([flags], workload, M4, FACTS, options=CoreOptions(batching="static", verbosity=0))
    assert static.rows[0].n_done == 4
    assert format_plan(static).splitlines()[0].endswith("times of m4-9b; static batching")


def test_spread_offers_both_modes_where_they_differ() -> None:
    flags = spread(LaunchFlags(ctx_size=2048), (1, 2))
    assert [(each.parallel, each.kv_unified) for each in flags] == [(1, False), (2, False), (2, True)]
    assert [each.parallel for each in spread(LaunchFlags(), both_modes=False)] == [1, 2, 4, 8]


def test_the_table_names_the_best_and_every_failure() -> None:
    workload = burst(4, Lengths(61), Lengths(300))
    candidates = (LaunchFlags(ctx_size=512, parallel=4, kv_unified=True), LaunchFlags(ctx_size=2048, parallel=4))
    text = format_plan(plan(workload, *candidates))
    lines = text.splitlines()
    assert lines[0] == "4 requests at once: 61 prompt and 300 answer tokens; times of m4-9b"
    assert lines[2].split()[:3] == ["slots", "pool", "n_ctx"]
    assert "unified" in lines[3]
    assert lines[3].endswith("0/4")
    assert lines[4].endswith("4/4")
    assert "-c 512 -np 4 -kvu: 4 failed: Context size has been exceeded." in text
    told = ("MiB", "time", "tok/s", "each", "wait", "first", "p95", "busy", "peak")
    assert all(any(f"{head}: " in line for line in lines) for head in told)
    assert lines[-1].startswith("done first with every answer in full: -c 2048 -np 4")
    assert all(len(line) <= 80 for line in lines), "a table that is broken cannot be read"


def test_the_table_fits_80_columns_and_takes_the_room_of_a_wide_terminal() -> None:
    eight = plan(burst(8, Lengths(61), Lengths(64)), *spread(LaunchFlags(ctx_size=8192)))
    narrow, wide = format_plan(eight).splitlines(), format_plan(eight, 120).splitlines()
    assert max(map(len, narrow)) <= 80
    assert [line.split() for line in narrow] == [line.split() for line in wide]
    assert len(wide[2]) > len(narrow[2])
    seconds = {row.n_slots: row.seconds for row in eight.rows if row.is_sound and not row.unified}
    assert eight.best is not None
    assert eight.best.seconds == min(row.seconds or 0.0 for row in eight.rows) == seconds[8]


def test_no_sound_candidate_is_said() -> None:
    text = format_plan(plan(burst(1, Lengths(300), Lengths(5)), LaunchFlags(ctx_size=256, parallel=1)))
    assert "no candidate served every request in full" in text
