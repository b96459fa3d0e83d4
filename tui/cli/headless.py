"""The commands without a screen: the HTTP face, one completion, a capacity plan."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence

from .common import DEFAULT_PACE, fail, read_flags

__all__ = ["complete_once", "print_plan", "start_server"]

USUAL_SLOTS = (1, 2, 4, 8)


def start_server(words: Sequence[str]) -> None:
    """``slotview serve``: the HTTP face."""
    from slotview.engine.serve.server import serve

    code = serve(read_flags(words))
    if code:
        sys.exit(code)


def complete_once(prompt: str, words: Sequence[str]) -> None:
    """``slotview complete``: text to stdout as it comes."""
    from slotview.engine.embedded.headless import complete
    from slotview.engine.embedded.loading import StartError

    flags = read_flags(words)
    try:
        for piece in complete(flags, prompt):
            sys.stdout.write(piece)
            sys.stdout.flush()
    except StartError as error:
        fail(error)
    sys.stdout.write("\n")


def print_plan(workload: str, slots: str | None, words: Sequence[str]) -> None:
    """``slotview plan``: how several numbers of slots do under a workload, as a table on stdout."""
    from slotview.engine.embedded.loading import StartError, bundled_model, core_options, facts_of_file, load
    from slotview.engine.lab.plan import run_plan, spread
    from slotview.engine.lab.report import format_plan
    from slotview.engine.lab.workload import WorkloadError, parse_workload

    flags = read_flags(words, check=False, usual_pace=DEFAULT_PACE)
    device = flags.device
    try:
        numbers = _numbers(slots, flags.launch.parallel)
        asked = parse_workload(workload)
        facts = facts_of_file(flags.model or str(bundled_model()))
        model = load(flags) if device is None else None  # without a device, this machine is measured
    except (ValueError, WorkloadError, StartError) as error:
        fail(error, 2)
    result = run_plan(spread(flags.launch, numbers), asked, device, facts, options=core_options(flags), model=model)
    if all(row.error for row in result.rows):
        fail(result.rows[0].error, 2)
    print(format_plan(result, shutil.get_terminal_size().columns))


def _numbers(slots: str | None, parallel: int) -> list[int]:
    """The numbers of slots to try: as listed, else that of ``-np``, else the usual ones. Raises `ValueError`."""
    if slots is None:
        return list(USUAL_SLOTS) if parallel < 0 else [parallel]
    try:
        return [int(number) for number in slots.split(",")]
    except ValueError:
        raise ValueError(f"--slots {slots}: give whole numbers with commas between them, for example 1,2,4") from None
