"""What a simulation comes to: windows by outcome, laps beside their best case, queues drained."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from compiler.duration import Nanoseconds
from compiler.plan import Operation, Plan
from runtime.pacing import Lap, Outcome, OwnerStatus
from runtime.simulation.lines import Line

__all__ = ["QueueSummary", "RingSummary", "SeriesSummary", "Summary", "Tally"]


@dataclass(frozen=True, slots=True)
class SeriesSummary:
    """The windows of a series by outcome; ``interval`` is the one in force at the end, None when the host has gone."""

    host: str
    operation: Operation
    interval: Nanoseconds | None
    windows: Mapping[Outcome, int]


@dataclass(frozen=True, slots=True)
class RingSummary:
    """The laps of a ring.

    Attributes:
        images: in the ring at the end.
        laps: how many have ended.
        last: how long the last one took; None before one has ended.
        best_case: images times interval; None when the host has gone.
    """

    host: str
    owner: str
    images: int
    laps: int
    last: Nanoseconds | None
    best_case: Nanoseconds | None

    @property
    def ratio(self) -> float | None:
        """The last lap by the best case: above 1 the ring shares its host or loses windows."""
        return None if self.last is None or not self.best_case else self.last / self.best_case


@dataclass(frozen=True, slots=True)
class QueueSummary:
    """How far a queue has come.

    Attributes:
        copied: how many copies have arrived.
        pending: how many are owed at the end.
        failed: how many of those have failed.
        drained: when nothing was owed for the last time; None when something is.
    """

    host: str
    owner: str
    copied: int
    pending: int
    failed: int
    drained: Nanoseconds | None


@dataclass(frozen=True, slots=True)
class Summary:
    """All of it, in the order of hosts, operations and owners."""

    series: tuple[SeriesSummary, ...]
    rings: tuple[RingSummary, ...]
    queues: tuple[QueueSummary, ...]


class Tally:
    """Counts while the simulation runs."""

    def __init__(self) -> None:
        self._windows = dict[tuple[str, Operation], Counter[Outcome]]()
        self._laps = dict[tuple[str, str], tuple[int, Nanoseconds]]()
        self._copied = Counter[tuple[str, str]]()
        self._drained = dict[tuple[str, str], Nanoseconds]()

    def count(self, line: Line) -> None:
        """Count a window and the laps on its line."""
        outcomes = self._windows.get((line.host, line.operation))
        if outcomes is None:
            outcomes = self._windows[line.host, line.operation] = Counter()
        outcomes[line.outcome] += 1
        for lap in line.laps:
            self._count_lap(lap)

    def copied(self, host: str, owner: str, pending: int, now: Nanoseconds) -> None:
        """Count a copy that has arrived, with what its queue still owes."""
        self._copied[host, owner] += 1
        if not pending:
            self._drained[host, owner] = now

    def summary(self, plan: Plan, statuses: Mapping[str, OwnerStatus]) -> Summary:
        """Add up, against the plan that is in force at the end."""
        intervals = {(host, operation): series.interval for host, operation, series in plan.series()}
        series = [
            SeriesSummary(
                host, operation, intervals.get((host, operation)), dict(self._windows.get((host, operation), {}))
            )
            for host, operation in sorted({*intervals, *self._windows})
        ]
        rings, queues = list[RingSummary](), list[QueueSummary]()
        for owner, status in statuses.items():
            for ring in status.rings:
                laps, last = self._laps.get((ring.registry, owner), (0, None))
                # status may still hold a ring whose host went while the process was down
                interval = intervals.get((ring.registry, Operation.CHECK))
                best = None if interval is None else ring.images * interval
                rings.append(RingSummary(ring.registry, owner, ring.images, laps, last, best))
            for queue in status.queues:
                place = (queue.registry, owner)
                drained = None if queue.pending else self._drained.get(place)
                failed = sum(failure.image in queue.pending for failure in queue.failed)
                queues.append(QueueSummary(*place, self._copied[place], len(queue.pending), failed, drained))
        return Summary(
            tuple(series),
            tuple(sorted(rings, key=lambda r: (r.host, r.owner))),
            tuple(sorted(queues, key=lambda q: (q.host, q.owner))),
        )

    def _count_lap(self, lap: Lap) -> None:
        laps, _ = self._laps.get((lap.host, lap.owner), (0, 0))
        self._laps[lap.host, lap.owner] = (laps + 1, lap.duration)
