"""Diagnostics as workflow commands: GitHub shows each beside the line of the pull request that it is about.

The form and its escapes are those of ``actions/toolkit`` (packages/core, command.ts): in values percent signs and line
ends, in properties colons and commas too.
"""

from __future__ import annotations

from collections.abc import Iterable

from compiler.diagnostics import Diagnostic
from compiler.terminal import printable

__all__ = ["render"]


def render(diagnostics: Iterable[Diagnostic]) -> str:
    """Write one command a line, by file and place; the empty text when there are none."""
    return "".join(f"{_command(d)}\n" for d in sorted(diagnostics, key=lambda d: d.sort_key))


def _command(diagnostic: Diagnostic) -> str:
    position = diagnostic.position
    properties = {"file": printable(position.file)}
    if position.line:
        properties |= {"line": str(position.line), "col": str(position.column)}
    properties["title"] = f"kuik {diagnostic.code}"
    listed = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
    message = printable(diagnostic.message)
    if diagnostic.help:
        message += f"\nhelp: {printable(diagnostic.help)}"
    return f"::{diagnostic.severity} {listed}::{_value(message)}"


def _value(text: str) -> str:
    # the percent sign first: it is what the others are written with
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _value(text).replace(":", "%3A").replace(",", "%2C")
