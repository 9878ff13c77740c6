"""Texts in messages: on one line, printable, and short."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compiler.quoting import quoted


@pytest.mark.parametrize(
    "text,shown",
    [
        ("", '""'),
        ("nginx", '"nginx"'),
        ("café", '"café"'),
        ("a\nb", r'"a\nb"'),
        ("a\x00b", r'"a\x00b"'),
        ("\x1b[31m", r'"\x1b[31m"'),
        ("\ud800", r'"\ud800"'),
        ("\u202e", r'"\u202e"'),
        ("a" * 100, f'"{"a" * 100}"'),
        ("a" * 101, f'"{"a" * 99}…"'),
    ],
)
def test_a_text_is_shown_in_quotes(text: str, shown: str) -> None:
    assert shown == quoted(text)


@given(st.text(st.characters(codec=None)))
def test_any_text_is_shown_on_one_line_that_can_be_written(text: str) -> None:
    assert quoted(text).isprintable()
    assert quoted(text).encode()
