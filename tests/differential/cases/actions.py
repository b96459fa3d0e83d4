"""Save, restore and erase."""

from __future__ import annotations

import http.client
import struct

from ..client import Client
from ..scenario import DIFFERS, scenario
from .prompts import each, tokens

NAMES = (
    "x.bin", "", ".", "..", "a/b", "a\\b", "a:b", "a*", "a?", 'a"', "<a", "a>", "a|b", " a", "a ", "a.", "a..b", ".a",
    "ü.bin", "\u202e", "\ufffd", "\ufeffa", "a\x01", "a\x7f", "a\u0085", "n" * 255, "n" * 256, "\uff0e\uff0e",
    "\u2215", "日本",
    "a\nb", "~", "con", "%2e",
)  # fmt: skip


def _took(answer: object) -> bool:
    return isinstance(answer, dict) and all(value > 0 for value in answer["timings"].values())


def save_and_restore(c: Client) -> None:
    c.complete(tokens(23), 4, id_slot=0, ignore_eos=True)
    saved = c.ask("/slots/0?action=save", {"filename": "x.bin"})
    c.slots()
    restored = c.ask("/slots/1?action=restore", {"filename": "x.bin"})
    c.note("took time", [_took(saved), _took(restored)])
    c.slots()
    c.complete(tokens(8), 3, id_slot=1)
    c.ask("/slots/0?action=erase", {})
    c.slots()
    c.ask("/slots/0?action=save", {"filename": "empty.bin"})
    c.ask("/slots/1?action=restore", {"filename": "empty.bin"})
    c.slots()
    c.ask("/slots/1?action=restore", {"filename": "missing.bin"})
    c.slots()
    c.metrics()


for flags in (
    "-c 768 -np 3",
    "-c 768 -np 3 -kvu",
    "-c 768 -np 3 -ctk q8_0 -ctv q8_0",
    "-c 768 -np 3 -ctk f16 -ctv q4_0",
):
    scenario(f"save, restore, erase with {flags}", flags, fresh=True)(save_and_restore)


@scenario("ids and names of actions", "-c 512 -np 2", fresh=True)
def wrong(c: Client) -> None:
    c.complete(tokens(8), 2, id_slot=1)
    for slot in (
        "9",
        "-1",
        "abc",
        "1x",
        "+1",
        "%201",
        "99999999999",
        "1.5",
        "0x1",
        "1/",
        "1/x",
        "00",
        "",
        "/",
        "%2F",
        "//",
        "/1",
        "1//",
    ):
        c.ask(f"/slots/{slot}?action=erase", {}, step=f"erase {slot!r}")
        c.slots()
    for query in ("", "?action=", "?action=Erase", "?action=nothing", "?Action=erase", "?action=erase&action=save"):
        c.ask(f"/slots/0{query}", {}, step=f"query {query!r}")
    for action in ("save", "restore"):
        for body in each({}, {"filename": 5}, {"filename": None}, [], 5, "text", b"{", b""):
            c.ask(f"/slots/0?action={action}", body, method="POST", step=f"{action} {body!r}")
    c.ask("/slots/0?action=erase", b"not JSON", method="POST")
    c.ask("/slots/0?action=erase", method="POST")
    c.slots()


@scenario("names of files", "-c 512 -np 2")
def names(c: Client) -> None:
    c.complete(tokens(3), 1, id_slot=0)
    for name in NAMES:
        c.ask("/slots/0?action=save", {"filename": name}, step=f"save {name!r}")


def cut(c: Client) -> None:
    c.complete(tokens(30), 2, id_slot=0)
    c.ask("/slots/0?action=save", {"filename": "x.bin"})
    whole = (c.server.folder / "x.bin").read_bytes()
    for part in (0.05, 0.3, 0.6, 0.999):
        (c.server.folder / "cut.bin").write_bytes(whole[: int(len(whole) * part)])
        c.ask("/slots/1?action=restore", {"filename": "cut.bin"}, step=f"{part} of it")
        c.slots()


scenario("save files that are cut off, split", "-c 512 -np 2 -ctk f16 -ctv f16")(cut)


