"""The lines that a simulation prints: one window of one series each, in the form of page 2."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any, NamedTuple

from compiler.duration import SECOND, Nanoseconds
from compiler.plan import Operation
from runtime.pacing import Lap, Outcome

__all__ = ["Line", "Page", "to_document"]


class Line(NamedTuple):
    """One window of one series.

    Attributes:
        t: since the first lease.
        window: the number, from the anchor of the series.
        owner: who took it; only when it was used, as ``image``.
        reused: owner and image of the visits made in it without a request, in order.
        laps: those whose last image it took, and those that a removal ended since the line before.
    """

    t: Nanoseconds
    host: str
    operation: Operation
    window: int
    outcome: Outcome
    owner: str | None = None
    image: str | None = None
    reused: tuple[tuple[str, str], ...] = ()
    laps: tuple[Lap, ...] = ()


def to_document(line: Line) -> dict[str, Any]:
    """Give a line as plain values, in the order in which they are printed."""
    taken = {} if line.owner is None else {"owner": line.owner, "image": line.image}
    return {
        "t": line.t / SECOND,
        "host": line.host,
        "operation": line.operation.value,
        "window": line.window,
        "outcome": line.outcome.value,
        **taken,
        "reused": [list(visit) for visit in line.reused],
        "laps": [{"owner": lap.owner, "seconds": lap.duration / SECOND} for lap in line.laps],
    }


class Page:
    """Puts lines in order: one whose read is in flight isn't complete, and holds back those behind it."""

    def __init__(self) -> None:
        self._lines = deque[Line]()
        self._open = set[int]()
        # the number of the first line that has not gone out
        self._first = 0

    def add(self, line: Line, *, is_complete: bool) -> int:
        """Add a line and give its number."""
        number = self._first + len(self._lines)
        self._lines.append(line)
        if not is_complete:
            self._open.add(number)
        return number

    def complete(self, number: int, laps: tuple[Lap, ...] = ()) -> None:
        """Complete a line by the laps that the end of its read led to."""
        self._open.discard(number)
        if laps:
            index = number - self._first
            line = self._lines[index]
            self._lines[index] = line._replace(laps=line.laps + laps)

    def complete_all(self) -> None:
        """Complete every line as it is: nothing is in flight any more."""
        self._open.clear()

    def ready(self) -> Iterator[Line]:
        """Take out the lines that nothing holds back."""
        while self._lines and self._first not in self._open:
            self._first += 1
            yield self._lines.popleft()
