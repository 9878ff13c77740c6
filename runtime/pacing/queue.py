"""A queue: what one mirror owes from one host, and in which order it is copied (C1, C2, R8)."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable
from enum import IntEnum
from typing import NamedTuple

from compiler import plan
from compiler.duration import Nanoseconds
from runtime.limiters import exponential_delay
from runtime.pacing.values import CopyFailure, Policy, QueueStatus, Read, Response, Scan, Verdict

__all__ = ["Debt", "Queue"]


class Debt(IntEnum):
    """Why an image is owed; lower ones are copied first (C1)."""

    VANISHED = 0
    DRIFTED = 1
    FIRST = 2


class _Copied(NamedTuple):
    """What is known of an image at the destination.

    Attributes:
        digest: of the source it was copied from; None where that is not known.
        since: when that became known.
    """

    digest: str | None
    since: Nanoseconds


class Queue:
    """The state of one queue.

    Every owed image that has not failed since its last success is in ``_order``; every failed one in ``_failures``, the
    one tried longest ago first. The image that is being copied stays where it is until the copy ends. Entries are named
    by the reference that is read: a copy that moves to an alternative's host (C5) is an entry of the queue there.

    Attributes:
        is_known: whether a scan has told what the destination holds; nothing is owed before (R8).
        suspended: the queue is kept and takes no turn (T4).
    """

    __slots__ = (
        "_asleep_until",
        "_copied",
        "_desired",
        "_failures",
        "_moved",
        "_order",
        "_owed",
        "_policy",
        "_reading",
        "is_known",
        "owner",
        "plan",
        "suspended",
    )

    def __init__(self, owner: str, failures: Iterable[CopyFailure], *, is_known: bool) -> None:
        self.owner = owner
        self.plan: plan.Queue | None = None
        self.is_known = is_known
        self.suspended = False
        self._policy = Policy()
        self._desired = dict[str, plan.Copy]()
        self._copied = dict[str, _Copied]()
        self._owed = dict[str, Debt]()
        self._order = list[tuple[Debt, str]]()
        self._failures = {f.image: f for f in sorted(failures, key=lambda f: (f.last_attempt, f.image))}
        self._reading: str | None = None
        self._moved: str | None = None
        self._asleep_until: Nanoseconds | None = None

    def status(self, registry: str) -> QueueStatus:
        """Give the queue as status shows it."""
        return QueueStatus(
            registry=registry,
            desired=len(self._desired),
            pending=(*(image for _, image in self._order), *(i for i in self._failures if i in self._owed)),
            drifted=tuple(image for image, debt in self._owed.items() if debt is Debt.DRIFTED),
            failed=tuple(self._failures.values()),
            known=self.is_known,
        )

    @property
    def pending(self) -> int:
        """How many images are owed, the one that is being copied included."""
        return len(self._owed)

    def is_copied(self, image: str) -> bool:
        """Say whether an image is present at the destination."""
        return image in self._copied

    def next(self, opens: Nanoseconds) -> plan.Copy | None:
        """Give the copy that a window takes; None when nothing is owed or may be tried again yet."""
        if self._order:
            return self._desired[self._order[0][1]]
        if not self._owed or (self._asleep_until is not None and opens < self._asleep_until):
            return None
        for image, failure in self._failures.items():
            if image in self._owed and self._retry_at(failure) <= opens:
                return self._desired[image]
        self._asleep_until = min(self._retry_at(f) for i, f in self._failures.items() if i in self._owed)
        return None

    def change(self, queue: plan.Queue, policy: Policy) -> bool:
        """Follow the plan: drop what is no longer wanted, owe what is new. What goes elsewhere now is new.

        Returns:
            Whether the queue is another one than before.
        """
        self._policy = policy
        self._asleep_until = None
        if queue is self.plan or queue == self.plan:
            return False
        self.plan = queue
        self.suspended = queue.suspended
        desired = {copy.image: copy for copy in queue.images}
        for image, copy in self._desired.items():
            if desired.get(image) != copy:
                self._settle(image)
                self._copied.pop(image, None)
        # failures of an earlier process (``failedImagesCopy``) are of images that were never desired in this one
        self._failures = {i: f for i, f in self._failures.items() if i in desired}
        self._desired = desired
        if self.is_known:
            self._owe_what_is_missing(Debt.FIRST)
        return True

    def scanned(self, scan: Scan) -> None:
        """Learn what the destination holds: what was there and is gone is owed before anything else."""
        for image in self._desired:
            if (copied := self._copied.get(image)) is not None and copied.since > scan.began:
                continue
            if image in scan.present:
                self._copied[image] = _Copied(scan.present[image], scan.began)
                if self._owed.get(image) is not Debt.DRIFTED:
                    self._settle(image)
            elif copied is not None:
                self.vanished(image)
        self.is_known = True
        self._owe_what_is_missing(Debt.FIRST)

    def vanished(self, image: str) -> None:
        """Learn that a copy is no longer at the destination."""
        if self._copied.pop(image, None) is not None:
            self._owe(image, Debt.VANISHED)

    def notice(self, image: str, response: Response) -> None:
        """Compare what a re-read of the source found with what was copied; under ``Sync`` a difference is owed (C1)."""
        if self.owner not in self._policy.synced or response.verdict is not Verdict.AVAILABLE:
            return
        copied = self._copied.get(image)
        if copied is None or copied.digest is None or response.digest is None:
            return
        if image == self._reading:
            # the copy in flight may hold either; its end decides
            self._moved = response.digest
        elif response.digest != copied.digest:
            self._owe(image, Debt.DRIFTED)
        elif self._owed.get(image) is Debt.DRIFTED:
            self._settle(image)

    def start(self, image: str) -> None:
        """Note that the copy of an image is in flight."""
        self._reading, self._moved = image, None

    def finish(self, read: Read, response: Response | None, now: Nanoseconds) -> bool:
        """Note how a copy ended; a response of None is one that never began, whose image keeps its place.

        Returns:
            Whether the image has arrived, is still wanted where it went, and may join its ring (R8).
        """
        moved, self._reading, self._moved = self._moved, None, None
        if response is None or self._desired.get(read.image) != read.copy:
            return False
        self._asleep_until = None
        if response.verdict is not Verdict.AVAILABLE or response.failure is not None:
            self._fail(read.image, response, now)
            return False
        self._settle(read.image)
        self._copied[read.image] = _Copied(response.digest, now)
        if moved is not None and response.digest is not None and moved != response.digest:
            self._owe(read.image, Debt.DRIFTED)
        return self.is_known

    def _fail(self, image: str, response: Response, now: Nanoseconds) -> None:
        """Go behind every image that has not failed, and behind those that have: they were tried longer ago (C2)."""
        self._leave_order(image)
        before = self._failures.pop(image, None)
        attempts = before.attempts + 1 if before else 1
        self._failures[image] = CopyFailure(image, response.failure or response.verdict.value, now, attempts)

    def _retry_at(self, failure: CopyFailure) -> Nanoseconds:
        policy = self._policy
        return failure.last_attempt + exponential_delay(policy.retry_base, policy.retry_longest, failure.attempts - 1)

    def _owe_what_is_missing(self, debt: Debt) -> None:
        missing = [image for image in self._desired if image not in self._copied and image not in self._owed]
        for image in missing:
            self._owed[image] = debt
        self._order = sorted([*self._order, *((debt, image) for image in missing if image not in self._failures)])
        self._asleep_until = None

    def _owe(self, image: str, debt: Debt) -> None:
        self._leave_order(image)
        self._owed[image] = debt
        self._asleep_until = None
        if image not in self._failures:
            insort(self._order, (debt, image))

    def _settle(self, image: str) -> None:
        """Owe an image no longer, and forget its failures."""
        self._leave_order(image)
        self._owed.pop(image, None)
        self._failures.pop(image, None)

    def _leave_order(self, image: str) -> None:
        debt = self._owed.get(image)
        if debt is None or image in self._failures:
            return
        entry = (debt, image)
        position = bisect_left(self._order, entry)
        if position < len(self._order) and self._order[position] == entry:
            del self._order[position]
