"""One pool of cells for all slots, and what happens when it is full."""

from __future__ import annotations

from ..client import Client
from ..scenario import scenario
from .prompts import tokens


@scenario("a full pool ends every run", "-c 512 -cram 0", fresh=True)
def full(c: Client) -> None:
    c.ask(
        "/completion",
        {"prompt": [tokens(61, n) for n in range(4)], "n_predict": 300, "ignore_eos": True, "temperature": 0},
    )
    c.until_idle()
    c.slots()
    c.complete(tokens(61), 3)
    c.ask("/metrics", step="counters after it")


@scenario("limits of slots do not save the pool", "-c 2048 --kv-unified-per-slot 1024 -cram 0", fresh=True)
def per_slot(c: Client) -> None:
    c.slots()
    c.ask("/completion", {"prompt": [tokens(700, n) for n in range(4)], "n_predict": 4, "temperature": 0})
    c.until_idle()
    c.slots()
    c.complete(tokens(1023), 4)
    c.complete(tokens(1024), 4)


@scenario("an idle slot is purged before the batch is halved", "-c 256 -np 3 -kvu -cram 0", fresh=True)
def purged(c: Client) -> None:
    c.complete(tokens(110, 0), 10, id_slot=0, ignore_eos=True)
    c.ask(
        "/completion",
        {"prompt": [tokens(60, 1), tokens(61, 2)], "n_predict": 200, "temperature": 0, "ignore_eos": True},
    )
    c.until_idle()
    c.slots()
    c.metrics()


@scenario("three running streams in a full pool get an error event", "-c 256 -np 3 -kvu -cram 0", fresh=True)
def streams_in_full_pool(c: Client) -> None:
    events = c.open([tokens(50, 0), tokens(51, 1), tokens(52, 2)], 200, ignore_eos=True).rest()
    c.note("last", events[-1])
    c.until_idle()
    c.slots()


@scenario("several prompts share a batch of 32", "-c 1024 -np 3 -b 32", fresh=True)
def shared_batch(c: Client) -> None:
    c.ask("/completion", {"prompt": [tokens(50, 0), tokens(40, 1), tokens(10, 2)], "n_predict": 1, "temperature": 0})
    c.slots()
    c.metrics()


@scenario("three cells of context", "-c 3 -np 4", fresh=True)
def tiny_batch(c: Client) -> None:
    c.ask(
        "/completion",
        {"prompt": [tokens(7, n) for n in range(4)], "n_predict": 10, "temperature": 0, "ignore_eos": True},
    )
    c.slots()
    c.metrics()


@scenario("more prompts than slots", "-c 1024 -np 2 -b 64", fresh=True)
def more_prompts(c: Client) -> None:
    c.ask("/completion", {"prompt": [tokens(5 * n + 5, n) for n in range(7)], "n_predict": 6, "temperature": 0})
    c.slots()
    c.metrics()


def contexts(c: Client) -> None:
    c.slots()
    c.ask("/props")


for words in (
    "-c 1000 -np 3",
    "-c 1000 -np 3 -kvu",
    "-c 4097 -np 2",
    "-np 3 --kv-unified-per-slot 1000",
    "-c 777 -np 5 -kvu",
    "-np 2 --kv-unified-per-slot 100",
    "-c 16384 -np 1",
    "-np 6 --fit off",
):
    scenario(f"slots of {words}", words)(contexts)


@scenario("64 fresh slots", "-c 16384 -np 64", fresh=True)
def many(c: Client) -> None:
    c.slots()
    c.complete("a", 1)
    c.slots()


@scenario("two prompts that fill the pool to its last cell", "-c 256 -np 2 -kvu -cram 0", fresh=True)
def last_cell(c: Client) -> None:
    c.complete(tokens(255), 4, ignore_eos=True)
    for one, other, n in ((128, 128, 1), (128, 128, 2), (127, 127, 3)):
        c.complete([tokens(one, 1), tokens(other, n)], n, ignore_eos=True)
        c.until_idle()
        c.slots()
    c.metrics()


@scenario("a full pool is read in pieces of 16", "-c 256 -np 3 -kvu -b 16 -ub 8", fresh=True)
def pieces_of_16(c: Client) -> None:
    for length in (80, 100):
        c.complete([tokens(70, 1), tokens(length, 2), tokens(90, 3)], 20, ignore_eos=True)
        c.until_idle()
        c.slots()
    c.metrics()


@scenario("a full pool gives outputs only a part of their prompt, or nothing of it", "-c 256 -np 4 -kvu -cram 0")
def torn_families(c: Client) -> None:
    both = [tokens(128, 2), tokens(64, 1)]
    for prompt, held, n in ((tokens(130, 1), 150, 1), (tokens(130, 1), 150, 3), (both, 150, 6), (both[::-1], 160, 6)):
        c.complete(tokens(held), 2, id_slot=1, ignore_eos=True)
        c.complete(prompt, n, n_cmpl=2, ignore_eos=True)
        c.until_idle()
        c.slots()
    c.complete(tokens(30, 7), 3, n_cmpl=4, ignore_eos=True)
    c.slots()
    c.metrics()


@scenario("families and shifts in one pool", "-c 768 -np 3 -kvu --context-shift", fresh=True)
def pool_families(c: Client) -> None:
    c.complete(tokens(100, 1), 40, n_cmpl=2, ignore_eos=True)
    c.complete(tokens(200, 2), 700, ignore_eos=True, n_keep=10)
    c.slots()
    c.complete([tokens(150, seed) for seed in (3, 4, 5)], 10, ignore_eos=True)
    c.complete(tokens(150, 3) + tokens(40, 9), 5, n_cmpl=3, ignore_eos=True)
    c.slots()
    c.metrics()
