"""A scripted minute for a class: eight prompts on four slots, then on two slots, then in a unified pool."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import ClassVar

from msgspec import Struct
from textual import on, work
from textual.binding import Binding, BindingType

from slotview.engine.backend import Backend, FireRequest
from slotview.engine.context import LaunchFlags
from slotview.engine.snapshot import HealthState

from ..app import SlotviewApp
from ..messages import Refreshed

__all__ = ["SCRIPT", "DemoApp", "Step"]

NAMES = ("Anna", "Ben", "Clara", "Dan", "Emma", "Finn", "Greta", "Hugo")
STORIES = tuple(FireRequest(f"{name} was a little cat.", n_predict=64, seed=7) for name in NAMES)


class Step(Struct, frozen=True):
    """A caption, what is done when it appears, and for how many seconds it stays.

    "{busy}" and "{waiting}" in a caption stand for what the panels show. ``picture`` is the name of the picture to be
    taken when the step ends.
    """

    caption: str
    seconds: float
    retune: LaunchFlags | None = None
    fire: Sequence[FireRequest] = ()
    picture: str | None = None


SCRIPT: tuple[Step, ...] = (
    Step(
        "One server, four slots. -c 8192 is divided among them: 2 048 tokens of context each.",
        5,
        LaunchFlags(ctx_size=8192, parallel=4),
    ),
    Step(
        "Eight prompts at once, each wants a slot. Worked on together: {busy}. Waiting: {waiting}.",
        5,
        None,
        STORIES,
        "four-slots",
    ),
    Step("When a slot is freed, the request that waited longest takes it. Nobody is lost.", 14),
    Step(
        "Two slots instead of four: 4 096 tokens each, but {busy} at work and {waiting} waiting.",
        5,
        LaunchFlags(ctx_size=8192, parallel=2),
        STORIES,
        "retune-two-slots",
    ),
    Step("Fewer at once: each answer is faster, all together take longer. Watch the speed of each slot.", 9),
    Step(
        "Unified: four slots share one pool. Each may use all 8 192 tokens, as long as all together fit.",
        6,
        LaunchFlags(ctx_size=8192, parallel=4, kv_unified=True),
        STORIES,
        "unified",
    ),
    Step("Running requests were queued again with what they had: their tokens are processed again, none is lost.", 8),
    Step("Now you: f fires prompts, t retunes, Enter opens a slot, ? explains every number, q quits.", 5),
)


class DemoApp(SlotviewApp):
    """The dashboard, playing a script; all keys work meanwhile, and ``n`` skips to the next step.

    ``picture`` is called with the name of a step's picture when the step ends.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("n", "next_step", "Next step", id="demo.next", tooltip="Skip to the next step of the demo"),
    ]

    def __init__(
        self,
        backend: Backend,
        *,
        refresh: float = 0.25,
        theme: str | None = None,
        script: Sequence[Step] = SCRIPT,
        picture: Callable[[str], None] | None = None,
    ) -> None:
        super().__init__(backend, refresh=refresh, theme=theme)
        self._script = script
        self._picture = picture
        self._next = asyncio.Event()
        self._caption = ""
        self.played = asyncio.Event()
        """Set when the script is over."""

    def on_ready(self) -> None:
        """Start once the first frame is drawn."""
        self.play()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """A script without captions is played for its pictures, and offers no next step."""
        if action == "next_step":
            return any(step.caption for step in self._script)
        return super().check_action(action, parameters)

    def action_next_step(self) -> None:
        """Go on at once."""
        self._next.set()

    @work
    async def play(self) -> None:
        """Play the script from its beginning."""
        await self._engine_ready()
        for number, step in enumerate(self._script, 1):
            if step.caption:
                key = "n: next" if number < len(self._script) else "n: hide"
                self._caption = f"{number}/{len(self._script)}  {step.caption}  ({key})"
                self._tell()
            await self._do(step)
            await self._wait(step.seconds)
            if step.picture and self._picture:
                self._picture(step.picture)
        self.played.set()
        await self._next.wait()
        self._caption = ""
        self._tell()

    @on(Refreshed)
    def _tell(self) -> None:
        """Show the caption with the numbers that the panels show; who is not seen yet waits, too."""
        look = self.dashboard.feed.look
        waiting = (look.snapshot.waiting.count or 0) + look.n_unseen
        self.dashboard.caption = self._caption.format(busy=look.snapshot.busy, waiting=waiting)

    async def _engine_ready(self) -> None:
        """Wait until the model is loaded."""
        while self.dashboard.feed.look.snapshot.health.state is not HealthState.OK:
            await asyncio.sleep(0.05)

    async def _do(self, step: Step) -> None:
        if step.retune is not None and step.retune != self.backend.flags:
            await self.dashboard.retune(step.retune)
        if step.fire:
            self.dashboard.fire(list(step.fire))

    async def _wait(self, seconds: float) -> None:
        """Wait for the end of the step, or for the key."""
        self._next.clear()
        try:
            await asyncio.wait_for(self._next.wait(), seconds)
        except TimeoutError:
            return
