"""When windows open: whole multiples of an interval behind an anchor, exact after any number of them."""

from __future__ import annotations

from typing import Final

from compiler.duration import SECOND, Nanoseconds

__all__ = ["Grid"]

_LATEST: Final = SECOND
_LATEST_SHARE: Final = 10


class Grid:
    """The times of a series: window k opens at ``anchor + k · interval``, k from 1 (W2).

    Attributes:
        number: of the next window.
        opens: when that is; always ``anchor + number · interval``.
        tolerance: how late a window may be noticed and still be taken (W6).
    """

    __slots__ = ("anchor", "interval", "number", "opens", "tolerance")

    def __init__(self, anchor: Nanoseconds, interval: Nanoseconds) -> None:
        self.restart(anchor, interval)

    def restart(self, anchor: Nanoseconds, interval: Nanoseconds) -> None:
        """Open the next window a full interval after the anchor."""
        self.anchor = anchor
        self.interval = interval
        self.number = 1
        self.opens = anchor + interval
        self.tolerance = min(interval // _LATEST_SHARE, _LATEST)

    def pace(self, interval: Nanoseconds, now: Nanoseconds) -> bool:
        """Change the interval, which restarts the windows; say whether it is another one (H1, H2)."""
        if interval == self.interval:
            return False
        self.restart(now, interval)
        return True

    def resume(self, now: Nanoseconds) -> None:
        """Go on after a time in which nobody used the grid: with the first window at ``now`` or later (W7)."""
        first = -((self.anchor - now) // self.interval)
        if first > self.number:
            self._go_to(first)

    def skip_missed(self, now: Nanoseconds) -> int:
        """Leave behind every window that ``now`` is too late for, and count them (W6)."""
        first = self.number
        due = first + (now - self.opens) // self.interval
        is_late = now - (self.anchor + due * self.interval) > self.tolerance
        self._go_to(due + 1 if is_late else due)
        return self.number - first

    def _go_to(self, number: int) -> None:
        self.number = number
        self.opens = self.anchor + number * self.interval
