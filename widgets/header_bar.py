"""What is watched, how it was started, and how it is doing."""

from __future__ import annotations

from slotview.engine.snapshot import Health, HealthState, KvPool, PaceView, ServerFacts, Snapshot
from slotview.engine.text.plain import plain

from .base.line import Line, cut, flow, join, line_width, wrap
from .base.panel import LinePanel
from .health import health_tone
from .look import Look
from .numbers import count, duration, rate

__all__ = ["HeaderBar"]

_NOT_TOLD = "unknown"
_NOT_KNOWN = "not known"
_TEXT_LIMIT = 200


class HeaderBar(LinePanel):
    """Two or three lines that lose nothing at 80 columns; one more if something is wrong."""

    DEFAULT_CSS = """
    HeaderBar {
        border-top: none;
        background: $foreground 5%;
        &.-stale { opacity: 100%; }
    }
    """

    def draw(self, look: Look, width: int, height: int | None) -> list[Line]:
        """Make the lines; age and interval are in the first one if source and model leave room for them."""
        snapshot = look.snapshot
        age = [] if look.frozen and snapshot.health.is_live else _age(snapshot)
        health, timing = _health(look), [*age, *_interval(snapshot)]
        identity = _identity(snapshot, width)
        fits = line_width(identity) + line_width(join([health, *timing])) + 2 <= width
        status = join([health, *timing]) if fits else health
        first = _first(_identity(snapshot, width - line_width(status) - 2), status, width)
        return [first, *_launch(snapshot, width), *_notes(look, [] if fits else timing, width)]


def _first(left: Line, status: Line, width: int) -> Line:
    gap = max(2, width - line_width(left) - line_width(status))
    return (*left, (" " * gap, ""), *status)


def _is_untold(snapshot: Snapshot) -> bool:
    """Whether nothing is known yet: a server has not answered, or the engine does not run."""
    facts = snapshot.facts
    return not snapshot.health.is_live and (facts.n_slots, facts.n_ctx, facts.n_ctx_slot, snapshot.slots) == (None,) * 4


