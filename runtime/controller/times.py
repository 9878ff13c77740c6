"""Two clocks and the way between them: the grid's, which nobody sets, and the wall's, which people read (W8)."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Final

from compiler.duration import SECOND, Nanoseconds
from runtime.clock import Clock, boot_clock

__all__ = ["Clocks", "read_time", "write_time"]

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = datetime.resolution
_STEP: Final = SECOND
"""The least difference that is taken for a step of the wall clock. NTP moves it by less, all the time."""


class Clocks:
    """The clocks of a process.

    The same moment is always the same time of day, as long as nobody sets the wall clock: a status that is written
    twice must not differ by the nanoseconds between two readings.

    Args:
        boot: of windows and the lease.
        wall: nanoseconds since 1970, for status alone.
    """

    def __init__(self, boot: Clock = boot_clock, wall: Callable[[], Nanoseconds] = time.time_ns) -> None:
        self.boot, self.wall = boot, wall
        self._ahead = wall() - boot()

    def to_wall(self, moment: Nanoseconds) -> Nanoseconds:
        """Say what time of day a moment of the boot clock is."""
        return moment + self._difference()

    def to_boot(self, moment: Nanoseconds) -> Nanoseconds:
        """Say where on the boot clock a time of day is; one before the boot is negative."""
        return moment - self._difference()

    def _difference(self) -> Nanoseconds:
        present = self.wall() - self.boot()
        if abs(present - self._ahead) >= _STEP:
            self._ahead = present
        return self._ahead


def write_time(moment: Nanoseconds) -> str:
    """Write a time of day as status has it: RFC 3339 in UTC, in microseconds where there are any."""
    seconds, fraction = divmod(moment // 1000, 1_000_000)
    text = datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    return f"{text}.{fraction:06}Z" if fraction else f"{text}Z"


def read_time(text: Any) -> Nanoseconds | None:
    """Read a time that a status holds; None where it holds none."""
    try:
        moment = datetime.fromisoformat(text)
    except (TypeError, ValueError):
        return None
    if moment.tzinfo is None:
        return None
    return (moment - _EPOCH) // _MICROSECOND * (SECOND // 1_000_000)
