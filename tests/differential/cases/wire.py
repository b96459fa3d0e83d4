"""Requests as they stand on the wire: versions, lines, lengths, chunks, several on one connection."""

from __future__ import annotations

import json
import re
import socket

from ..client import Client
from ..in_flight import PATIENCE
from ..scenario import scenario

HOST = b"Host: x\r\n"
BODY = b'{"content":"A"}'
LENGTH = b"Content-Length: 15\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n"
GET = b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n"
LIBRARY = re.compile(rb"parse error[^}]*")  # its wording is not compared
LENGTHS = re.compile(rb"Content-Length: \d+")
END = b"0\r\n\r\n"


def get(head: bytes = HOST, version: bytes = b"1.1", method: bytes = b"GET", target: bytes = b"/health") -> bytes:
    """A request without a body."""
    return method + b" " + target + b" HTTP/" + version + b"\r\n" + head + b"\r\n"


def post(head: bytes, body: bytes = BODY, version: bytes = b"1.1", target: bytes = b"/tokenize") -> bytes:
    """A request with a body."""
    return get(HOST + head, version, b"POST", target) + body


def tell(c: Client, *requests: bytes) -> None:
    """Send each on a connection of its own and record the bytes that come back, headers in any order."""
    for request in requests:
        with socket.create_connection(("127.0.0.1", c.server.port), PATIENCE) as link:
            link.sendall(request)
            link.shutdown(socket.SHUT_WR)
            answer = b"".join(iter(lambda: link.recv(65536), b""))
        if LIBRARY.search(answer):
            answer = LIBRARY.sub(b"", LENGTHS.sub(b"Content-Length: ?", answer))
        heads = [sorted(head.split(b"\r\n")) for head in answer.split(b"\r\n\r\n")]
        c.note(repr(request[:90]), [[line.decode("latin-1") for line in head] for head in heads])


@scenario("versions and first lines")
def versions(c: Client) -> None:
    for connection in (b"", b"Connection: keep-alive\r\n", b"Connection: Keep-Alive\r\n", b"Connection: close\r\n"):
        tell(c, get(connection, b"1.0"), post(LENGTH + connection, version=b"1.0"), get(HOST + connection) + GET)
    tell(c, b"GET /health\r\n\r\n", get(version=b"2.0"), get(version=b"1.2"), b"GET /health http/1.1\r\n\r\n")
    tell(c, b"GET \t/health\t \tHTTP/1.1\t\r\n\r\n", b"\tGET\t /health HTTP/1.1\r\n\r\n", get(target=b"/he\talth"))
    tell(c, b"GET  /health HTTP/1.1\r\n\r\n", b"GET /health HTTP/1.1 \r\n\r\n", b"GET\t/health\tHTTP/1.1\r\n\r\n")
    tell(c, b"\r\n" + GET, b"\r\n\r\n" + GET, b" " + GET, b"\r\n", b"", b"GET /health HT")
    tell(c, get(target=b"http://x/health"), get(target=b"*"), get(target=b"/h\xc3\xa9"), get(target=b"/a\x7f"))
    for method in (b"CONNECT", b"TRACE", b"PRI", b"LOCK", b"OPTIONS"):
        tell(c, get(method=method), get(method=method, target=b"/nothing"))


