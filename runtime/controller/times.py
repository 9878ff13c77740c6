"""Two clocks and the way between them: the grid's, which nobody sets, and the wall's, which people read (W8)."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from compiler.duration import SECOND, Nanoseconds
from runtime.clock import Clock, boot_clock

__all__ = ["Clocks", "read_time", "write_time"]


@dataclass(frozen=True, slots=True)
class Clocks:
    """The clocks of a process.

    Attributes:
        boot: of windows and the lease.
        wall: nanoseconds since 1970, for status alone.
    """

    boot: Clock = boot_clock
    wall: Callable[[], Nanoseconds] = time.time_ns

    def to_wall(self, moment: Nanoseconds) -> Nanoseconds:
        """Say what time of day a moment of the boot clock is."""
        return self.wall() + moment - self.boot()

    def to_boot(self, moment: Nanoseconds) -> Nanoseconds:
        """Say where on the boot clock a time of day is; one before the boot is negative."""
        return self.boot() + moment - self.wall()


def write_time(moment: Nanoseconds) -> str:
    """Write a time of day as status has it: RFC 3339 in UTC, in microseconds where there are any."""
    microseconds = moment // 1000
    seconds, fraction = divmod(microseconds, 1_000_000)
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
    microseconds = (moment - datetime(1970, 1, 1, tzinfo=UTC)) // _MICROSECOND
    return microseconds * (SECOND // 1_000_000)


_MICROSECOND = datetime.resolution
