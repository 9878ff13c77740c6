"""The texts that a compilation starts from."""

from __future__ import annotations

import codecs
from dataclasses import dataclass

from compiler.diagnostics import Code, Diagnostic, Position, Severity

__all__ = ["Text", "decode"]

_WIDE_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)


@dataclass(frozen=True, slots=True)
class Text:
    """A file's content and the name that diagnostics call it by.

    Attributes:
        name: the path as the user gave it, or ``<stdin>``.
        is_stream: standard input, which has no lines that a person could open: its documents are numbered instead.
    """

    name: str
    content: str
    is_stream: bool = False


def decode(name: str, content: bytes, *, is_stream: bool = False) -> Text | Diagnostic:
    """Decode a file as UTF-8, with or without a byte order mark; a file that is something else gives a diagnostic."""
    if content.startswith(_WIDE_MARKS):
        return _not_text(name, "is UTF-16 or UTF-32", "save it as UTF-8")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        return _not_text(
            name, f"is not UTF-8: byte {error.start} is 0x{content[error.start]:02x}", "leave it out with --exclude"
        )
    if "\0" in text:
        return _not_text(name, "is binary: it contains NUL", "leave it out with --exclude")
    return Text(name, text, is_stream)


def _not_text(name: str, what: str, remedy: str) -> Diagnostic:
    return Diagnostic(Severity.ERROR, Code.NOT_TEXT, f"this file {what}", Position(name), remedy)
