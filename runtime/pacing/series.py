"""A series: the windows of one operation on one host, and what becomes of each (W1 to W7, W10, T1 to T4)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Sequence
from typing import ClassVar, Final, Generic, Protocol, TypeVar

from compiler.duration import Nanoseconds
from compiler.plan import CheckSeries, CopySeries, HostPlan, Operation
from runtime.pacing.grid import Grid
from runtime.pacing.values import Outcome, Read, SeriesStatus, Window

__all__ = ["Series"]

# a member of an enumeration looked up once, not once a window
_BUSY: Final = Outcome.BUSY
_HELD: Final = Outcome.HELD
_IDLE: Final = Outcome.IDLE
_MISSED: Final = Outcome.MISSED

_LONG_AGO: Final = -(2**63)


class _Taker(Protocol):
    """Who takes turns: a ring, or a queue."""

    owner: str


_T = TypeVar("_T", bound=_Taker)


class Series(Grid, ABC, Generic[_T]):
    """The windows of one operation on one host.

    Attributes:
        host: its canonical name.
        reading: what is in flight; windows that open meanwhile are lost (W4).
        held_until: windows that open before are lost (W10); holds are never shortened.
        suspended: the host is, or no plan names it (T4).
        takers: whose turns are taken, by owner in code-point order (T1).
    """

    __slots__ = (
        "_first",
        "_owners",
        "_plan",
        "_spender",
        "_starts",
        "held_until",
        "host",
        "reading",
        "suspended",
        "takers",
    )

    operation: ClassVar[Operation]

    def __init__(self, host: str, grid: Grid, starts: int) -> None:
        super().__init__(grid.anchor, grid.interval)
        self.host = host
        self.reading: Read | None = None
        self.held_until = _LONG_AGO
        self.suspended = True
        self.takers: list[_T] = []
        self._plan = HostPlan(host, CheckSeries(grid.interval, 0, ""), CopySeries(grid.interval, 0, ""))
        self._starts = starts
        self._owners: list[str] = []
        self._spender: str | None = None
        # the index of the taker whose turn it is
        self._first = 0

    def open(self, now: Nanoseconds) -> Window:
        """Open the next window, which is due; or lose the windows that ``now`` is too late for (W6)."""
        number, opens = self.number, self.opens
        if now - opens > self.tolerance:
            return Window(self.host, self.operation, number, opens, _MISSED, self.skip_missed(now))
        self.number = number + 1
        self.opens = opens + self.interval
        if self.suspended or opens < self.held_until:
            return Window(self.host, self.operation, number, opens, _HELD)
        if self.reading is not None:
            return Window(self.host, self.operation, number, opens, _BUSY)
        if not self.takers:
            return Window(self.host, self.operation, number, opens, _IDLE)
        return self._take(number, opens)

    def follow(self, host: HostPlan | None) -> None:
        """Read by what the plan says from the next image on (H3); None when the host is in no plan."""
        self.suspended = host is None or host.suspended
        if host is not None:
            self._plan = host

    def hold(self, until: Nanoseconds) -> None:
        """Lose the windows that open before a moment."""
        self.held_until = max(self.held_until, until)

    def seat(self, takers: Sequence[_T]) -> None:
        """Name those who take turns, in code-point order of their owners; whose turn it is stays (T2)."""
        self.takers = [*takers]
        self._owners = [taker.owner for taker in takers]
        self._pass_turn(self._spender)

    def status(self, now: Nanoseconds) -> SeriesStatus:
        """Say where the series stands."""
        held = self.held_until if self.held_until > now else None
        return SeriesStatus(
            self.host, self.operation, self.anchor, self.interval, self.number, self.opens, self.reading, held
        )

    def is_forgettable(self, grid: Grid, now: Nanoseconds) -> bool:
        """Say whether the series of a host that nobody reads would come back the same out of a grid."""
        return (
            self.reading is None
            and self._spender is None
            and self.held_until <= now
            and (self.anchor, self.interval) == (grid.anchor, grid.interval)
        )

    def _turns(self) -> list[_T]:
        """Give all takers once, beginning with the one whose turn it is."""
        first, takers = self._first, self.takers
        return takers[first:] + takers[:first] if first else takers

    def _pass_turn(self, spender: str | None) -> None:
        """Let the next turn be that of the owner behind the one that spent a window last.

        Before anyone has, it is that of owner number s mod n (T3).
        """
        self._spender = spender
        if not self.takers:
            self._first = 0
        elif spender is None:
            self._first = self._starts % len(self.takers)
        else:
            self._first = bisect_right(self._owners, spender) % len(self.takers)

    @abstractmethod
    def _take(self, number: int, opens: Nanoseconds) -> Window:
        """Let the takers have a window that nothing speaks against."""
