"""The blocks of a comment, each of which can be cut without breaking it: between lines, with every fold closed."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Final

__all__ = ["Block", "fence", "fold", "join", "paragraph", "section", "table"]

_CUT: Final = "{} more left out: a comment has no room for them, -o json has all."


@dataclass(frozen=True, slots=True)
class Block:
    """A part of a comment: ``opening``, as many ``lines`` as there is room for, ``cut`` if that isn't all, ``closing``.

    Attributes:
        cut: what stands for the lines that are left out, their number in place of ``{}``.
    """

    opening: str
    lines: Sequence[str] = ()
    cut: str = ""
    closing: str = ""

    @property
    def size(self) -> int:
        """The bytes of UTF-8 that the whole block takes."""
        return _size(self.opening) + sum(map(_size, self.lines)) + _size(self.closing)

    def fit(self, room: int) -> str:
        """Write the block in at most ``room`` bytes of UTF-8; what is not lines is written in any case."""
        shown = len(self.lines) if self.size <= room else self._fitting(room)
        left = len(self.lines) - shown
        cut = self.cut.format(left) if left else ""
        return f"{self.opening}{''.join(self.lines[:shown])}{cut}{self.closing}"

    def _fitting(self, room: int) -> int:
        room -= _size(self.opening) + _size(self.cut.format(len(self.lines))) + _size(self.closing)
        return bisect_right(list(accumulate(map(_size, self.lines))), room)


def paragraph(text: str) -> Block:
    """Give a block that is not cut."""
    return Block(f"{text}\n\n")


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Block:
    """Give a table; without rows it says that there is nothing. The cells are Markdown already."""
    lines = [f"{_row(row)}\n" for row in rows]
    if not lines:
        return paragraph("Nothing.")
    return Block(f"{_row(columns)}\n{_row(['---'] * len(columns))}\n", lines, f"\n_{_CUT}_\n", "\n")


def fence(language: str, lines: Iterable[str]) -> Block:
    """Give a block of code. A line must not begin like a fence: with fewer than four blanks and a backtick."""
    return Block(f"```{language}\n", [f"{line}\n" for line in lines], f"… {_CUT}\n", "```\n\n")


def fold(summary: str, block: Block) -> Block:
    """Fold a block behind a summary."""
    opening = f"<details><summary>{summary}</summary>\n\n{block.opening}"
    return replace(block, opening=opening, closing=f"{block.closing}</details>\n\n")


def section(title: str, block: Block) -> Block:
    """Put a heading above a block."""
    return replace(block, opening=f"### {title}\n\n{block.opening}")


def join(blocks: Sequence[Block], limit: int) -> str:
    """Write blocks in at most ``limit`` bytes of UTF-8.

    The room is shared equally, and what a small block doesn't need goes to the others: a ring of 10,000 images doesn't
    push out what it costs.
    """
    rooms = dict.fromkeys(range(len(blocks)), 0)
    for done, index in enumerate(sorted(rooms, key=lambda i: blocks[i].size)):
        rooms[index] = min(blocks[index].size, limit // (len(blocks) - done))
        limit -= rooms[index]
    return "".join(block.fit(rooms[index]) for index, block in enumerate(blocks)).rstrip("\n") + "\n"


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())
