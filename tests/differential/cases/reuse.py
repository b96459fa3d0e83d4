"""The prompt store in RAM, chunk reuse, and what is kept."""

from __future__ import annotations

from ..client import Client
from ..scenario import scenario
from .prompts import tokens


def chunks(c: Client) -> None:
    held = tokens(60, 1)
    other = tokens(100, 2)
    c.complete(held, 1)
    c.complete(held[:10] + held[20:40] + other[:5] + held[45:60] + other[5:6], 1, n_cache_reuse=8)
    c.slots()
    c.complete(held, 1, id_slot=0, cache_prompt=False)
    c.complete(held[20:50], 3, id_slot=0, n_cache_reuse=8)
    c.complete(held[:5] + held[30:60] + other[:3], 3, id_slot=0, n_cache_reuse=4)
    c.complete(held[:5] + held[40:60], 3, id_slot=0, n_cache_reuse=0)
    c.slots()
    c.metrics()


scenario("chunk reuse", "-c 1024 -np 2 -cram 0", fresh=True)(chunks)
scenario("chunk reuse as a default", "-c 1024 -np 2 -cram 0 --cache-reuse 8", fresh=True)(chunks)
scenario("chunk reuse in one pool", "-c 1024 -np 2 -kvu", fresh=True)(chunks)


@scenario("a quarter of an entry is enough", "-c 1024 -np 2 -kvu", fresh=True)
def quarter(c: Client) -> None:
    c.complete(tokens(40, 1), 1)
    c.complete(tokens(6, 2), 1)
    c.complete(tokens(9, 1) + tokens(31, 3), 1)
    c.complete(tokens(6, 2), 1)
    c.complete(tokens(10, 1) + tokens(30, 4), 1)
    c.slots()
    c.metrics()


@scenario("the store holds no more than the pool where it has no limit", "-c 512 -np 2 -kvu -cram -1", fresh=True)
def many_entries(c: Client) -> None:
    for seed in range(4):
        c.complete(tokens(180, seed), 1)
        c.slots()
    for seed in range(4):
        c.complete([*tokens(180, seed), 500], 1)
    c.metrics()


@scenario("a small store drops the oldest", "-c 2048 -np 2 -kvu -cram 1", fresh=True)
def small_store(c: Client) -> None:
    for seed in range(4):
        c.complete(tokens(250, seed), 1)
    for seed in range(4):
        c.complete([*tokens(250, seed), 500], 1)
    c.slots()
    c.metrics()


@scenario("too large for the store: emptied all the same", "-c 4096 -np 2 -kvu -cram 1", fresh=True)
def too_large(c: Client) -> None:
    c.complete(tokens(1300, 1), 1)
    c.complete(tokens(5, 2), 1)
    c.slots()
    c.complete(tokens(1300, 1), 1)
    c.metrics()


@scenario("without a store idle slots keep their tokens", "-c 512 -np 3 -kvu -cram 0", fresh=True)
def no_store(c: Client) -> None:
    c.complete(tokens(150, 0), 4, id_slot=0, ignore_eos=True)
    c.complete(tokens(120, 1), 4, id_slot=1, ignore_eos=True)
    c.slots()
    c.complete(tokens(250, 2), 4, id_slot=2, ignore_eos=True)
    c.slots()
    c.metrics()


@scenario("with the store they are moved", "-c 512 -np 3 -kvu", fresh=True)
def with_store(c: Client) -> None:
    no_store(c)


@scenario("--no-cache-idle-slots in one pool", "-c 512 -np 3 -kvu --no-cache-idle-slots", fresh=True)
def not_idle(c: Client) -> None:
    no_store(c)
    c.complete(tokens(151, 0), 2)
    c.slots()


@scenario("--no-cache-prompt", "-c 512 -np 1 --no-cache-prompt", fresh=True)
def no_cache(c: Client) -> None:
    c.complete(tokens(30), 2)
    c.complete(tokens(30), 2)
    c.complete(tokens(30), 2, cache_prompt=True)
    c.slots()


@scenario("a conversation that grows", "-c 2048 -np 2", fresh=True)
def growing(c: Client) -> None:
    held = tokens(12, 7)
    for turn in range(5):
        answer = c.complete(held, 6, ignore_eos=True)
        said = answer["tokens"]
        assert isinstance(said, list)
        held = [*held, *said, *tokens(5, 100 + turn)]
        c.slots()
    c.metrics()


@scenario("a restore that finds no room leaves the entry", "-c 512 -np 2 -kvu", fresh=True)
def no_room(c: Client) -> None:
    c.complete(tokens(300, 1), 1, id_slot=0)
    c.complete(tokens(20, 2), 1, id_slot=1)
    c.slots()
    busy = c.open(tokens(200, 3), 200, id_slot=1, ignore_eos=True)
    busy.take(70)
    c.complete([*tokens(300, 1), 500], 2)
    end = busy.rest()
    c.note("the other's end", end[-1])
    c.slots()
    c.complete([*tokens(300, 1), 500], 2)


@scenario("asking for the cache or not, in turn", "-c 1024 -np 2", fresh=True)
def in_turn(c: Client) -> None:
    for cached in (True, False, None, False, True):
        c.complete(tokens(20, 1), 2, cache_prompt=cached, ignore_eos=True)
        c.complete([*tokens(20, 1), 400], 2, cache_prompt=cached, n_cache_reuse=2, ignore_eos=True)
        c.slots()


@scenario("chunks in any order", "-c 1024 -np 1 -cram 0", fresh=True)
def any_order(c: Client) -> None:
    held = tokens(80, 1)
    for prompt, least in (
        (held, 0), (held[:5] + held[20:], 1), (held[40:], 1), (held[::-1], 1), (held[:10] * 2 + held[10:20], 3),
        (held[10:20] * 3, 2), (held[:1], 1), (held, 200), (held[5:] + held[:5], 2),
    ):  # fmt: skip
        c.complete(prompt, 2, n_cache_reuse=least, ignore_eos=True)
        c.slots()