@scenario("headers and line ends")
def headers(c: Client) -> None:
    tell(c, get(b""), get(HOST + HOST), get(b"Host:\r\n"), get(b"Host: a b\r\n"), post(LENGTH + HOST))
    tell(c, b"GET /health HTTP/1.1\nHost: x\n\n", b"GET /health HTTP/1.1\r\nHost: x\nA: b\r\n\r\n")
    for line in (
        b"A: b\r\n c", b"A : b", b"A:", b": b", b"A: b\0c", b"A: \xe9", b"A: \x01", b"A:\tb\t", b"A(b): c", b"A b: c",
        b" A: b", b"A", b"Connection: keep-alive, close", b"Connection: TE", b"Connection: close\r\nConnection: TE",
        b"Accept: text/html;q=0.5, */*", b"Accept:", b"Accept-Encoding: gzip", b"Accept: json", b"Accept: *",
        b"Accept: a/b;q=2", b"Accept: a/b;q=x", b"Accept: a/b;q=", b"Accept: a/b;Q=1.0;q=9", b"Accept: ;a",
        b"Accept: ,,",
        b"Accept: a/b\r\nAccept: json", b"Accept: a/b;level=1;q=.5", b"Accept: a/b;q=-0", b"Accept: a/b; q=0.123456",
        b"Range: bytes=9-3", b"Range: x", b"Range: bytes=", b"Range: bytes=-", b"Range: bytes=a-b",
        b"Range: bytes=0-1,x", b"Range: bytes=-9223372036854775807", b"Range: bytes=-9223372036854775808",
    ):  # fmt: skip
        tell(c, get(HOST + line + b"\r\n"), get(line + b"\r\n", b"1.0"))
    tell(
        c,
        get(target=b"/" + b"a" * 33_000),
        b"GET /health HTTP/1.1\r\nHost: x\r\n",
        b"GET /health HTTP/1.1\r\nHost: x\r\n\r",
    )


@scenario("ranges and refused heads")
def ranges(c: Client) -> None:
    for asked in (
        b"0-", b"5-7", b"-3", b"100000-", b"3-100000", b"0-1,3-4", b"0-1,0-1", b"0-1,0-1,0-1", b"0-1,0-1,0-1,1-2",
        b"-0", b"15-15", b"14-14", b"-15", b"-16", b"0-1,100-", b"0-" + b"9" * 30, b"9" * 30 + b"-",
        b"0-1" + b",9-9" * 1100,
    ):  # fmt: skip
        line = b"Range: bytes=" + asked + b"\r\n"
        for target in (b"/health", b"/nothing"):
            tell(c, get(HOST + line, target=target), get(HOST + line, method=b"HEAD", target=target))
        tell(c, post(LENGTH + line))
    for line in (b"A : b", b"Accept: x", b"Range: x", b"Content-Length: x", b"Transfer-Encoding: x", b"A"):
        tell(c, get(HOST + line + b"\r\n", method=b"HEAD"))
    tell(
        c,
        b"HEAD /health HTTP/2.0\r\n\r\n",
        b"HEAD /health HTTP/1.1\r\nA",
        get(HOST + CHUNKED, method=b"HEAD") + b"zz\r\n",
    )


@scenario("lengths of bodies")
def lengths(c: Client) -> None:
    for told in (b"-1", b"+15", b"0xf", b"15x", b"15.0", b"  15  ", b"00015", b"", b"9" * 30, b"15, 15", b"5", b"25"):
        tell(c, post(b"Content-Length: " + told + b"\r\n"))
    tell(c, post(LENGTH + LENGTH), post(LENGTH + b"Content-Length: 14\r\n"), post(b"", b""), post(b"") + GET)
    tell(c, post(b"Connection: close\r\n"), post(b"", version=b"1.0"), post(b"", b"", b"1.0"))
    tell(
        c,
        get(HOST + b"Content-Length: 3\r\n") + b"abc" + GET,
        post(LENGTH) + GET + post(LENGTH),
        post(LENGTH, target=b"/no"),
    )
    for target in (b"/health", b"/no", b"/props", b"/slots/0?action=erase"):
        for method in (b"GET", b"HEAD", b"POST", b"PUT", b"DELETE", b"OPTIONS"):
            cut = get(HOST + LENGTH, method=method, target=target) + BODY[:9]
            coded = get(HOST + LENGTH + b"Content-Encoding: gzip\r\n", method=method, target=target) + BODY
            form = get(HOST + LENGTH + b"Content-Type: multipart/form-data\r\n", method=method, target=target) + BODY
            in_chunks = get(HOST + CHUNKED, method=method, target=target)
            tell(c, cut, coded, form, in_chunks + b"9\r\nab", in_chunks + b"zz\r\n")
    for expected in (b"100-continue", b"100-Continue", b"other"):
        expect = b"Expect: " + expected + b"\r\n"
        tell(c, post(LENGTH + expect), post(expect, b""), post(LENGTH + expect, target=b"/no"), get(HOST + expect))
        tell(c, post(LENGTH + expect, version=b"1.0"))


