"""Diagnostics for people: where, what, the line itself with the place underlined, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from compiler.diagnostics import Diagnostic, Position, Severity
from compiler.terminal import Style, paint, printable, width

__all__ = ["count", "render"]

_STYLES: Final = {Severity.ERROR: Style.ERROR, Severity.WARNING: Style.WARNING}
_LONGEST: Final = 100  # columns of a line that is shown; a minified file is one line of a megabyte
_BEFORE: Final = 40  # columns shown in front of the place where a line is cut
_MORE: Final = "…"
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
    underline = "^" * max(1, width(meant))
    yield f"{paint(f'  {number} |', Style.QUIET, color=color)} {before}{meant}{after}".rstrip(" ")
    bar = paint(f"  {' ' * len(number)} |", Style.QUIET, color=color)
    yield f"{bar} {' ' * width(before)}{paint(underline, style, color=color)}"


def _window(position: Position) -> tuple[str, str, str]:
    """Cut the line to what is shown: in front of the place, the place itself, behind it. All of it prints."""
    start = max(position.column - 1, 0)
    line = position.excerpt.rstrip("\r\n")
    # a mistake at the end of a line, such as a value that is missing, stands behind the last character
    line = line.ljust(min(start, len(line) + 1))
    end = min(start + max(position.width, 1), len(line))
    # no more of the line is made printable than can be shown: it may be long
    before = _printed(line[max(0, start - _LONGEST) : start])
    meant = _printed(line[start : min(end, start + _LONGEST)])
    after = _printed(line[end : end + _LONGEST])
    if width(before) + width(meant) + width(after) <= _LONGEST and start <= _LONGEST and len(line) <= end + _LONGEST:
        return before, meant, after
    before = before if start <= _LONGEST and width(before) <= _BEFORE else _MORE + _last(before, _BEFORE)
    meant = (
        meant
        if end <= start + _LONGEST and width(meant) <= _LONGEST - _BEFORE
        else _first(meant, _LONGEST - _BEFORE) + _MORE
    )
    room = _LONGEST - width(before) - width(meant)
    return before, meant, after if len(line) <= end + _LONGEST and width(after) <= room else _first(after, room) + _MORE


def _printed(text: str) -> str:
    return "".join(_TAB if part == "\t" else printable(part) for part in _split_at_tabs(text))
