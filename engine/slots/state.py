"""What the managers of the core share: slots, cells, queues, and what is to be told."""

from __future__ import annotations

from ..context import ContextPlan
from ..events import Event
from ..model.interface import Model
from .decode.graphs import Graphs
from .kv.cache import KvCache
from .options import CoreOptions
from .prompt.store import PromptStore
from .queue.task import Result
from .queue.task_queue import TaskQueue
from .report.log import Log
from .report.metrics import Metrics
from .slot import Slot

__all__ = ["CoreState"]


class CoreState:
    """``now`` is the time of the call that the driver is making (µs)."""

    def __init__(self, plan: ContextPlan, model: Model, options: CoreOptions, now: int) -> None:
        self.plan = plan
        self.model = model
        self.tokenizer = model.tokenizer
        self.options = options
        self.now = now
        self.results: list[Result] = []
        self.events: list[Event] = []
        self.log = Log(options.verbosity, self.tell, lambda: self.now)
        store = model.new_kv(plan.n_stream, plan.n_ctx_seq, plan.flags.type_k, plan.flags.type_v)
        store.v_transposed = plan.flags.flash_attn == "off"
        self.cache = KvCache(plan, store, model.kv_shape)
        self.slots = tuple(Slot(i, plan.slot_n_ctx, sequence) for i, sequence in enumerate(self.cache.sequences))
        self.queue = TaskQueue()
        self.metrics = Metrics()
        self.graphs = Graphs(self.cache, int(options.warmup and None not in (self.tokenizer.bos, self.tokenizer.eos)))
        self._last_release = -1
        self.store: PromptStore | None = None
        if options.cache_ram != 0:
            self.store = PromptStore(options.cache_ram, plan.n_ctx, self.cache, self.log)

    @property
    def is_static(self) -> bool:
        """Whether a batch of requests runs to its end before the next is taken."""
        return self.options.batching == "static"

    @property
    def publishes_idle_slots(self) -> bool:
        """``--cache-idle-slots`` needs the prompt store."""
        return self.options.cache_idle_slots and self.store is not None

    def tell(self, event: Event) -> None:
        """Record an event."""
        self.events.append(event)

    def emit(self, result: Result) -> None:
        """Record what a task says."""
        self.results.append(result)

    def stamp_release(self) -> int:
        """The time of a release; two in one step differ, so that the earlier one is the longer unused."""
        self._last_release = max(self.now, self._last_release + 1)
        return self._last_release

    def any_busy(self) -> bool:
        """Whether a task holds a slot."""
        return any(slot.phase for slot in self.slots)

    def busy(self) -> list[Slot]:
        """Busy slots in id order."""
        return [slot for slot in self.slots if slot.phase]

    def clear(self, slot: Slot) -> None:
        """Empty a slot's KV and token list."""
        self.log.slot("T", "prompt_clear", slot, f"clearing prompt with {slot.n_tokens} tokens")
        self.cache.remove(slot.id)
        slot.n_tokens = 0
