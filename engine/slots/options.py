"""Options of the server that the scheduler obeys; those about context are in the plan."""

from __future__ import annotations

from msgspec import Struct

__all__ = ["CoreOptions"]


class CoreOptions(Struct, frozen=True):
    """llama-server's options by name (spec §1.2, §1.3), and a few of our own.

    ``n_predict`` is ``-n``, ``n_keep`` ``--keep``, ``slot_prompt_similarity`` ``-sps``, ``cache_ram`` ``-cram`` in MiB
    (−1 no limit, 0 off), ``cache_idle_slots`` ``--cache-idle-slots``, ``cont_batching`` ``-cb``, ``context_shift``
    ``--context-shift``, ``verbosity`` ``-lv``, ``slots_debug`` and ``slots_n_diff`` the environment variables
    ``LLAMA_SERVER_SLOTS_DEBUG`` and ``…_N_DIFF``, ``special`` ``--special``,
    ``warmup`` ``--warmup``, whose empty run only counts among the graphs.

    ``batching`` "static" collects a batch of requests, runs it to its end and only then takes the next. ``check`` runs
    `Core.check_integrity` whenever everything is idle.
    """

    n_predict: int = -1
    n_keep: int = 0
    slot_prompt_similarity: float = 0.1
    cache_ram: int = 8192
    cache_idle_slots: bool = True
    cont_batching: bool = True
    context_shift: bool = False
    batching: str = "continuous"
    verbosity: int = 3
    slots_debug: bool = False
    slots_n_diff: int = 0
    special: bool = False
    warmup: bool = True
    check: bool = False
