"""Text from outside must not move the cursor, colour, hide, reorder or trick widths."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from slotview.engine.text.plain import SUBSTITUTE, plain

ANY = st.text(st.characters(codec=None, exclude_categories=()), max_size=80)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[2J", "␛[2J"),
        ("bell\x07 tab\t end\n", "bell␇ tab␉ end␊"),
        ("\x9b31m \x7f", f"{SUBSTITUTE}31m ␡"),
        ("\u202egnp.exe\u202c", f"{SUBSTITUTE}gnp.exe{SUBSTITUTE}"),
        ("a\u2066b\u2069\u200fc", f"a{SUBSTITUTE}b{SUBSTITUTE}{SUBSTITUTE}c"),
        ("👩\u200d👩\u200d👧", f"👩{SUBSTITUTE}👩{SUBSTITUTE}👧"),
        ("👍\U0001f3fd ❤\ufe0f", f"👍{SUBSTITUTE} ❤{SUBSTITUTE}"),
        ("\ud83d x", f"{SUBSTITUTE} x"),
        ("\U000e0041\U000e007f", SUBSTITUTE * 2),
        ("a\u200bb\ufeffc\u00add\u2060e", f"a{SUBSTITUTE}b{SUBSTITUTE}c{SUBSTITUTE}d{SUBSTITUTE}e"),
        ("\u3164\u115f\u1160", SUBSTITUTE * 3),
        ("a\u2028b\u00a0c\u3000d", f"a{SUBSTITUTE}b c d"),
        ("z\u0300\u0301\u0302\u0303", f"z\u0300\u0301{SUBSTITUTE}{SUBSTITUTE}"),
    ],
)
def test_what_a_terminal_would_obey_is_made_visible(text: str, shown: str) -> None:
    assert plain(text) == shown


ORDINARY = ["", "Llama-3.1 (8B)", "日本語のモデル", "e\u0301 é ñ Ωμέγα", "Привет мир", "שלום", "हिन्दी", "한국어",
            "[bold red]x[/]", "🦙 ok", "½ ± − × …", "\ufffd"]  # fmt: skip


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_text_of_any_language_passes(text: str) -> None:
    assert plain(text) == text


def test_long_text_ends_in_an_ellipsis() -> None:
    assert plain("abcdef", 4) == "abc…"
    assert plain("abcd", 4) == "abcd"
    assert plain("\x1b" * 10, 3) == "␛␛…"


def test_newlines_stay_where_asked_for() -> None:
    assert plain("a\nb\r", keep_newlines=True) == "a\nb␍"


@given(ANY, st.integers(1, 60))
def test_nothing_dangerous_comes_through(text: str, limit: int) -> None:
    shown = plain(text, limit)
    assert len(shown) <= limit
    assert shown.isprintable()
    assert not any(unicodedata.category(char) in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp") for char in shown)
    shown.encode()  # no surrogate is left


@given(ANY)
def test_once_more_changes_nothing(text: str) -> None:
    assert plain(plain(text)) == plain(text)


@given(ANY)
def test_the_width_is_that_of_the_characters_alone(text: str) -> None:
    shown = plain(text)
    assert cell_len(shown) == sum(cell_len(char) for char in shown)


@given(st.text(st.characters(codec="ascii", min_codepoint=32, max_codepoint=126)))
def test_printable_ascii_is_never_touched(text: str) -> None:
    assert plain(text, 10_000) == text
