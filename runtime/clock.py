"""The clocks that kuik reads, each for what it is good for.

Windows and the lease run on a clock that nobody sets and that goes on while the machine is suspended (W8): a laptop
that slept through an hour must not think that its lease is still fresh. ``time.monotonic`` stands still then, on Linux.
Delays of retries run on the event loop's clock, which tests replace.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final, TypeAlias

from compiler.duration import SECOND, Nanoseconds

__all__ = ["Clock", "boot_clock", "loop_clock", "timestamp"]

Clock: TypeAlias = Callable[[], Nanoseconds]
"""Gives nanoseconds since a moment of its own; only differences count."""

# clock_gettime(2): CLOCK_BOOTTIME is CLOCK_MONOTONIC with the time of suspension; macOS counts that in the latter
_SUSPEND_AWARE: Final[int] = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def boot_clock() -> Nanoseconds:
    """Read the clock of windows and of the lease."""
    return time.clock_gettime_ns(_SUSPEND_AWARE)


def loop_clock() -> Nanoseconds:
    """Read the clock of the running event loop, on which its timers go off."""
    return round(asyncio.get_running_loop().time() * SECOND)


def timestamp() -> str:
    """Write the present wall time as Kubernetes does, in UTC to the microsecond; for people, never for pacing."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
