"""What may reach a terminal: text that can't move its cursor, change its title or hide what follows; widths; colours.

Everything that kuik shows may come from a file that somebody else wrote. An escape sequence in an image's name, or a
character that turns the direction of writing, must arrive as something to read.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import StrEnum
from typing import Final
from unicodedata import combining, east_asian_width

__all__ = ["Style", "escape", "paint", "printable", "width"]

_BEYOND_ASCII: Final = re.compile(r"[^\n -~]")


class Style(StrEnum):
    """What a colour means; the values are parameters of the sequence *Select Graphic Rendition* (ECMA-48, 8.3.117)."""

    HEADING = "1"
    ERROR = "1;31"
    WARNING = "1;33"
    HELP = "36"
    ADDED = "32"
    REMOVED = "31"
    CHANGED = "33"
    QUIET = "2"


def printable(text: str) -> str:
    r"""Give a text on one line that only prints: what doesn't print by itself is shown as an escape of Python's.

    A tab becomes ``\t``, an escape ``\x1b``, half a surrogate pair ``\udc80``; the result can always be encoded.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def escape(document: str, write: Callable[[str], str]) -> str:
    """Replace what doesn't print in a document of JSON or YAML, where it can only stand inside of quotes.

    Args:
        document: with line feeds, which stay.
        write: gives the escape of a character in the language of the document.
    """
    return _BEYOND_ASCII.sub(lambda m: m[0] if m[0].isprintable() else write(m[0]), document)


def width(text: str) -> int:
    """Give the columns that a printable text takes: two for a wide character of East Asia, none for a combining one."""
    if text.isascii():
        return len(text)
    return sum(0 if combining(c) else 2 if east_asian_width(c) in "WF" else 1 for c in text)


def paint(text: str, style: Style | None, *, color: bool) -> str:
    """Give the text in a style, or as it is when colours are off, the style is None or there is nothing to see."""
    return f"\x1b[{style}m{text}\x1b[0m" if color and style and text else text
