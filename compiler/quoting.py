"""How a message shows what somebody wrote: in quotes, on one line, and not all of it when it is long.

The input of a message may be hostile or an accident: a whole file where a name belongs, a line feed, an escape sequence
for the terminal, half of a surrogate pair that no encoding writes.
"""

from __future__ import annotations

from typing import Final

from compiler.terminal import printable

__all__ = ["quoted"]

_LONGEST: Final = 100  # characters; longer than any name that people read, short enough for a line of a terminal


def quoted(text: str) -> str:
    """Give a text in quotes for a message, shortened to 100 characters, what can't be printed as an escape."""
    shown = text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
    return f'"{printable(shown)}"'
