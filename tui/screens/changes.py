"""What a screen may change through its backend: prompts, flags, slots, the model. It asks first, if it has to."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, TypeVar, cast

from textual import on, work
from textual.screen import Screen

from slotview.engine.backend import BackendError, FireRequest, RetuneMode, RetuneReport
from slotview.engine.context import LaunchFlags
from slotview.engine.events import Severity
from slotview.engine.text.plural import plural
from slotview.widgets.numbers import count
from slotview.widgets.request_list import RequestList

from ..feed import Feed
from ..outcome import outcome

if TYPE_CHECKING:
    from ..app import BaseApp
    from .dialog import Dialog
    from .fire import FireForm
    from .slot_actions import ChosenAction

__all__ = ["ChangingScreen"]

AnswerT = TypeVar("AnswerT")
_WAITS_FOR = {
    RetuneMode.LIVE: (0.5, "retuning at the next step boundary"),
    RetuneMode.RESTART: (0.01, "restarting the server"),
}
"""After how many seconds to say what a change of flags is waiting for, and the words for it."""


class ChangingScreen(Screen[None]):
    """Base of the dashboard: the dialogs that end in a change."""

    def __init__(self, feed: Feed) -> None:
        super().__init__()
        self.feed = feed
        self._may_change = False

    @property
    def chosen_slot(self) -> int | None:
        """Id of the slot that actions apply to."""
        raise NotImplementedError

    def fired(self) -> None:
        """Called after prompts were sent."""

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Grey out what this backend cannot do, and hide what makes no sense here."""
        can = self.feed.backend.capabilities
        if action == "fire":
            return True if can.fire else None
        if action == "retune":
            return True if can.retune is not RetuneMode.NONE else None
        if action == "slot_actions":
            return True if can.slot_actions or can.save_files else None
        if action == "choose_model":
            return bool(self.feed.look.snapshot.facts.models)
        return True

    def tell(self, text: str, severity: Severity = "information", timeout: float | None = None) -> None:
        """Show a short message; its text is never markup."""
        self.app.notify(text, severity=severity, timeout=timeout, markup=False)

    def tell_only(self, text: str, timeout: float | None = None) -> None:
        """Show a short message in place of all others, since a key held down would fill the screen with them."""
        self.app.clear_notifications()
        self.tell(text, timeout=timeout)

    def fail(self, error: Exception) -> None:
        """Show why something could not be done."""
        self.tell(str(error), "error", timeout=8)

    # Dialogs open at once, not in a worker, so that keys typed ahead go to them rather than to this screen.

    def open(self, dialog: Dialog[AnswerT], work: Callable[[AnswerT], object] | None = None) -> None:
        """Open a dialog, and do ``work`` with its answer, unless another is open: a key held down asks for several."""
        if self.app.screen is self:
            self.app.push_screen(dialog, None if work is None else _if_answered(work))

    def action_fire(self) -> None:
        """Ask for prompts, and send them."""
        from .fire import FireScreen

        last = cast("BaseApp[None]", self.app).last_fire
        self.open(FireScreen(last, self.feed.look.snapshot.slots), self._fire_form)

    @work
    async def _fire_form(self, form: FireForm) -> None:
        cast("BaseApp[None]", self.app).last_fire = form
        requests = form.requests()
        if await self._confirmed(f"send {plural(sum(request.count for request in requests), 'prompt')} to"):
            self.fire(requests)

    def fire(self, requests: list[FireRequest]) -> None:
        """Send prompts, and show the requests."""
        try:
            for request in requests:
                self.feed.fire(request)
        except BackendError as error:
            self.fail(error)
        self.fired()

    @on(RequestList.CancelRequested)
    def _cancel(self, message: RequestList.CancelRequested) -> None:
        ticket = self.feed.ticket(message.number)
        if ticket is None or ticket.view().state.is_over:
            self.tell_only(f"request {message.number} has ended already")
            return
        ticket.cancel()
        self.tell(f"request {message.number} is being cancelled")

    @on(RequestList.CancelAllRequested)
    def _cancel_all(self) -> None:
        n_open = self.feed.cancel_all()
        if not n_open:
            self.tell_only("no request is open")
            return
        self.tell(f"{plural(n_open, 'request')} {'is' if n_open == 1 else 'are'} being cancelled")

    def action_retune(self) -> None:
        """Show what other flags would do, and apply them if that is possible."""
        from .retune import RetuneScreen

        self.open(RetuneScreen(self.feed.backend), self._retune_to)

    @work
    async def _retune_to(self, flags: LaunchFlags) -> None:
        await self.retune(flags)

    async def retune(self, flags: LaunchFlags) -> None:
        """Change the flags and say what that did; if it takes a while, say what it is waiting for."""
        seconds, words = _WAITS_FOR[self.feed.backend.capabilities.retune]
        announcement = self.set_timer(seconds, partial(self.tell, words))
        try:
            report = await outcome(lambda: self.feed.backend.retune(flags))
        except BackendError as error:
            self.app.clear_notifications()
            self.fail(error)
        else:
            done = "retuned: " if self.feed.backend.capabilities.retune is RetuneMode.LIVE else ""
            self.tell_only(done + _told(report), timeout=10)
        finally:
            announcement.stop()

    def action_slot_actions(self) -> None:
        """Erase, save or restore the chosen slot's cache."""
        from .slot_actions import SlotActionScreen

        slot = self.chosen_slot
        if slot is None:
            self.tell("choose a slot first", "warning")
            return
        self.open(SlotActionScreen(slot, self.feed.backend.capabilities), partial(self._act_on, slot))

    @work
    async def _act_on(self, slot: int, chosen: ChosenAction) -> None:
        if not await self._confirmed(f"{chosen.action} slot {slot} of"):
            return
        try:
            backend = self.feed.backend
            result = await outcome(lambda: backend.slot_action(chosen.action, slot, chosen.filename))
        except BackendError as error:
            self.fail(error)
            return
        self.tell(result.text or f"slot {slot}: {chosen.action} done, {result.n_tokens} tokens")

    @work
    async def action_choose_model(self) -> None:
        """Choose one of a router's models."""
        from .models import ModelScreen

        name = await self.app.push_screen_wait(ModelScreen(self.feed.look.snapshot.facts.models))
        if name is not None:
            try:
                self.feed.backend.choose_model(name)
            except BackendError as error:
                self.fail(error)

    async def _confirmed(self, doing: str) -> bool:
        """Ask once per run before anything is changed on a server elsewhere."""
        server = self.feed.backend.capabilities.confirm
        if server is None or self._may_change:
            return True
        from .confirm import ConfirmScreen

        answer = await self.app.push_screen_wait(ConfirmScreen(doing, server))
        self._may_change = answer is True
        return self._may_change


def _if_answered(work: Callable[[AnswerT], object]) -> Callable[[AnswerT | None], None]:
    """Do ``work`` with the answer of a dialog, unless it was left without one."""

    def answered(answer: AnswerT | None) -> None:
        if answer is not None:
            work(answer)

    return answered


def _told(report: RetuneReport) -> str:
    """What a retune did, in one line; numbers that the backend's summary lacks are added."""
    parts = [
        (report.n_requeued, "requests queued again"),
        (report.n_tokens_again, "tokens processed again"),
        (report.n_ended, "ended because they no longer fit"),
    ]
    told = [f"{count(number)} {words}" for number, words in parts if number and count(number) not in report.summary]
    return "; ".join([*([report.summary] if report.summary else []), *told]) or "done"
