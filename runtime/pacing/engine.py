"""The engine: told the time and what happened, it says which image, if any, each window takes.

It never sleeps, opens no socket, reads no clock and logs nothing. A driver asks ``next_opening``, waits in its own way,
calls ``open``, carries out the reads and says how each ``finished``. Everything that has to come out right in every
order of events is in here; the controller, the simulation, the forecasts and the property tests drive this one engine.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from heapq import heapify, heapreplace
from typing import TypeAlias

from compiler.duration import Nanoseconds
from compiler.plan import Operation, Plan
from runtime.pacing.checks import CheckSeries
from runtime.pacing.copies import CopySeries
from runtime.pacing.grid import Grid
from runtime.pacing.host import Host
from runtime.pacing.values import (
    Applied,
    CopyFailure,
    Ended,
    Lap,
    OwnerStatus,
    Policy,
    QueueStatus,
    Read,
    Record,
    Response,
    RingStatus,
    Scan,
    SeriesStatus,
    UnknownRead,
    Window,
)

__all__ = ["Engine"]

_DEFAULT: Policy = Policy()
_Opening: TypeAlias = tuple[Nanoseconds, int, CheckSeries | CopySeries]


class Engine:
    """The windows of all hosts under one lease.

    Args:
        lease: the moment at which this process took its lease, the anchor of every series that isn't changed (W2).
        starts: how often anyone has taken the lease before, ``leaseTransitions``; the first turns depend on it (T3).
    """

    def __init__(self, lease: Nanoseconds, starts: int = 0) -> None:
        self._starts = starts
        self._lease = lease
        self._grids: dict[Operation, Grid] | None = None
        self._hosts = dict[str, Host]()
        self._plan: Plan | None = None
        self._policy = _DEFAULT
        self._memory = _Memory()
        self._openings: list[_Opening] = []
        self._has_resigned = False

    # what the driver learns

    def apply(
        self,
        plan: Plan,
        now: Nanoseconds,
        policy: Policy = _DEFAULT,
        records: Mapping[str, Record] | None = None,
    ) -> Applied:
        """Put a plan in force, in place of the one before (H1 to H6).

        The cost grows with the number of hosts and rings, and with the size of the rings that differ: what is the same
        object as before costs nothing, what is only equal to it a comparison.

        Args:
            plan: what to read from now on.
            now: the moment of the reload.
            policy: what holds beside the plan.
            records: by owner, what status remembers; used for rings and queues that come into being with this call.
        """
        self._memory.learn(records or {})
        restarted = [*self._pace(plan, policy, now)]
        laps = list[Lap]()
        for wanted in plan.hosts:
            host = self._hosts[wanted.host]
            if host.plan is not wanted or self._policy != policy:
                laps += host.follow(wanted, policy, self._memory, now)
        self._plan, self._policy = plan, policy
        self._memory.close({queue.owner for wanted in plan.hosts for queue in wanted.copy.queues})
        self._schedule()
        return Applied(tuple(restarted), tuple(laps))

    def scanned(self, owner: str, scan: Scan, now: Nanoseconds) -> tuple[Lap, ...]:
        """Learn what a scan found at a mirror's destination (R8). Gives the laps that this ends."""
        self._memory.scanned.add(owner)
        return tuple(lap for host in self._hosts.values() for lap in host.scanned(owner, scan, self._memory, now))

    def vanished(self, owner: str, image: str, now: Nanoseconds) -> tuple[Lap, ...]:
        """Learn that one copy is gone from a mirror's destination. Gives the laps that this ends."""
        return tuple(lap for host in self._hosts.values() for lap in host.vanished(owner, image, self._memory, now))

    def finished(self, read: Read, response: Response, now: Nanoseconds) -> Ended:
        """Learn how a read ended.

        Raises:
            UnknownRead: it isn't in flight.
        """
        host = self._hosts.get(read.host)
        if host is None:
            raise UnknownRead(read)
        return host.finish(read, response, self._memory, now)

    def withdrawn(self, read: Read, now: Nanoseconds) -> None:
        """Learn that a read never began (the lease was gone, nobody claimed it): its image keeps its place.

        Raises:
            UnknownRead: it isn't in flight.
        """
        host = self._hosts.get(read.host)
        if host is None:
            raise UnknownRead(read)
        host.withdraw(read, now)

    def resign(self) -> tuple[Read, ...]:
        """Take no window any more, for ever (W9).

        Returns:
            What is in flight: to be cancelled when leadership was lost, to be ``finished`` in a clean stop.
        """
        self._has_resigned = True
        self._openings = []
        return tuple(s.reading for h in self._hosts.values() for s in (h.checks, h.copies) if s.reading is not None)

    # what the driver asks

    def next_opening(self) -> Nanoseconds | None:
        """Say when the next window opens; None when none ever does."""
        return self._openings[0][0] if self._openings else None

    def open_next(self, now: Nanoseconds) -> Window | None:
        """Open the one window that is due first, by time, host and operation; None when none is due."""
        openings = self._openings
        if not openings or openings[0][0] > now:
            return None
        _, rank, series = openings[0]
        window = series.open(now)
        heapreplace(openings, (series.opens, rank, series))
        return window

    def open(self, now: Nanoseconds) -> list[Window]:
        """Open every window that is due, in order."""
        windows = list[Window]()
        while (window := self.open_next(now)) is not None:
            windows.append(window)
        return windows

    def statuses(self) -> dict[str, OwnerStatus]:
        """Give what each owner's status says of its rings and queues, by owner."""
        rings, queues = defaultdict[str, list[RingStatus]](list), defaultdict[str, list[QueueStatus]](list)
        for name in sorted(self._hosts):
            host = self._hosts[name]
            for owner, ring in host.rings.items():
                rings[owner].append(ring.status)
            for owner, queue in host.queues.items():
                queues[owner].append(queue.status(name))
        return {
            owner: OwnerStatus(tuple(rings.get(owner, ())), tuple(queues.get(owner, ())))
            for owner in sorted({*rings, *queues})
        }

    def status(self, owner: str) -> OwnerStatus:
        """Give what one owner's status says; empty for one that has neither ring nor queue."""
        hosts = [self._hosts[name] for name in sorted(self._hosts)]
        return OwnerStatus(
            tuple(h.rings[owner].status for h in hosts if owner in h.rings),
            tuple(h.queues[owner].status(h.name) for h in hosts if owner in h.queues),
        )

    def reusable(self) -> dict[tuple[str, str], list[str]]:
        """Give the images that need no request if their turn came now, by owner and host."""
        return {
            (owner, host.name): ring.reusable(host.checks.answers)
            for host in self._hosts.values()
            for owner, ring in host.rings.items()
        }

    def series(self, now: Nanoseconds) -> Iterator[SeriesStatus]:
        """Say where each series of the plan stands, in the order of the plan."""
        for wanted in self._plan.hosts if self._plan else ():
            host = self._hosts[wanted.host]
            yield host.checks.status(now)
            yield host.copies.status(now)

    # inside

    def _pace(self, plan: Plan, policy: Policy, now: Nanoseconds) -> Iterator[tuple[str, Operation]]:
        """Give every series its effective interval, those of hosts that the plan doesn't name included.

        A host not yet seen has run on the default's grid all along (W7, H2).
        """
        if self._grids is None:
            first = {Operation.CHECK: policy.check_interval, Operation.COPY: policy.copy_interval}
            self._grids = {operation: Grid(self._lease, interval) for operation, interval in first.items()}
            for wanted in plan.hosts:
                own = {Operation.CHECK: wanted.check.interval, Operation.COPY: wanted.copy.interval}
                grids = {operation: Grid(self._lease, interval) for operation, interval in own.items()}
                self._hosts[wanted.host] = Host(wanted.host, grids, self._starts)
            return
        for wanted in plan.hosts:
            host = self._hosts.get(wanted.host)
            if host is None:
                host = self._hosts[wanted.host] = Host(wanted.host, self._grids, self._starts)
            yield from host.pace(wanted.check.interval, wanted.copy.interval, now)
        self._grids[Operation.CHECK].pace(policy.check_interval, now)
        self._grids[Operation.COPY].pace(policy.copy_interval, now)
        self._leave(self._hosts.keys() - {wanted.host for wanted in plan.hosts}, policy, now)

    def _leave(self, names: set[str], policy: Policy, now: Nanoseconds) -> None:
        """Let hosts go that the plan doesn't name, for ever if they would come back the same."""
        grids = self._grids or {}
        for name in names:
            host = self._hosts[name]
            if host.plan is not None:
                host.leave()
            # nothing opens there: the restart shows when the host comes back
            for _ in host.pace(policy.check_interval, policy.copy_interval, now):
                pass
            if all(s.is_forgettable(grids[s.operation], now) for s in (host.checks, host.copies)):
                del self._hosts[name]

    def _schedule(self) -> None:
        """Line up the next window of every series of the plan; at one instant by host, Check before Copy."""
        if self._has_resigned or self._plan is None:
            return
        hosts = [self._hosts[name] for name in sorted(wanted.host for wanted in self._plan.hosts)]
        series = [s for host in hosts for s in (host.checks, host.copies)]
        self._openings = [(s.opens, rank, s) for rank, s in enumerate(series)]
        heapify(self._openings)


class _Memory:
    """What an earlier process and this one's scans left, for rings and queues that come into being."""

    def __init__(self) -> None:
        self.scanned = set[str]()
        self._rings = dict[tuple[str, str], RingStatus]()
        self._failures = dict[str, tuple[CopyFailure, ...]]()

    def learn(self, records: Mapping[str, Record]) -> None:
        """Remember what status says, until ``close``."""
        for owner, record in records.items():
            self._failures[owner] = record.failures
            for ring in record.rings:
                self._rings[owner, ring.registry] = ring

    def close(self, owners: set[str]) -> None:
        """Forget the rings that nobody came for: they start anew (R5); and the scans of owners that went."""
        self._rings.clear()
        self._failures.clear()
        self.scanned &= owners

    def ring(self, owner: str, host: str) -> RingStatus | None:
        """Hand out what status remembers of a ring, once."""
        return self._rings.pop((owner, host), None)

    def failures(self, owner: str) -> tuple[CopyFailure, ...]:
        """Give the failed copies that status remembers."""
        return self._failures.get(owner, ())

    def is_scanned(self, owner: str) -> bool:
        """Say whether the destination of a mirror has been scanned (R8)."""
        return owner in self.scanned
