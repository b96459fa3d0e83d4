"""Bodies of ``multipart/form-data``."""

from __future__ import annotations

import time

import pytest

from slotview.engine.serve.bodies.form import members, read_form
from slotview.engine.serve.bodies.json_text import UnreadableError

from .face import Face

KIND = "multipart/form-data; boundary=b"
NAMED = b'Content-Disposition: form-data; name="%s"\r\n\r\n%s\r\n'
END = b"--b--\r\n"


def form(*parts: tuple[bytes, bytes]) -> bytes:
    """The body of a form with these fields."""
    return b"".join(b"--b\r\n" + NAMED % part for part in parts) + END


def part(*lines: bytes) -> bytes:
    """The body of a form with one part whose head has these lines."""
    return b"--b\r\n" + b"".join(line + b"\r\n" for line in lines) + b"\r\nx\r\n" + END


def test_a_field_is_read_by_its_name_and_several_of_a_name_are_a_list() -> None:
    body = b"before\r\n" + form((b"prompt", b"a\r\n--c"), (b"stop", b"x"), (b"stop", b"")) + b"after"
    assert members(read_form(body, KIND)) == {"prompt": "a\r\n--c", "stop": ["x", ""]}
    assert read_form(body, 'multipart/form-data; boundary="b"') == read_form(body, KIND)


@pytest.mark.parametrize(
    ("head", "name"),
    [
        ("name=n", "n"),
        ('NAME=m; name = " n;\t"', " n;\t"),
        ("name=n; name=m; x", "n"),
        ('name="n"; filename=""; Filename=f', "n"),
        ('name=n; x="; filename=f', "n"),
        ("name", ""),
        ("name=n; filename=f", None),
        ("name=n; filename*=UTF-8''f", None),
    ],
)
def test_what_a_part_is_called_and_which_is_a_file(head: str, name: str | None) -> None:
    found = members(read_form(part(f"Content-Disposition: form-data; {head}".encode()), KIND))
    assert found == ({} if name is None else {name: "x"})


def test_a_part_that_is_not_called_anything_has_no_name_and_the_last_head_counts() -> None:
    for lines in ((), (b"Content-Type: a/b",), (b"Content-Disposition: attachment; name=n",)):
        assert read_form(part(*lines), KIND) == [(b"", b"x")]
    named = (b"content-disposition:form-data;name=%s" % name for name in (b"m; filename=f", b"n; filename="))
    assert read_form(part(*named), KIND) == [(b"n", b"x")]


@pytest.mark.parametrize(
    "line",
    [
        b"bad", b" A: b", b"A : b", b"A: b\nB: c", b"Content-Disposition: form-data; Name=n",
        b"Content-Disposition: form-data; name=n; filename*=f", b'Content-Disposition: form-data; x="; name=n; y="',
    ],
)  # fmt: skip
def test_a_head_that_is_none_is_refused(line: bytes) -> None:
    with pytest.raises(UnreadableError) as refusal:
        read_form(part(line), KIND)
    assert refusal.value.status == 400


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"ab\xff", "invalid UTF-8 byte at index 2: 0xFF"),
        (b"ab\xe6\x97x", "invalid UTF-8 byte at index 4: 0x78"),
        (b"ab\xe6\x97", "incomplete UTF-8 string; last byte: 0x97"),
    ],
)
def test_text_that_is_not_utf_8_is_told(content: bytes, why: str) -> None:
    with Face() as face:
        data, headers = form((b"content", content)), {"Content-Type": KIND}
        answer = face.ask("/tokenize", data, headers=headers)
        assert (answer.status, answer.headers["Content-Type"]) == (500, "text/plain")
        assert answer.text == f"[json.exception.type_error.316] {why}"
        assert face.ask("/health", data, "GET", headers).status == 200


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (form((b"n", b"1")), "multipart/form-data"),
        (form((b"n", b"1")), "multipart/form-data; Boundary=b"),
        (form((b"n", b"1")).replace(b"--b", b"--" + b"b" * 71), f"multipart/form-data; boundary={'b' * 71}"),
        (form((b"n", b"1")).removesuffix(END), KIND),
        (form((b"n", b"1"), (b"n", b"2")).replace(b"1\r\n--b\r\n", b"1\r\n--b?\r\n"), KIND),
        (form(), KIND),
        (b"--b\r\n" + END, KIND),
        (b"--b\r\n\r\nx\r\n--bad", KIND),
        (b"", KIND),
        (form(*[(b"n", b"1")] * 1025), KIND),
    ],
)
def test_what_is_no_form_is_refused(body: bytes, kind: str) -> None:
    with pytest.raises(UnreadableError):
        read_form(body, kind)


def test_a_form_of_many_megabytes_is_read_at_once() -> None:
    began = time.thread_time()
    parts = [(b"n", b"x" * 50_000)] * 1024
    assert members(read_form(form(*parts), KIND)) == {"n": ["x" * 50_000] * 1024}
    long = form((b'n"; x="' + b";=" * 3_000_000 + b'"' + b" ;=" * 100_000, b"x"))
    assert members(read_form(long, KIND)) == {"n": "x"}
    assert time.thread_time() - began < 5
