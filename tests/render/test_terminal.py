"""What may reach a terminal."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compiler.terminal import Style, escape, paint, printable, width


@given(st.text(st.characters()))
def test_printable_prints_and_can_be_encoded(text: str) -> None:
    assert printable(text).isprintable()
    printable(text).encode()


@given(st.text(st.characters(categories=["L", "N", "P", "S", "M"])))
def test_printable_leaves_alone_what_prints(text: str) -> None:
    assert printable(text) == text


@pytest.mark.parametrize(
    "text, expected",
    [
        ("\t", "\\t"),
        ("\x1b[0m", "\\x1b[0m"),
        ("a\nb", "a\\nb"),
        ("\u202e", "\\u202e"),
        ("\udc80", "\\udc80"),
        ("'\\", "'\\"),
    ],
)
def test_what_does_not_print_is_an_escape(text: str, expected: str) -> None:
    assert printable(text) == expected


def test_a_document_keeps_its_lines() -> None:
    assert escape('{\n"é": "\x9b"}', lambda c: f"<{ord(c):x}>") == '{\n"é": "<9b>"}'


@pytest.mark.parametrize("text, expected", [("abc", 3), ("é", 1), ("e\u0301", 1), ("日本", 4), ("\uff46", 2), ("", 0)])
def test_width_in_columns(text: str, expected: int) -> None:
    assert width(text) == expected


def test_paint_only_where_asked_and_where_there_is_something() -> None:
    assert paint("a", Style.ERROR, color=True) == "\x1b[1;31ma\x1b[0m"
    assert paint("a", Style.ERROR, color=False) == "a"
    assert paint("a", None, color=True) == "a"
    assert paint("", Style.ERROR, color=True) == ""
