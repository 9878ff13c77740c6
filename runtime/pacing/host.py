"""A host: its two series, its rings and queues, and how they follow the plan (H1 to H6, W7, R5, R8)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, Protocol

from compiler import plan
from compiler.duration import HOUR, Nanoseconds
from compiler.plan import HostPlan, Operation
from runtime.pacing.checks import CheckSeries
from runtime.pacing.copies import CopySeries
from runtime.pacing.grid import Grid
from runtime.pacing.queue import Queue
from runtime.pacing.requests import keys_of_ring
from runtime.pacing.ring import Ring
from runtime.pacing.values import CopyFailure, Ended, Lap, Policy, Read, Response, RingStatus, Scan, Verdict

__all__ = ["Host", "Memory"]

_CHECK: Final = Operation.CHECK
_LONGEST_HOLD: Final = 6 * HOUR  # W10
# an image may be there although a request beside the first, for its index, was answered with 429
_MAY_BE_RATIONED: Final = frozenset({Verdict.QUOTA_EXCEEDED, Verdict.AVAILABLE})


class Memory(Protocol):
    """What an earlier process, and the scans of this one, left for rings and queues that come into being."""

    def ring(self, owner: str, host: str) -> RingStatus | None:
        """Hand out what status remembers of a ring, once."""
        ...

    def failures(self, owner: str) -> tuple[CopyFailure, ...]:
        """Give the failed copies that status remembers."""
        ...

    def is_scanned(self, owner: str) -> bool:
        """Say whether the destination of a mirror has been scanned (R8)."""
        ...


class Host:
    """One registry host.

    It outlives its place in the plan: a host that comes back finds the grid it left (W7), whose turn it was (T2) and
    what is in flight.

    Attributes:
        plan: None while no plan names the host.
        checks: its check windows.
        copies: its copy windows.
    """

    __slots__ = ("_queues", "_rings", "checks", "copies", "name", "plan")

    def __init__(self, name: str, grids: Mapping[Operation, Grid], starts: int) -> None:
        self.name = name
        self.plan: HostPlan | None = None
        self.checks = CheckSeries(name, grids[Operation.CHECK], starts)
        self.copies = CopySeries(name, grids[Operation.COPY], starts)
        self._rings = dict[str, Ring]()
        self._queues = dict[str, Queue]()

    @property
    def rings(self) -> Mapping[str, Ring]:
        """The rings by owner."""
        return self._rings

    @property
    def queues(self) -> Mapping[str, Queue]:
        """The queues by owner."""
        return self._queues

    def pace(self, check: Nanoseconds, copy: Nanoseconds, now: Nanoseconds) -> Iterator[tuple[str, Operation]]:
        """Give both series their effective intervals; say which of them restart (H1, H2)."""
        if self.checks.pace(check, now):
            yield self.name, Operation.CHECK
        if self.copies.pace(copy, now):
            yield self.name, Operation.COPY

    def follow(self, host: HostPlan, policy: Policy, memory: Memory, now: Nanoseconds) -> list[Lap]:
        """Follow the plan: rings and queues come, change and go; no window moves (H6). Give the laps that this ends."""
        before, self.plan = self.plan, host
        self.checks.follow(host)
        self.copies.follow(host)
        if before is None:
            self.checks.resume(now)
            self.copies.resume(now)
        changed = self._follow_queues(host.copy.queues, policy, memory)
        is_rekeyed = before is not None and before.auth != host.auth
        laps = list[Lap | None]()
        for wanted in host.check.rings:
            ring = self._rings.get(wanted.owner)
            if ring is None or is_rekeyed or wanted.owner in changed or ring.plan != wanted:
                laps.append(self._fit(wanted, memory, now))
        for owner in self._rings.keys() - {ring.owner for ring in host.check.rings}:
            self._forget(owner)
        self._seat()
        return [lap for lap in laps if lap is not None]

    def leave(self) -> None:
        """Go from the plan. Rings and queues are forgotten (R5); reads in flight, grids, turns and holds are not."""
        self.plan = None
        self.checks.follow(None)
        self.copies.follow(None)
        for owner in [*self._rings]:
            self._forget(owner)
        self._queues = {}
        self._seat()

    def scanned(self, owner: str, scan: Scan, memory: Memory, now: Nanoseconds) -> list[Lap]:
        """Learn what a scan found at a mirror's destination. Give the laps that this ends."""
        if (queue := self._queues.get(owner)) is None:
            return []
        queue.scanned(scan)
        return self._fit_mirror(owner, memory, now)

    def vanished(self, owner: str, image: str, memory: Memory, now: Nanoseconds) -> list[Lap]:
        """Learn that a copy is gone from its destination. Give the laps that this ends."""
        if (queue := self._queues.get(owner)) is None:
            return []
        queue.vanished(image)
        return self._fit_mirror(owner, memory, now)

    def finish(self, read: Read, response: Response, memory: Memory, now: Nanoseconds) -> Ended:
        """Note how a read ended.

        Raises:
            UnknownRead: it isn't in flight.
        """
        if read.operation is _CHECK:
            ended = self.checks.finish(read, response)
        else:
            has_arrived = self.copies.finish(read, response, now)
            laps = self._fit_mirror(read.owner, memory, now) if has_arrived else ()
            queue = self._queues.get(read.owner)
            ended = Ended(read, None, tuple(laps), None, queue.pending if queue else 0)
        if response.retry_after is None and response.quota_reset is None:
            return ended
        return ended._replace(held_until=self._hold(response, now))

    def withdraw(self, read: Read, now: Nanoseconds) -> None:
        """Note that a read never began: the image keeps its place.

        Raises:
            UnknownRead: it isn't in flight.
        """
        if read.operation is _CHECK:
            self.checks.finish(read, None)
        else:
            self.copies.finish(read, None, now)

    def _hold(self, response: Response, now: Nanoseconds) -> Nanoseconds | None:
        """Leave the registry alone for as long as it asks (W10); give the moment from which it may be read again."""
        held_until = None
        if response.quota_reset is not None:
            held_until = now + min(response.quota_reset, _LONGEST_HOLD)
            self.copies.hold(held_until)
        if response.retry_after is not None and response.verdict in _MAY_BE_RATIONED:
            held_until = now + min(response.retry_after, _LONGEST_HOLD)
            self.checks.hold(held_until)
            self.copies.hold(held_until)
        return held_until

    def _follow_queues(self, queues: tuple[plan.Queue, ...], policy: Policy, memory: Memory) -> set[str]:
        """Follow the queues of the plan; give the owners of those that came, changed or went."""
        before, self._queues = self._queues, {}
        changed = set[str]()
        for wanted in queues:
            queue = before.pop(wanted.owner, None)
            if queue is None:
                queue = Queue(wanted.owner, memory.failures(wanted.owner), is_known=memory.is_scanned(wanted.owner))
            if queue.change(wanted, policy):
                changed.add(wanted.owner)
            self._queues[wanted.owner] = queue
        return changed | before.keys()

    def _fit_mirror(self, owner: str, memory: Memory, now: Nanoseconds) -> list[Lap]:
        """Fit a mirror's ring to what is at its destination now."""
        wanted = next((r for r in self.plan.check.rings if r.owner == owner), None) if self.plan else None
        if wanted is None:
            return []
        lap = self._fit(wanted, memory, now)
        self._seat()
        return [] if lap is None else [lap]

    def _fit(self, wanted: plan.Ring, memory: Memory, now: Nanoseconds) -> Lap | None:
        """Make a ring what the plan wants and the destination has; give the lap that this ends."""
        ring, queue = self._rings.get(wanted.owner), self._queues.get(wanted.owner)
        images = wanted.images if queue is None else tuple(i for i in wanted.images if queue.is_copied(i))
        if ring is None:
            status = memory.ring(wanted.owner, self.name)
            # before the first scan a ring is there if status says so, and has no images that could be read (R8)
            if not images and (status is None or queue is None or queue.is_known):
                return None
            ring = self._rings[wanted.owner] = Ring(self.name, wanted, queue, now, status)
        elif not images and (queue is None or queue.is_known):
            self._forget(wanted.owner)
            return None
        ring.plan, ring.queue = wanted, queue
        keys = keys_of_ring(wanted, self.plan, images) if self.plan else images
        return ring.change(images, keys, now, self.checks.answers)

    def _forget(self, owner: str) -> None:
        """Forget a ring: one that comes back starts anew (R5)."""
        self._rings.pop(owner).change((), (), 0, self.checks.answers)

    def _seat(self) -> None:
        self.checks.seat([self._rings[owner] for owner in sorted(self._rings)])
        self.copies.seat([self._queues[owner] for owner in sorted(self._queues)])
