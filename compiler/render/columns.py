"""Lays out rows in columns.

The widths come from the text alone, never from the terminal: a file, a pipe and a screen get the same lines.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Final

from compiler.terminal import Style, paint, printable, width

__all__ = ["Cell", "lay_out"]

_GAP: Final = "  "


@dataclass(frozen=True, slots=True)
class Cell:
    """One text of a row; what of it doesn't print is shown as an escape. The style takes no room."""

    text: str = ""
    style: Style | None = None


def lay_out(rows: Sequence[Sequence[Cell]], *, right: Collection[int] = (), color: bool = False) -> list[str]:
    """Align rows.

    Args:
        rows: may differ in length.
        right: the columns, counted from 0, that end at the same place instead of beginning there.
        color: whether styles are written.

    Returns:
        One line a row, without white space at its end and without line feed.
    """
    texts = [[printable(cell.text) for cell in row] for row in rows]
    widths = [max(map(width, column)) for column in zip_longest(*texts, fillvalue="")]
    lines = []
    for row, shown in zip(rows, texts, strict=True):
        fields = []
        for index, (cell, text) in enumerate(zip(row, shown, strict=True)):
            blank = " " * (widths[index] - width(text))
            painted = paint(text, cell.style, color=color)
            fields.append(f"{blank}{painted}" if index in right else f"{painted}{blank}")
        lines.append(_GAP.join(fields).rstrip(" "))
    return lines
