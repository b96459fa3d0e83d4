"""Waiting: order, pins, families, actions on busy slots, cancelling."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Mapping

from ..client import Client
from ..in_flight import Running
from ..scenario import DIFFERS, scenario
from .prompts import tokens

LONG = 1200
ROOMY = "-c 8192 -np 2 -cram 0"


def _order(c: Client, runs: Mapping[str, Running]) -> None:
    """Record answers, and the order in which they came."""
    for name, run in runs.items():
        run.end(name)
    c.note("order", sorted(runs, key=lambda name: runs[name].ended))


def _queue(c: Client, waiting: int, *args: object, **fields: object) -> Running:
    """Start a request that must wait, and see it wait."""
    run = c.start(*args, **fields)  # type: ignore[arg-type]
    c.until_deferred(waiting)
    return run


@scenario("seven requests on two slots", ROOMY, fresh=True)
def seven(c: Client) -> None:
    both = c.start([tokens(20, 0), tokens(20, 1)], LONG, ignore_eos=True)
    c.until_busy(2)
    runs = {name: _queue(c, n, tokens(20, n + 9), 40 * n, ignore_eos=True) for n, name in enumerate("cdefg", 1)}
    both.end("a, b")
    _order(c, runs)
    c.slots()
    c.metrics()


@scenario("a pin to a busy slot at the head of the queue holds up the rest", ROOMY, fresh=True)
def head_of_line(c: Client) -> None:
    long = c.start(tokens(20, 0), LONG, id_slot=0, ignore_eos=True)
    c.until_busy(1)
    short = c.start(tokens(20, 1), 500, id_slot=1, ignore_eos=True)
    c.until_busy(2)
    pinned = _queue(c, 1, tokens(20, 2), 300, id_slot=0, ignore_eos=True)
    free = _queue(c, 2, tokens(20, 3), 10, ignore_eos=True)
    short.end("short")
    c.note("slot 1 stays idle", [slot["is_processing"] for slot in c.look()])
    c.until_deferred(2)
    c.note("slot 1 still idle", [slot["is_processing"] for slot in c.look()])
    _order(c, {"long": long, "pinned": pinned, "free": free})
    c.slots()


@scenario("a waiting request of the freed slot goes first", ROOMY, fresh=True)
def overtaking(c: Client) -> None:
    long = c.start(tokens(20, 0), LONG, id_slot=0, ignore_eos=True)
    c.until_busy(1)
    short = c.start(tokens(20, 1), 600, id_slot=1, ignore_eos=True)
    c.until_busy(2)
    first = _queue(c, 1, tokens(20, 2), 10, ignore_eos=True)
    pinned = _queue(c, 2, tokens(20, 3), 60, id_slot=1, ignore_eos=True)
    short.end("short")
    _order(c, {"first": first, "pinned": pinned})
    long.end("long")
    c.slots()


@scenario("a newcomer takes an idle slot before those who wait", ROOMY, fresh=True)
def newcomer(c: Client) -> None:
    long = c.start(tokens(20, 0), 2 * LONG, id_slot=0, ignore_eos=True)
    c.until_busy(1)
    pinned = _queue(c, 1, tokens(20, 2), 10, id_slot=0, ignore_eos=True)
    c.complete(tokens(20, 3), 5, ignore_eos=True)
    c.until_deferred(1)
    long.end("long")
    pinned.end("pinned")
    c.slots()


@scenario("all slots busy", ROOMY, fresh=True)
def all_busy(c: Client) -> None:
    c.ask("/slots?fail_on_no_slot=1", step="idle")
    c.until_idle()
    run = c.open([tokens(20, 0), tokens(20, 1)], LONG, ignore_eos=True)
    c.until_generating(0, 1)
    for query in ("fail_on_no_slot=1", "fail_on_no_slot=0", "fail_on_no_slot=false"):
        c.ask(f"/slots?{query}")
    for query in ("fail_on_no_slot=", "fail_on_no_slot"):
        c.note(query, c.fetch(f"/slots?{query}")[0])
    c.ask("/health")
    run.drop()
    c.until_idle()


@scenario("erase waits for a busy slot", ROOMY, fresh=True)
def busy_erase(c: Client) -> None:
    run = c.start(tokens(20, 0), 500, id_slot=0, ignore_eos=True)
    c.until_busy(1)
    erase = Running(c, "/slots/0?action=erase", {})
    c.until_deferred(1)
    c.note("processing", c.gauge("requests_processing"))
    run.end("run")
    erase.end("erase")
    c.slots()


@scenario("actions that wait touch their file when their turn comes", ROOMY, fresh=True, listed="waiting-actions")
def busy_actions(c: Client) -> None:
    run = c.start(tokens(20, 0), 300, id_slot=0, ignore_eos=True)
    c.until_busy(1)
    save = Running(c, "/slots/0?action=save", {"filename": "x.bin"})
    c.until_deferred(1)
    restore = Running(c, "/slots/0?action=restore", {"filename": "x.bin"})
    c.until_deferred(2)
    run.end("run")
    save.end("save")
    end = time.monotonic() + 1  # nobody ends a run, so the real server never looks at the second one
    while not restore.is_over and time.monotonic() < end:
        time.sleep(0.01)
    c.note(DIFFERS, restore.is_over)
    c.complete(tokens(5, 1), 1, id_slot=1)
    restore.end("restore")
    c.slots()


@scenario("outputs of one request need slots at once", "-c 4096 -np 4 -cram 0", fresh=True)
def families(c: Client) -> None:
    for slot in (0, 3, 2, 1):
        c.complete(tokens(12, slot), 4, n_cmpl=3, id_slot=slot, ignore_eos=True)
        c.slots()
    c.complete(tokens(12), 4, n_cmpl=6)
    c.ask("/completion", {"prompt": tokens(12), "n": 0, "n_predict": 2})
    c.complete([tokens(5, 1), tokens(6, 2)], 3, n_cmpl=2)
    c.metrics()


@scenario("a family waits, a plain request does not", "-c 8192 -np 4 -cram 0", fresh=True)
def waiting_family(c: Client) -> None:
    busy = c.start([tokens(20, n) for n in range(3)], LONG, ignore_eos=True)
    c.until_busy(3)
    family = _queue(c, 1, tokens(20, 7), 5, n_cmpl=3, ignore_eos=True)
    c.complete(tokens(20, 8), 3, ignore_eos=True)
    busy.end("busy")
    family.end("family")
    c.slots()


@scenario("children cannot shift", "-c 512 -np 2 --context-shift", fresh=True)
def family_shift(c: Client) -> None:
    c.complete(tokens(200), 100, n_cmpl=2, ignore_eos=True)
    c.until_idle()
    c.slots()


@scenario("a family whose prompt is too long or has bad tokens", "-c 512 -np 2", fresh=True)
def family_errors(c: Client) -> None:
    c.complete(tokens(300), 4, n_cmpl=2)
    c.until_idle()
    c.slots()
    c.complete([5000], 4, n_cmpl=2)
    c.complete(tokens(10), 4, n_cmpl=2, repeat_penalty=0)
    c.until_idle()
    c.slots()


@scenario(
    "pinning to a busy slot never touches the running request", "-c 8192 -np 2", fresh=True, listed="pin-to-busy-slot"
)
def pin_to_busy(c: Client) -> None:
    c.complete(tokens(40, 1), 5, id_slot=0, ignore_eos=True)
    c.complete(tokens(20, 2), 5, id_slot=0, ignore_eos=True)
    stream = c.open(tokens(20, 0), 800, id_slot=0, ignore_eos=True)
    stream.take(3)
    second = c.start([*tokens(40, 1), 500], 5, id_slot=0, ignore_eos=True)
    c.until_deferred(1)
    events = stream.rest()
    c.note(DIFFERS, events[-1])
    second.end("second")
    c.slots()


@scenario("-nocb: a prompt waits until nobody generates", "-c 8192 -np 2 -nocb -cram 0", fresh=True)
def not_continuous(c: Client) -> None:
    first = c.start(tokens(20, 0), LONG, id_slot=0, ignore_eos=True)
    c.until_generating(0)
    second = c.start(tokens(300, 1), 5, id_slot=1, ignore_eos=True)
    c.until_busy(2)
    waiting = c.look()[1]
    if not first.is_over:
        c.note("waiting", {key: waiting[key] for key in ("n_prompt_tokens_processed", "next_token")})
    _order(c, {"first": first, "second": second})
    c.slots()


@scenario("a stream that is dropped frees its slot", ROOMY, fresh=True)
def dropped(c: Client) -> None:
    stream = c.open(tokens(20, 0), 4000, id_slot=1, ignore_eos=True)
    c.note("first", stream.take(1))
    c.until_generating(1)
    stream.drop()
    c.until_idle()
    slot = c.look()[1]
    c.note("afterwards", {key: value for key, value in slot.items() if key != "n_prompt_tokens"})
    c.note("kept", bool(slot["n_prompt_tokens"]))


@scenario("a dropped stream of several prompts frees its slots in their order", "-c 8192 -np 3 -cram 0", fresh=True)
def dropped_several(c: Client) -> None:
    stream = c.open([tokens(20, seed) for seed in range(3)], 2000, ignore_eos=True)
    c.until_generating(0, 1, 2)
    stream.drop()
    c.until_idle()
    for seed in range(4):
        c.complete(tokens(9, 10 + seed), 1)


@scenario(
    "a client that goes away frees its slot", "-c 16384 -np 2 -cram 0", fresh=True, listed="disconnect-frees-at-once"
)
def gone(c: Client) -> None:
    with socket.create_connection(("127.0.0.1", c.server.port)) as link:
        body = json.dumps({"prompt": tokens(20), "n_predict": 3 * LONG, "temperature": 0, "ignore_eos": True})
        link.sendall(f"POST /completion HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
        c.until_busy(1)
    c.until_idle()
    c.note(DIFFERS, c.gauge("tokens_predicted_total") == 3 * LONG)


@scenario("a waiting stream that is dropped leaves the queue", "-c 8192 -np 1 -cram 0", fresh=True)
def dropped_waiting(c: Client) -> None:
    busy = c.start(tokens(20, 0), 3000, ignore_eos=True)
    c.until_busy(1)
    stream = c.open(tokens(20, 1), 30, ignore_eos=True)
    c.until_deferred(1)
    stream.drop()
    busy.end("busy", leave_out=("content", "tokens"))
    c.until_idle()
    c.complete(tokens(20, 3), 2)
    c.slots()


@scenario("families of every kind", "-c 2048 -np 4", fresh=True)
def kinds_of_families(c: Client) -> None:
    for fields in (
        {"n_cmpl": 4}, {"n_cmpl": 2, "cache_prompt": False}, {"n_cmpl": 3, "stop": ["e"]}, {"n_cmpl": 3, "id_slot": -7},
        {"n_cmpl": 4, "n_predict": 0}, {"n_cmpl": 2, "return_progress": True, "stream": True, "n_probs": 1},
        {"n_cmpl": 4, "logit_bias": [[2, 200]]},
    ):  # fmt: skip
        c.complete(tokens(20, 1), 3, **fields)
        c.slots()
    c.ask("/v1/completions", {"prompt": ["A", "B"], "n": 2, "max_tokens": 3, "temperature": 0, "seed": 4})
    c.metrics()
