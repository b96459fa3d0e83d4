"""Which slot a request gets."""

from __future__ import annotations

from ..client import Client
from ..scenario import scenario
from .prompts import each, tokens


@scenario("fresh slots are taken from the highest id down", "-c 1024 -np 4", fresh=True)
def fresh_slots(c: Client) -> None:
    c.slots()
    for seed in range(6):
        c.complete(tokens(10, seed), 2)
        c.slots()
    c.metrics()


@scenario("least recently used with -sps 0", "-c 768 -np 3 -sps 0", fresh=True)
def least_recent(c: Client) -> None:
    for _ in range(7):
        c.complete(tokens(10), 2)
        c.slots()


@scenario("ids out of range wrap", "-c 768 -np 3", fresh=True)
def wrapping(c: Client) -> None:
    for number in each(7, -5, -2, 4, 3, "0", 1.7, -1.9, True, 4294967297, None, [], 2147483648):
        c.complete(tokens(8, 1), 2, id_slot=number)
    c.slots()


@scenario("the old key slot_id is ignored", "-c 1024 -np 4", fresh=True)
def old_key(c: Client) -> None:
    c.ask("/completion", {"prompt": "a", "n_predict": 1, "slot_id": 0, "temperature": 0})
    c.slots()


@scenario("an identical prompt is read again for one token", fresh=True)
def repeat(c: Client) -> None:
    for _ in range(2):
        c.complete(tokens(20, 5), 4)
    for _ in range(3):
        c.complete(tokens(1, 6), 4)
    c.complete(tokens(20, 5), 4, cache_prompt=False)
    c.complete(tokens(20, 5), 4)
    c.slots()
    c.metrics()


@scenario("the longest prefix is measured against the new prompt", "-c 1024 -np 2 -sps 0.5", fresh=True)
def half(c: Client) -> None:
    c.complete(tokens(20, 1), 1)
    c.complete(tokens(10, 1) + tokens(10, 2), 1)
    c.slots()
    c.complete(tokens(12, 1) + tokens(8, 3), 1)
    c.slots()


@scenario("of equal prefixes the lower id wins", "-c 768 -np 3", fresh=True)
def equal_prefix(c: Client) -> None:
    for slot in (2, 1):
        c.complete(tokens(20, 1), 1, id_slot=slot)
    c.complete(tokens(20, 1), 1)
    c.complete(tokens(15, 1) + tokens(4, 9), 1)
    c.slots()


@scenario("a threshold of exactly 0.1 is not enough", "-c 1024 -np 2", fresh=True)
def threshold(c: Client) -> None:
    c.complete(tokens(30, 1), 1)
    c.complete(tokens(3, 1) + tokens(27, 2), 1)
    c.slots()
    c.complete(tokens(4, 1) + tokens(26, 3), 1)
    c.slots()


@scenario("by default idle slots are emptied into RAM", "-c 1024", fresh=True)
def idle_slots(c: Client) -> None:
    first = c.complete(tokens(13, 1), 1)
    c.slots()
    c.complete(tokens(13, 2), 1)
    c.slots()
    assert first["tokens_predicted"] == 1
    c.complete(tokens(14, 1), 1)
    c.slots()
    c.metrics()


PINS = "pinned follow-ups keep or lose their cache"


def pinned(c: Client) -> None:
    c.complete(tokens(13, 1), 1, id_slot=0)
    c.complete(tokens(6, 2), 1, id_slot=1)
    c.slots()
    c.complete(tokens(14, 1), 1, id_slot=0)
    c.slots()
    c.complete(tokens(6, 2), 1)
    c.slots()


scenario(f"{PINS}, unified", "-c 1024", fresh=True)(pinned)
scenario(f"{PINS}, split", "-c 1024 -np 4", fresh=True)(pinned)
scenario(f"{PINS}, -sps 0", "-c 1024 -np 4 -kvu -sps 0", fresh=True)(pinned)


@scenario("a pin below the threshold is reused all the same", "-c 2048 -np 2", fresh=True)
def below_threshold(c: Client) -> None:
    c.complete(tokens(20, 1), 1, id_slot=0)
    c.complete(tokens(20, 1) + tokens(300, 2), 1, id_slot=0)
    c.complete(tokens(22, 1), 1, id_slot=5)
    c.slots()


@scenario("empty prompts", fresh=True)
def empty(c: Client) -> None:
    c.complete("", 4)
    c.slots()
    c.complete(tokens(10), 2)
    c.complete([[]], 4)
    c.complete("", 4, stream=True)
    c.complete("", 4, id_slot=1)
    c.slots()
    c.metrics()


@scenario("tokens outside the vocabulary", fresh=True)
def bad_tokens(c: Client) -> None:
    c.complete([1024], 2)
    c.complete([-1], 2)
    c.complete([5, 2147483647], 2)
    c.complete([5, 99999999999], 2)
    c.complete([5, 1023], 2)
    c.complete([5, 2000], 2, stream=True)
    c.slots()
    c.metrics()


@scenario("a prefix is never more than the whole", "-c 1024 -np 3 -sps 1", fresh=True)
def whole_prefix(c: Client) -> None:
    for seed in (1, 1, 2, 1, 2, 3, 1):
        c.complete(tokens(12, seed), 2, ignore_eos=True)
    c.complete([*tokens(12, 1), 400], 2, ignore_eos=True)
    c.complete(tokens(6, 2), 2, ignore_eos=True)
    c.complete(tokens(1, 2), 1)
    c.slots()
