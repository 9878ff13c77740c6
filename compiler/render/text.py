"""Diagnostics for people: where, what, the line itself with the place underlined, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from compiler.diagnostics import Diagnostic, Position, Severity
from compiler.terminal import Style, paint, printable, width

__all__ = ["count", "render"]

_STYLES: Final = {Severity.ERROR: Style.ERROR, Severity.WARNING: Style.WARNING}
_LONGEST: Final = 100  # characters of a line that are shown; a minified file is one line of a megabyte
_BEFORE: Final = 40  # how many of them stand in front of the place, where the line is cut there
_CUT: Final = "…"
_TAB: Final = "    "


def render(diagnostics: Iterable[Diagnostic], *, color: bool = False) -> str:
    """Write diagnostics by file and place, a blank line between two; the empty text when there are none.

    Whatever the input holds, the text holds no control character but line feeds and, with ``color``, those of colours.
    """
    ordered = sorted(diagnostics, key=lambda d: d.sort_key)
    return "\n".join("".join(f"{line}\n" for line in _lines(d, color=color)) for d in ordered)


def count(diagnostics: Iterable[Diagnostic]) -> str:
    """Say how many there are, for the last line: ``2 errors, 1 warning``; the empty text when there are none."""
    found = [d.severity for d in diagnostics]
    numbers = ((found.count(severity), severity) for severity in Severity)
    return ", ".join(f"{number} {severity}{'' if number == 1 else 's'}" for number, severity in numbers if number)


def _lines(diagnostic: Diagnostic, *, color: bool) -> Iterator[str]:
    place = paint(printable(str(diagnostic.position)), Style.HEADING, color=color)
    label = paint(f"{diagnostic.severity}[{diagnostic.code}]", _STYLES[diagnostic.severity], color=color)
    yield f"{place}: {label}: {printable(diagnostic.message)}"
    if diagnostic.position.line and diagnostic.position.excerpt:
        yield from _excerpt(diagnostic.position, _STYLES[diagnostic.severity], color=color)
    if diagnostic.help:
        yield f"{paint('help', Style.HELP, color=color)}: {printable(diagnostic.help)}"


def _excerpt(position: Position, style: Style, *, color: bool) -> Iterator[str]:
    """Give the line and, below it, the underline of the characters that are meant."""
    number = str(position.line)
    before, meant, after = _window(position)
    yield f"{paint(f'  {number} |', Style.QUIET, color=color)} {before}{meant}{after}".rstrip(" ")
    bar = paint(f"  {' ' * len(number)} |", Style.QUIET, color=color)
    underline = "^" * max(1, width(meant))
    yield f"{bar} {' ' * width(before)}{paint(underline, style, color=color)}"


def _window(position: Position) -> tuple[str, str, str]:
    """Cut a line to what is shown: what stands in front of the characters that are meant, these, what stands behind."""
    line = position.excerpt.rstrip("\r\n")
    # what is missing at the end of a line is meant behind its last character
    start = min(max(position.column - 1, 0), len(line))
    first = max(0, min(start - _BEFORE, len(line) - _LONGEST)) if len(line) > _LONGEST else 0
    last = min(first + _LONGEST, len(line))
    end = min(start + max(position.width, 1), last)
    before, meant, after = (_shown(part) for part in (line[first:start], line[start:end], line[end:last]))
    return f"{_CUT}{before}" if first else before, meant, f"{after}{_CUT}" if last < len(line) else after


def _shown(text: str) -> str:
    return _TAB.join(printable(part) for part in text.split("\t"))
