"""Bodies of ``multipart/form-data``."""

from __future__ import annotations

import time

import pytest

from slotview.engine.serve.body import UnreadableError
from slotview.engine.serve.form import read_form

KIND = "multipart/form-data; boundary=b"
NAMED = b'Content-Disposition: form-data; name="%s"\r\n\r\n%s\r\n'
END = b"--b--\r\n"


def form(*parts: tuple[bytes, bytes]) -> bytes:
    """The body of a form with these fields."""
    return b"".join(b"--b\r\n" + NAMED % part for part in parts) + END


def test_a_field_is_read_by_its_name_and_several_of_a_name_are_a_list() -> None:
    body = b"before\r\n" + form((b"prompt", b"a\r\n--c"), (b"stop", b"x"), (b"stop", b"")) + b"after"
    assert read_form(body, KIND) == {"prompt": "a\r\n--c", "stop": ["x", ""]}
    assert read_form(body, 'multipart/form-data; boundary="b"') == read_form(body, KIND)


def test_files_and_parts_without_a_name_are_passed_over() -> None:
    file = b'--b\r\nContent-Disposition: form-data; name="x"; filename="y"\r\n\r\nx\r\n'
    bare = b"--b\r\n\r\nx\r\n--b\r\nContent-Type: a/b\r\n\r\nx\r\n"
    assert read_form(file + bare + form((b"n", b"1")), KIND) == {"n": "1"}


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (form((b"n", b"1")), "multipart/form-data"),
        (form((b"n", b"1")).removesuffix(END), KIND),
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
    assert read_form(form(*parts), KIND) == {"n": ["x" * 50_000] * 1024}
    nameless = b"--b\r\nContent-Disposition: form-data; " + b"a" * 10_000_000 + b"\r\n\r\nx\r\n" + END
    assert read_form(nameless, KIND) == {}
    assert time.thread_time() - began < 5
