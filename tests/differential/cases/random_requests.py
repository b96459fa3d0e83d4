"""Random requests on the wire, the same ones on every run: odd heads, bodies of all kinds, some one after another."""

from __future__ import annotations

from random import Random

from ..client import Client
from ..scenario import scenario
from .wire import BODY, tell

SEEDS = 3
CONNECTIONS = 100
METHODS = (b"POST", b"POST", b"GET", b"GET", b"HEAD", b"OPTIONS", b"PUT", b"DELETE", b"PATCH")
TARGETS = (b"/tokenize", b"/health", b"/health?x", b"/nothing", b"*", b"http://h/health", b"/tokenize#f", b"/slots/0")
VERSIONS = (b"HTTP/1.1", b"HTTP/1.1", b"HTTP/1.1", b"HTTP/1.1", b"HTTP/1.0", b"HTTP/1.0", b"HTTP/1.2", b"http/1.1")
HEADERS = (
    b"Host: x", b"Accept: */*", b"Accept: a/b;q=1.5", b"Accept: x", b"Range: bytes=0-3", b"Range: bytes=99-",
    b"Range: bytes=5-2", b"Range: items=0-3", b"Connection: close", b"Connection: keep-alive", b"Connection: upgrade",
    b"Connection: TE, Close", b"Upgrade: h2c", b"Expect: 100-continue", b"Expect: x", b"Origin: http://a",
    b"Content-Type: application/json", b"Content-Type: application/x-www-form-urlencoded",
    b"Content-Type: multipart/form-data; boundary=B", b"Content-Encoding: x", b"Content-Length: 0", b"X:\t\xe9",
    b"Transfer-Encoding: identity", b"Keep-Alive: timeout=1", b"Trailer: X", b"X_.A: b", b"X : a", b"X", b"X: a\rb",
)  # fmt: skip
LENGTHS = (b"15", b"15", b"15", b"0015", b"+15", b"15, 15", b"14", b"", b"0")
CODINGS = (b"chunked", b"chunked", b"chunked", b"Chunked", b"gzip, chunked", b"chunked, gzip")
SIZES = (b"%x", b"%x", b"0%X", b"%x;a=b", b"%x ", b" %x", b"0x%x", b"+%x")
LASTS = (b"0\r\n\r\n", b"0\r\n\r\n", b"0;x\r\nX: a\r\n\r\n", b"0\r\nX\r\n\r\n", b"0\r\n", b"", b"-0\r\n\r\n")


def _in_chunks(chosen: Random) -> bytes:
    cut = chosen.randint(1, len(BODY) - 1)
    pieces = (BODY[:cut], BODY[cut:])
    return b"".join(chosen.choice(SIZES) % len(one) + b"\r\n" + one + b"\r\n" for one in pieces) + chosen.choice(LASTS)


def _request(chosen: Random) -> bytes:
    lines, body = chosen.sample(HEADERS, chosen.choice((0, 1, 1, 2, 3))), b""
    kind = chosen.randint(0, 3)
    if kind == 0:
        lines, body = [*lines, b"Content-Length: " + chosen.choice(LENGTHS)], BODY
    elif kind == 1:
        lines, body = [b"Transfer-Encoding: " + chosen.choice(CODINGS), *lines], _in_chunks(chosen)
    elif kind == 2 and chosen.random() < 0.2:
        body = BODY
    first = b" ".join((chosen.choice(METHODS), chosen.choice(TARGETS), chosen.choice(VERSIONS)))
    return chosen.choice((b"", b"", b"", b"\r\n")) + b"\r\n".join((first, *lines, b"", body))


def requests(seed: int) -> None:
    """One scenario of connections with one request or more."""

    @scenario(f"random requests {seed}", "-c 512 -np 2")
    def run(c: Client) -> None:
        chosen = Random(2000 + seed)
        for _ in range(CONNECTIONS):
            tell(c, b"".join(_request(chosen) for _ in range(chosen.choice((1, 1, 1, 2, 3)))))


for number in range(SEEDS):
    requests(number)