@scenario("bodies that nobody reads")
def unread(c: Client) -> None:
    kinds = b"Content-Encoding: gzip\r\n", b"Content-Type: multipart/form-data; boundary=B\r\n"
    for told, body in ((b"", b""), (b"Content-Length: 0\r\n", b""), (LENGTH, BODY), (CHUNKED, END)):
        for kind in kinds:
            for method, target in ((b"GET", b"/health"), (b"HEAD", b"/health"), (b"POST", b"/tokenize")):
                tell(c, get(HOST + kind + told, method=method, target=target) + body)
                if body:
                    tell(c, get(HOST + kind + told + b"Connection: close\r\n", method=method, target=target) + body)
        tell(c, post(CHUNKED + kinds[0], b"zz\r\n"), post(LENGTH + kinds[0], b""))
        expecting = get(HOST + b"Expect: 100-continue\r\n" + told, method=b"OPTIONS")
        tell(c, expecting, expecting + body + GET, get(method=b"HEAD") + b"no request")


@scenario("bodies in chunks")
def chunks(c: Client) -> None:
    one = b"f\r\n" + BODY + b"\r\n"
    tell(
        c, post(CHUNKED, one + END), post(CHUNKED, b"3\r\n" + BODY[:3] + b"\r\nC\r\n" + BODY[3:] + b"\r\n" + END + GET)
    )
    for coding in (b"CHUNKED", b"gzip, chunked", b"identity", b"chunked, gzip", b"foo", b"", b",chunked ,, ", b","):
        tell(c, post(b"Transfer-Encoding: " + coding + b"\r\n", one + END))
    tell(c, post(CHUNKED + LENGTH, one + END), post(CHUNKED + CHUNKED, one + END), post(CHUNKED, one + END, b"1.0"))
    for size in (b"f;a=b", b"000F", b"0xf", b"-1", b"zz", b"5", b"f ", b"f\t;", b"", b"f" * 17, b"ff"):
        tell(c, post(CHUNKED, size + one[1:] + END))
    tell(
        c,
        post(CHUNKED, one),
        post(CHUNKED, one + b"0\r\n"),
        post(CHUNKED, one + b"0\r\nX: y\r\n\r\n"),
        post(CHUNKED, END),
    )
    tell(c, get(HOST + CHUNKED) + b"3\r\nabc\r\n" + END + GET)


@scenario("clients that close their side after a request", "-c 16384 -np 2")
def half_closed(c: Client) -> None:
    asked = {"prompt": "A slot is", "n_predict": 3, "temperature": 0, "ignore_eos": True}
    chat = {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 3, "temperature": 0}
    for path, body in (
        ("/completion", asked), ("/v1/completions", asked), ("/v1/chat/completions", chat), ("/completion", {}),
        ("/completion", asked | {"stream": True, "prompt": []}), ("/completion", asked | {"n_predict": 8000}),
        ("/slots/0?action=erase", {}), ("/apply-template", chat),
    ):  # fmt: skip
        data = json.dumps(body).encode()
        length = b"Content-Length: %d\r\n" % len(data)
        c.raw(post(length, data, target=path.encode()), path, half_closed=True)
    data = json.dumps(asked | {"stream": True, "n_predict": 8000}).encode()
    with socket.create_connection(("127.0.0.1", c.server.port), PATIENCE) as link:
        link.sendall(post(b"Content-Length: %d\r\n" % len(data), data, target=b"/completion"))
        link.shutdown(socket.SHUT_WR)
        head, _, events = b"".join(iter(lambda: link.recv(65536), b"")).partition(b"\r\n\r\n")
    c.note("a stream is cut", {"status": head.split(b"\r\n")[0].decode(), "whole": events.endswith(END)})
    c.until_idle()


@scenario("several requests at once on one connection")
def pipelined(c: Client) -> None:
    tell(c, GET + GET, post(LENGTH) + GET, get(target=b"/no") + GET, GET + b"FOO\r\n\r\n", get(method=b"OPTIONS") + GET)
    tell(c, GET + get(method=b"HEAD"), post(CHUNKED, b"f\r\n" + BODY + b"\r\n" + END) + b"\r\n" + GET)
