"""A series: the windows of one operation on one host, and what becomes of each (W1 to W7, W10, T1 to T4)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Sequence
from typing import ClassVar, Generic, Protocol, TypeVar

from compiler.duration import Nanoseconds
from compiler.plan import HostPlan, Operation
from runtime.pacing.grid import Grid
from runtime.pacing.values import Outcome, Read, SeriesStatus, Window

__all__ = ["Series"]


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
        takers: whose turns are taken, by owner in code-point order (T1).
    """

    __slots__ = ("_plan", "_spender", "_starts", "held_until", "host", "owners", "reading", "takers")

    operation: ClassVar[Operation]

    def __init__(self, host: str, grid: Grid, starts: int) -> None:
        super().__init__(grid.anchor, grid.interval)
        self.host = host
        self.reading: Read | None = None
        self.held_until: Nanoseconds | None = None
        self.takers: list[_T] = []
        self.owners: list[str] = []
        self._plan: HostPlan | None = None
        self._starts = starts
        self._spender: str | None = None

    def open(self, now: Nanoseconds) -> Window:
        """Open the next window, which is due; or lose the windows that ``now`` is too late for (W6)."""
        number, opens = self.number, self.opens
        if now - opens > self.tolerance:
            return Window(self.host, self.operation, number, opens, Outcome.MISSED, self.skip_missed(now))
        self.number = number + 1
        self.opens = opens + self.interval
        if self._plan is None or self._plan.suspended or (self.held_until is not None and opens < self.held_until):
            return Window(self.host, self.operation, number, opens, Outcome.HELD)
        if self.reading is not None:
            return Window(self.host, self.operation, number, opens, Outcome.BUSY)
        if not self.takers:
            return Window(self.host, self.operation, number, opens, Outcome.IDLE)
        return self._take(number, opens, self._plan)

    def follow(self, host: HostPlan | None) -> None:
        """Read by what the plan says from the next image on (H3); None when the host is in no plan."""
        self._plan = host

    def hold(self, until: Nanoseconds) -> None:
        """Lose the windows that open before a moment."""
        self.held_until = until if self.held_until is None else max(self.held_until, until)

    def seat(self, takers: Sequence[_T]) -> None:
        """Name those who take turns, in code-point order of their owners; whose turn it is stays (T2)."""
        self.takers = [*takers]
        self.owners = [taker.owner for taker in takers]

    def status(self, now: Nanoseconds) -> SeriesStatus:
        """Say where the series stands."""
        held = self.held_until if self.held_until is not None and self.held_until > now else None
        return SeriesStatus(
            self.host, self.operation, self.anchor, self.interval, self.number, self.opens, self.reading, held
        )

    def is_forgettable(self, grid: Grid, now: Nanoseconds) -> bool:
        """Say whether the series of a host that nobody reads would come back the same out of a grid."""
        return (
            self.reading is None
            and self._spender is None
            and (self.held_until is None or self.held_until <= now)
            and (self.anchor, self.interval) == (grid.anchor, grid.interval)
        )

    def _turns(self) -> list[_T]:
        """Give all takers once, beginning with the one whose turn it is.

        That is the owner behind the one that last spent a window, or, before anyone has, number s mod n (T3).
        """
        takers = self.takers
        spender = self._spender
        first = self._starts % len(takers) if spender is None else bisect_right(self.owners, spender)
        return takers[first:] + takers[:first] if first else takers

    @abstractmethod
    def _take(self, number: int, opens: Nanoseconds, host: HostPlan) -> Window:
        """Let the takers have a window that nothing speaks against."""
