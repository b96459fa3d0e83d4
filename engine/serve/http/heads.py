"""The head of a request, by cpp-httplib's rules: its first line, its headers, and what they say about its body."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct, field

from .header_values import list_entries, whole_number
from .ranges import read_ranges

__all__ = [
    "HEADER",
    "Head",
    "RefusedError",
    "add_header",
    "chunk_size",
    "has_token",
    "read_request_line",
]

METHODS = (b"GET", b"HEAD", b"POST", b"PUT", b"DELETE", b"CONNECT", b"OPTIONS", b"TRACE", b"PATCH", b"PRI")
VERSIONS = (b"HTTP/1.1", b"HTTP/1.0")
MOST_HEADERS = 100
LONGEST_HEADER = 8192  # bytes of its line
TARGET = re.compile(rb"[^\x00-\x20\x7f]+")
HEADER = re.compile(rb"([!#$%&'*+\-.^_`|~0-9A-Za-z]+):([^\x00-\x08\x0a-\x1f\x7f]*)")
CHUNK_SIZE = re.compile(rb"(0*[0-9A-Fa-f]{1,16})[ \t]*(;[\t\x20-\x7e\x80-\xff]*)?")
WEIGHT = re.compile(rb"0*(0|0?\.[0-9]+|0\.|1(\.0*)?)")
LARGEST = 2**64 - 1
Headers = Sequence[tuple[bytes, bytes]]


class RefusedError(Exception):
    """What was sent is no request. ``status``: to answer with, 0 = close the connection without an answer."""

    def __init__(self, why: str, status: int = 400) -> None:
        super().__init__(why)
        self.status = status


class Head(Struct):
    """``version``: "1.0" or "1.1". ``headers``: names in lower case and values, in order."""

    method: bytes
    target: bytes
    version: bytes
    headers: list[tuple[bytes, bytes]] = field(default_factory=list)

    @classmethod
    def of(cls, scope: Mapping[str, Any]) -> Head:
        """The head of a request as an ASGI application gets it."""
        return cls(scope["method"].encode(), scope["raw_path"], scope["http_version"].encode(), scope["headers"])

    def values(self, name: bytes) -> list[bytes]:
        """The values of all lines of a header."""
        return [value for known, value in self.headers if known == name]

    @property
    def persistent(self) -> bool:
        """Whether the connection stays open after the answer."""
        if has_token(self.headers, b"connection", b"close"):
            return False
        return self.version == b"1.1" or has_token(self.headers, b"connection", b"keep-alive")

    @property
    def expects(self) -> bool:
        """Whether the client waits for a ``100 Continue`` before it sends the body."""
        has_body = self.chunked or bool(self.length)
        return has_body and self.version == b"1.1" and has_token(self.headers, b"expect", b"100-continue")

    @property
    def chunked(self) -> bool:
        """Whether the body comes in chunks: the last coding of the last line counts."""
        codings = self.values(b"transfer-encoding")
        return [coding.lower() for coding in list_entries(codings[-1:])[-1:]] == [b"chunked"]

    @property
    def length(self) -> int | None:
        """The told length of the body."""
        lengths = self.values(b"content-length")
        return whole_number(lengths[0]) if lengths else None

    def check(self) -> None:
        """Raise `RefusedError` where the length of the body is unclear, or Accept or Range name nothing."""
        lengths = self.values(b"content-length")
        if len(set(lengths)) > 1 or any(not length.isdigit() or whole_number(length) > LARGEST for length in lengths):
            raise RefusedError("no length")
        if self.values(b"transfer-encoding") and (not self.chunked or self.length):
            raise RefusedError("an unclear length")
        if not all(_is_accept(entry) for entry in list_entries(self.values(b"accept"))):
            raise RefusedError("no media types")
        if any(read_ranges(value) is None for value in self.values(b"range")[:1]):
            raise RefusedError("no range", 416)


def has_token(headers: Headers, name: bytes, token: bytes) -> bool:
    """Whether the comma-separated list of a header has a word, in upper or lower case."""
    return any(word.lower() == token for word in list_entries(value for known, value in headers if known == name))


def _is_accept(entry: bytes) -> bool:
    """Whether an entry of Accept is ``*`` or has a ``/``, and its weight ``q``, if any, is a number from 0 to 1."""
    media, *parameters = (word.strip(b" \t") for word in entry.split(b";"))
    weights = [word[2:].strip(b" \t") for word in parameters if word[:2].lower() == b"q="]
    return (media == b"*" or b"/" in media) and (not weights or WEIGHT.fullmatch(weights[0]) is not None)


def read_request_line(line: bytes) -> Head:
    """Read the first line. Raises `RefusedError`."""
    words = [word for piece in line.split(b" ") if (word := piece.strip(b"\t"))]
    if len(words) != 3 or words[0] not in METHODS or words[2] not in VERSIONS or not TARGET.fullmatch(words[1]):
        raise RefusedError("no request line")
    return Head(words[0], words[1], words[2].removeprefix(b"HTTP/"))


def add_header(head: Head, line: bytes) -> None:
    """Read one more header. Raises `RefusedError`."""
    found = HEADER.fullmatch(line)
    if found is None or len(line) + 2 > LONGEST_HEADER or len(head.headers) >= MOST_HEADERS:
        raise RefusedError("no header")
    head.headers.append((found[1].lower(), found[2].strip(b" \t")))


def chunk_size(line: bytes) -> int:
    """The length of the chunk that follows. Raises `RefusedError`."""
    found = CHUNK_SIZE.fullmatch(line)
    if found is None:
        raise RefusedError("no length of a chunk")
    return int(found[1], 16)
