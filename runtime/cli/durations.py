"""Durations on the command line, in Go's form as everywhere."""

from __future__ import annotations

from typing import Any

import click

from compiler.duration import InvalidDuration, Nanoseconds, parse_duration

__all__ = ["GoDuration"]


class GoDuration(click.ParamType[Nanoseconds]):
    """A duration of 0 or more."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Nanoseconds:
        """Read what was typed, or fail as a mistyped flag does."""
        if isinstance(value, int):
            return value
        try:
            duration = parse_duration(value)
        except InvalidDuration as error:
            self.fail(str(error), param, ctx)
        if duration < 0:
            self.fail(f"{value} is negative", param, ctx)
        return duration