@scenario("a save file cut off in one pool", "-c 512 -np 2 -kvu", fresh=True, listed="ends-the-process")
def cut_unified(c: Client) -> None:
    c.complete(tokens(30), 2, id_slot=0)
    c.ask("/slots/0?action=save", {"filename": "x.bin"})
    whole = (c.server.folder / "x.bin").read_bytes()
    (c.server.folder / "cut.bin").write_bytes(whole[: len(whole) * 19 // 20])
    try:
        c.note(DIFFERS, c.fetch("/slots/1?action=restore", {"filename": "cut.bin"})[0])
    except http.client.HTTPException:
        c.note(DIFFERS, "no answer")


@scenario("heads of save files", "-c 512 -np 2 -ctk f16 -ctv f16", fresh=True)
def heads(c: Client) -> None:
    c.complete(tokens(30), 2, id_slot=0)
    c.ask("/slots/0?action=save", {"filename": "x.bin"})
    whole = (c.server.folder / "x.bin").read_bytes()
    changed = {
        "longer": whole + b"\0\0\0\0",
        "magic": b"\0\0\0\0" + whole[4:],
        "version": whole[:4] + b"\7" + whole[5:],
        "short": whole[:3],
        "nothing": b"",
        "head": whole[:12],
    }
    for name, data in changed.items():
        (c.server.folder / f"{name}.bin").write_bytes(data)
        c.ask("/slots/1?action=restore", {"filename": f"{name}.bin"}, step=name)
        c.slots()


@scenario("actions are off without a path", "-c 512 -np 2", bare=True)
def off(c: Client) -> None:
    for action in ("save", "restore", "erase", "x"):
        c.ask(f"/slots/0?action={action}", {})
    c.ask("/slots/abc", {})
    c.ask("/metrics")
    c.ask("/props", {})


@scenario("restoring does not purge idle slots", "-c 512 -np 3 -kvu -cram 0", fresh=True)
def no_room(c: Client) -> None:
    c.complete(tokens(300, 1), 1, id_slot=0)
    c.ask("/slots/0?action=save", {"filename": "x.bin"})
    c.ask("/slots/1?action=restore", {"filename": "x.bin"})
    c.slots()


@scenario("a file with more cells than a slot has", "-c 512 -np 2")
def too_many_cells(c: Client) -> None:
    words = [
        0x67677371,
        4,
        304,
        -1 % 2**32,
        1,
        300,
        *tokens(300),
        0,
        2,
        300,
        *(w for n in range(300) for w in (n, 1, 0)),
    ]
    (c.server.folder / "many").write_bytes(struct.pack(f"<{len(words)}I", *words))
    c.complete(tokens(30, 1), 4, id_slot=0, ignore_eos=True)
    c.ask("/slots/0?action=restore", {"filename": "many"})
    c.slots()


@scenario("one file for several slots, before and after erasing", "-c 1024 -np 3", fresh=True)
def across(c: Client) -> None:
    c.complete(tokens(30, 1), 4, id_slot=0, ignore_eos=True)
    for slot, action in ((0, "save"), (0, "save"), (0, "erase"), (0, "erase"), (0, "restore"), (2, "restore")):
        c.ask(f"/slots/{slot}?action={action}", {"filename": "a"})
    c.complete([*tokens(30, 1), 500], 2, id_slot=2, ignore_eos=True)
    c.ask("/slots/2?action=save", {"filename": "b", "x": 1})
    c.ask("/slots/7?action=restore", {"filename": "b"})
    c.complete(tokens(10, 1), 2, id_slot=1, n_cache_reuse=1, ignore_eos=True)
    c.ask("/slots/-2?action=save", {"filename": "c"})
    c.ask("/slots/0?action=restore", {"filename": "missing"})
    c.complete(tokens(30, 1), 2, cache_prompt=False, ignore_eos=True)
    c.slots()
    c.metrics()


@scenario("the file of an empty slot", "-c 512 -np 2")
@scenario("the file of an empty slot, in one pool", "-c 512 -np 2 -kvu")
def of_empty(c: Client) -> None:
    c.ask("/slots/1?action=erase", {})
    c.ask("/slots/1?action=save", {"filename": "empty"})
    c.complete(tokens(30, 1), 4, id_slot=0, ignore_eos=True)
    for slot, action, name in (
        (0, "restore", "empty"), (0, "save", "left"), (1, "restore", "left"), (1, "save", "a"), (1, "erase", "")
    ):  # fmt: skip
        c.ask(f"/slots/{slot}?action={action}", {"filename": name})
        c.slots()
    c.complete(tokens(30, 1), 4, id_slot=0, ignore_eos=True)
    c.ask("/slots/0?action=save", {"filename": "a"})
    c.slots()


@scenario("a slot that was shifted is saved", "-c 512 -np 2 --context-shift", fresh=True)
def shifted(c: Client) -> None:
    bias = [[400, 100]]
    c.complete(tokens(200, 1), 100, id_slot=0, logit_bias=bias, ignore_eos=True)
    c.ask("/slots/0?action=save", {"filename": "a"})
    c.ask("/slots/1?action=restore", {"filename": "a"})
    c.complete(tokens(50, 1), 2, id_slot=1, n_cache_reuse=5, logit_bias=bias)
    c.complete([400] * 20, 2, id_slot=0, n_cache_reuse=5, logit_bias=bias)
    c.slots()
