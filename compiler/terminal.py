"""What may reach a terminal: text that can't move its cursor, change its title or hide what follows; widths; colours.

Everything that kuik shows may come from a file that somebody else wrote. An escape sequence in an image's name, or a
character that turns the direction of writing, must arrive as something to read.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Final
from unicodedata import combining, east_asian_width

__all__ = ["UNSAFE", "Style", "paint", "printable", "width"]

UNSAFE: Final = re.compile(
    "[\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff\ufff0-\uffff\U000e0000-\U000e0fff]"
)
"""What JSON lets through and a reader or a terminal must not get as it is: C1 controls, direction marks, surrogates.

They are written as escapes inside strings, which changes nothing of what is read back.
"""


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


def width(text: str) -> int:
    """Give the columns that a printable text takes: two for a wide character of East Asia, none for a combining one."""
    if text.isascii():
        return len(text)
    return sum(0 if combining(c) else 2 if east_asian_width(c) in "WF" else 1 for c in text)


def paint(text: str, style: Style | None, *, color: bool) -> str:
    """Give the text in a style, or as it is when colours are off, the style is None or there is nothing to see."""
    return f"\x1b[{style}m{text}\x1b[0m" if color and style and text else text
