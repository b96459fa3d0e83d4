"""Pairs of names and values: in the query of a target, and in a body that says so, as curl's `-d` does by itself."""

from __future__ import annotations

from ..client import Client
from ..scenario import scenario

KIND = "application/x-www-form-urlencoded"


@scenario("pairs in the query and in the body", "-c 512 -np 2")
def pairs(c: Client) -> None:
    def act(query: str, body: str, kind: str = KIND) -> None:
        headers = {"Content-Type": kind}
        c.ask(f"/slots/0{query}", body.encode(), method="POST", headers=headers, step=f"{query!r} {body!r} {kind!r}")

    for body in (
        "action=erase", "&&action=%65rase&&", "a=b& action=erase\t", "action=era+se", "action", "=erase", "action=",
        "action=erase=", "ACTION=erase", "action=x&action=erase", "action=erase&action=x", "action=erase\r\n",
        "action=erase&action=x&action=erase", "action =erase", "action=erase%",
    ):  # fmt: skip
        act("", body)
        if body.isprintable() and " " not in body:
            act(f"?{body}", "")
    act("?action=x", "action=erase")
    act("?action=erase", "action=x")
    act("?action=save", '{"filename":"a","b":"&action=erase&"}')
    for kind in (
        f"{KIND}; charset=utf-8",
        f"{KIND} ;",
        f" {KIND}",
        f"{KIND}x",
        f"{KIND},a/b",
        KIND.upper(),
        "text/plain",
    ):
        act("", "action=erase", kind)


@scenario("a long body that says it holds pairs", "-c 512 -np 2")
def long(c: Client) -> None:
    for kind in (KIND, f"{KIND}; charset=utf-8", "application/json"):
        for size in (2**20, 2**20 + 1):
            body = b'{"content":"A"}'.ljust(size)
            for method, path in (
                ("POST", "/tokenize"),
                ("GET", "/health"),
                ("POST", "/nothing"),
                ("OPTIONS", "/slots"),
            ):
                c.ask(path, body, method=method, headers={"Content-Type": kind}, step=f"{method} {path} {size} {kind}")


@scenario("whether a slot is free is asked in a body", "-c 4096 -np 1")
def busy(c: Client) -> None:
    stream = c.open("A slot is", 900, ignore_eos=True)
    c.until_busy(1)
    for body in ("fail_on_no_slot=1", "fail_on_no_slot=", "x"):
        c.note(body, c.fetch("/slots", body.encode(), method="GET", headers={"Content-Type": KIND})[0])
    stream.drop()
    c.until_idle()


@scenario("kinds of bodies", "-c 512 -np 2")
def kinds(c: Client) -> None:
    form = b'--B\r\nContent-Disposition: form-data; name="content"\r\n\r\nA\r\n--B--\r\n'
    for kind in (
        "multipart/form-data", "multipart/form-datax", "multipart/form-data ", " multipart/form-data",
        "multipart/mixed", "Multipart/Form-Data", "multipart/form-data,a/b", "a/b, multipart/form-data", "",
    ):  # fmt: skip
        for body in (b'{"content":"A"}', form):
            head = {"Content-Type": f"{kind}; boundary=B"}
            c.ask("/tokenize", body, method="POST", headers=head, step=f"{kind!r} {body[:3]!r}")