def _identity(snapshot: Snapshot, room: int) -> Line:
    """Source and model; if they do not both fit, each gets half of the room."""
    facts, unknown = snapshot.facts, _NOT_KNOWN if _is_untold(snapshot) else _NOT_TOLD
    source = "embedded engine" if facts.source == "embedded" else plain(facts.source, _TEXT_LIMIT) or "nothing yet"
    model = plain(facts.model, _TEXT_LIMIT) if facts.model else f"model {unknown}"
    room = max(16, room - 3)
    source = cut(source, max(room // 2, room - line_width(((model, ""),))))
    return join([((source, "strong"),), ((cut(model, room - line_width(((source, ""),))), ""),)])


def _health(look: Look) -> Line:
    state = look.snapshot.health.state
    badges = [name for name, holds in (("RECORDING", look.snapshot.is_replayed), ("FROZEN", look.frozen)) if holds]
    marks = [span for name in badges for span in ((f" {name} ", "badge"), (" ", ""))]
    return (*marks, (f"● {state.value}", health_tone(state)))


def _age(snapshot: Snapshot) -> list[Line]:
    """How old the slots on the screen are, in whole seconds."""
    age = snapshot.age
    if age is None:
        return []
    words = "< 1 s" if age < 1 else f"{int(age)} s" if age < 60 else duration(age)
    return [((f"{words} old", "dim" if snapshot.health.is_live else "warning"),)]


def _interval(snapshot: Snapshot) -> list[Line]:
    """How often a server is polled, unless the poller's note says so already."""
    poll = snapshot.poll
    if poll is None or poll.note:
        return []
    if poll.idle_gap is not None and poll.idle_gap > poll.interval:
        return [((f"idle, looking every {_gap(poll.idle_gap)}", "dim"),)]
    return [((f"every {_gap(poll.interval)}", "dim"),)]


def _gap(seconds: float) -> str:
    return f"{seconds:g} s" if seconds < 60 else duration(seconds)


def _launch(snapshot: Snapshot, width: int) -> list[Line]:
    """The launch flags and what follows from them, abbreviated if they do not fit into one line."""
    long = flow(_launch_parts(snapshot, short=False), width)
    return long if len(long) == 1 else flow(_launch_parts(snapshot, short=True), width)


def _launch_parts(snapshot: Snapshot, short: bool) -> list[Line]:
    if _is_untold(snapshot):
        return [((f"slots and context {_NOT_KNOWN}", "dim"),)]
    facts, pool = snapshot.facts, snapshot.pool
    n_slots = facts.n_slots if facts.n_slots is not None or snapshot.slots is None else len(snapshot.slots)
    limit = _fact("" if short else "n_ctx per slot ", facts.n_ctx_slot, "/slot" if short else "")
    return [
        _context(facts),
        _fact("-np ", n_slots),
        _mode(facts.unified if pool.unified is None else pool.unified, short),
        limit if facts.n_ctx_slot is not None else ((f"n_ctx per slot {_NOT_TOLD}", "dim"),),
        _pool(pool, short),
    ]


def _fact(label: str, value: int | None, unit: str = "") -> Line:
    if value is None:
        return ((label, "dim"), (_NOT_TOLD, "dim"))
    return ((label, "dim"), (count(value), ""), (unit, "dim"))


def _context(facts: ServerFacts) -> Line:
    """What -c asked for, and what it came to."""
    if facts.n_ctx_asked is None:
        return _fact("-c ", facts.n_ctx)
    return (*_fact("-c ", facts.n_ctx_asked), *_fact(" → ", facts.n_ctx))


def _mode(unified: bool | None, short: bool) -> Line:
    if unified is None:
        return ((f"KV mode {_NOT_TOLD}" if short else f"split or unified {_NOT_TOLD}", "dim"),)
    return (("unified KV" if unified else "split KV", ""),)


def _pool(pool: KvPool, short: bool) -> Line:
    if pool.cells is not None:
        return _fact("pool ", pool.cells)
    choice = " or ".join(count(cells) for cells in pool.candidates)
    if not choice:
        return (("pool unknown", "dim"),)
    return (("pool ", "dim"), (f"{choice}?" if short else f"unknown ({choice})", ""))


def _notes(look: Look, timing: list[Line], width: int) -> list[Line]:
    snapshot = look.snapshot
    notes = [*_health_notes(snapshot.health), *_restarts(look.observation.restarts)]
    notes += [*_served_at(snapshot.facts), *_batching(snapshot.facts), *_pace(snapshot.pace), *timing]
    if snapshot.poll is not None and snapshot.poll.note:
        notes.append(((plain(snapshot.poll.note, _TEXT_LIMIT), "dim"),))
    return flow([piece for note in notes for piece in _broken(note, width)], width)


def _broken(note: Line, width: int) -> list[Line]:
    """Break a note into pieces that fit, so that nothing of it is cut off."""
    if line_width(note) <= width:
        return [note]
    return [((row, tone),) for text, tone in note for row in wrap(text, width)]


def _health_notes(health: Health) -> list[Line]:
    tone = "waiting" if health.state is HealthState.OK else health_tone(health.state)  # what is told of it is a flaw
    message: Line = ((plain(health.message, _TEXT_LIMIT), tone),)
    advice: Line = ((plain(health.advice, _TEXT_LIMIT), ""),)
    return [part for part in (message, advice) if part[0][0]]


def _restarts(n_restarts: int) -> list[Line]:
    """How often the server started anew by itself, or by someone else's doing, since it is watched."""
    times = "once" if n_restarts == 1 else f"{count(n_restarts)} times"
    return [((f"restarted {times} while watched", "waiting"),)] if n_restarts else []


def _served_at(facts: ServerFacts) -> list[Line]:
    """Where curl finds the engine, too."""
    return [((f"also at {plain(facts.served_at, _TEXT_LIMIT)}", "prompt"),)] if facts.served_at else []


def _batching(facts: ServerFacts) -> list[Line]:
    return [(("static batching", "waiting"),)] if facts.batching == "static" else []


def _pace(pace: PaceView | None) -> list[Line]:
    if pace is None:
        return []
    if not pace.is_paced:
        return [(("not paced: as fast as this machine computes", "dim"),)]
    told: Line = ((f"paced as {plain(pace.profile, 40)}; times are that device's", "prompt"),)
    if pace.lag is None or pace.lag <= 1:
        return [told]
    return [told, ((f"this machine takes {rate(pace.lag)}× as long", "warning"),)]
