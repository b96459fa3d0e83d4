"""Bodies of ``multipart/form-data``: what a part is called, which is a file, and what is no form."""

from __future__ import annotations

from random import Random
from typing import TypeVar

from ..client import Client
from ..scenario import scenario

FORMS = 150
BOUNDARIES = ("B", "----WebKitFormBoundaryAbC", "a'()+_,-./:=?")
ANNOUNCED = (
    "boundary={}", 'boundary="{}"', "x; boundary={}; charset=utf-8", "boundary = {} ;x", "Boundary={}",
    'x=";"; boundary={}', 'x="; boundary={}', "boundary={}; boundary=C", "boundary={}x", 'boundary="{}',
)  # fmt: skip
PARAMETERS = (
    b'name="content"', b"name=content", b'name = "content" ', b'Name="content"', b"name='content'", b'"name"=content',
    b'name="content"x', b'name=" content"', b'name="con;tent"', b"name;x", b"name=", b"", b"name=content=x",
    b'name="content"; name="x"', b'name="content"; filename="f"', b'name="content"; filename=""',
    b'name="content"; Filename=f', b"name=content; filename*=utf-8''f", b"name=content; filename*=f",
    b'x="; name=content',
    b'name=content; x="; filename=f', b'name="content"; x="\\"; filename=f"', b'name="with_pieces"', b"name=\xff",
)  # fmt: skip
DISPOSITIONS = (
    b"Content-Disposition: form-data; ", b"content-disposition:form-data;", b"Content-Disposition: Form-Data;\t",
    b"Content-Disposition: form-data ; ", b"Content-Disposition: attachment; ", b"Content-Disposition : form-data; ",
    b"X: y\r\nContent-Disposition: form-data; ",
)  # fmt: skip
MORE = (
    b"", b"\r\nContent-Type: text/plain", b"\r\nX", b"\r\n X: y", b"\r\nX: \x01", b"\r\nX: \xff", b"\nX: y",
    b'\r\nContent-Disposition: form-data; name="x"',
)  # fmt: skip
CONTENTS = (b"A", b"", b"A\r\nB", b"\r\n--B", b"--B", b"\xc3\xa9", b"\xff", b"\xe6\x97", b"\xed\xa0\x80", b"A\r\n")
ENDS = (b"--\r\n", b"--", b"--\r\nafter", b"", b"\r\n", b"-")
T = TypeVar("T")


def _mostly_first(chosen: Random, options: tuple[T, ...]) -> T:
    return chosen.choice(options) if chosen.random() < 0.3 else options[0]


def _part(chosen: Random, border: bytes) -> bytes:
    head = _mostly_first(chosen, DISPOSITIONS) + chosen.choice(PARAMETERS) + _mostly_first(chosen, MORE)
    return border + b"\r\n" + head + b"\r\n\r\n" + _mostly_first(chosen, CONTENTS) + b"\r\n"


@scenario("forms", "-c 512 -np 2")
def forms(c: Client) -> None:
    chosen = Random(1)
    for number in range(FORMS):
        boundary = _mostly_first(chosen, BOUNDARIES)
        border = b"--" + boundary.encode()
        parts = b"".join(_part(chosen, border) for _ in range(chosen.choice((1, 1, 2, 3))))
        body = _mostly_first(chosen, (b"", b"before\r\n", b"\r\n")) + parts + border + _mostly_first(chosen, ENDS)
        kind = f"multipart/form-data; {_mostly_first(chosen, ANNOUNCED).format(boundary)}"
        c.ask("/tokenize", body, method="POST", headers={"Content-Type": kind}, step=f"{number} {kind} {body[:200]!r}")


@scenario("a form that no route needs", "-c 512 -np 2")
def unneeded(c: Client) -> None:
    for content in CONTENTS:
        body = b"--B\r\nContent-Disposition: form-data; name=x\r\n\r\n" + content + b"\r\n--B--"
        for method, path in (("GET", "/health"), ("POST", "/props"), ("POST", "/nothing"), ("PUT", "/health")):
            kind = {"Content-Type": "multipart/form-data; boundary=B"}
            c.ask(path, body, method=method, headers=kind, step=f"{method} {path} {content!r}")
