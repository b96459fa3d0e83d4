"""The table of rules, one per finding, and what keeps findings from flickering."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from slotview.engine.events import Severity

from ..continuity import answered_at, is_current
from ..observation import Finding
from . import rules_pool, rules_queue, rules_slots, rules_tasks
from .scene import Rule, Scene

__all__ = ["RULES", "FindingKeeper"]

RULES: tuple[Rule, ...] = (*rules_slots.RULES, *rules_pool.RULES, *rules_queue.RULES, *rules_tasks.RULES)

_ORDER: dict[Severity, int] = {"error": 0, "warning": 1, "information": 2}


class _Standing(Struct):
    """One rule's current finding: since when it has held, and when it last did."""

    finding: Finding | None = None
    since: float = 0.0
    seen: float = 0.0
    shown: bool = False


class FindingKeeper:
    """Applies all rules; a finding appears only after it has held for a while, and disappears a while after it ended.

    Time passes from answer to answer: silence neither confirms nor ends a finding, and while a server is silent none is
    shown.
    """

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._rules = tuple(rules)
        self._standing = [_Standing() for _ in self._rules]

    def update(self, scene: Scene) -> tuple[Finding, ...]:
        """Return the current findings, the most severe first, else in the table's order."""
        if not is_current(scene.snapshot):
            return ()
        now = answered_at(scene.snapshot)
        for rule, standing in zip(self._rules, self._standing, strict=True):
            _settle(rule, standing, rule.find(scene), now)
        self._drop_contradicted(now)
        found = [standing.finding for standing in self._standing if standing.shown and standing.finding is not None]
        return tuple(sorted(found, key=lambda finding: _ORDER[finding.severity]))

    def _drop_contradicted(self, now: float) -> None:
        """Drop findings that only linger, if another one about the same subject holds now."""
        pairs = list(zip(self._rules, self._standing, strict=True))
        holding = {rule.subject for rule, standing in pairs if standing.shown and standing.seen == now and rule.subject}
        for rule, standing in pairs:
            if standing.seen < now and rule.subject in holding:
                standing.finding, standing.shown = None, False


def _settle(rule: Rule, standing: _Standing, finding: Finding | None, now: float) -> None:
    if finding is not None:
        if standing.finding is None:
            standing.since = now
        standing.finding, standing.seen = finding, now
        standing.shown = standing.shown or now - standing.since >= rule.after
    elif standing.finding is not None and (not standing.shown or now - standing.seen >= rule.linger):
        standing.finding, standing.shown = None, False
