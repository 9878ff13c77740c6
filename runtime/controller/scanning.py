"""Looks at the destinations of mirrors: soon after the start, then once an interval (page 3, "Scan")."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from compiler.duration import MINUTE, SECOND, Nanoseconds
from compiler.plan import Copy, Plan
from compiler.resources import ImageMirror
from runtime.clock import Clock
from runtime.controller.reading import MissingSecret, Reader
from runtime.pacing.values import Scan
from runtime.registry import Available, Desired, Found, NotFound, RegistryClient, scan

__all__ = ["Scanner"]

log: Final = logging.getLogger(__name__)

_FIRST_AFTER: Final = MINUTE
"""After the lease: a restart loop scans nothing."""
_AT_ONCE: Final = 16
_WITHIN: Final = 10 * SECOND
"""For one tag; a destination is the operator's own, and near."""
_LOOK_EVERY: Final = SECOND


class Scanner:
    """Scans the destination of every mirror when its time has come.

    Args:
        lease: the moment at which the lease was taken.
        interval: gives ``mirror.destinationScan.interval``.
        found: told what a scan found at the destination of an owner.
    """

    def __init__(
        self,
        client: RegistryClient,
        reader: Reader,
        clock: Clock,
        lease: Nanoseconds,
        interval: Callable[[], Nanoseconds],
        found: Callable[[str, Scan], None],
    ) -> None:
        self._client, self._reader, self._clock = client, reader, clock
        self._lease, self._interval, self._found = lease, interval, found
        self._mirrors: Mapping[str, ImageMirror] = {}
        self._plan = Plan()
        self._due = dict[str, Nanoseconds]()
        self._present = dict[str, set[str]]()
        self._running = dict[str, asyncio.Task[None]]()

    def follow(self, plan: Plan, mirrors: Mapping[str, ImageMirror]) -> None:
        """Scan for what a plan wants; a mirror that is new is scanned as soon as the start is long enough ago."""
        first = self._lease + min(_FIRST_AFTER, self._interval())
        for owner, mirror in mirrors.items():
            if owner not in self._mirrors or self._mirrors[owner].path != mirror.path:
                self._due[owner] = max(first, self._clock())
                self._present.pop(owner, None)
        for owner in self._mirrors.keys() - mirrors.keys():
            self._due.pop(owner, None)
            self._present.pop(owner, None)
            if (task := self._running.pop(owner, None)) is not None:
                task.cancel()
        self._plan, self._mirrors = plan, mirrors

    async def run(self) -> None:
        """Scan until cancelled; one scan a mirror at a time."""
        try:
            while True:
                now = self._clock()
                for owner in [o for o, due in self._due.items() if due <= now and o not in self._running]:
                    task = self._running[owner] = asyncio.create_task(self._scan(owner, now))
                    task.add_done_callback(partial(self._ended, owner))
                await asyncio.sleep(_LOOK_EVERY / SECOND)
        finally:
            for task in self._running.values():
                task.cancel()

    def _ended(self, owner: str, task: asyncio.Task[None]) -> None:
        self._running.pop(owner, None)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("scan failed unexpectedly", extra={"owner": owner}, exc_info=error)

    async def _scan(self, owner: str, began: Nanoseconds) -> None:
        mirror, wanted = self._mirrors[owner], self._wanted(owner)
        self._due[owner] = began + self._interval()
        answers = dict[str, Found]()
        try:
            desired = {image: self._desired(mirror, copy) for image, copy in wanted.items()}
        except MissingSecret as error:
            log.warning("destination not scanned", extra={"owner": owner, "reason": str(error)})
            return
        images = {(d.repository.name, d.tag): image for image, d in desired.items()}

        def note(found: Found) -> None:
            answers[images[found.desired.repository.name, found.desired.tag]] = found

        await scan(self._client, desired.values(), note, limit=_AT_ONCE, within=_WITHIN)
        self._conclude(owner, began, answers)

    def _conclude(self, owner: str, began: Nanoseconds, answers: Mapping[str, Found]) -> None:
        """Tell what is there. A tag that couldn't be asked for counts as before; at a first scan nothing is known."""
        unclear = [i for i, f in answers.items() if not isinstance(f.verdict, Available | NotFound)]
        before = self._present.get(owner)
        if unclear:
            reason = answers[unclear[0]].verdict.message
            log.warning("destination not scanned whole", extra={"owner": owner, "tags": len(unclear), "reason": reason})
            if before is None:
                # nothing is copied to a place of which nothing is known (R8)
                self._due[owner] = self._clock() + min(_FIRST_AFTER, self._interval())
                return
        present = {i: f.source_digest for i, f in answers.items() if isinstance(f.verdict, Available)}
        present |= {i: None for i in unclear if before and i in before}
        self._present[owner] = {*present}
        log.info("destination scanned", extra={"owner": owner, "desired": len(answers), "present": len(present)})
        self._found(owner, Scan(began, present))

    def _wanted(self, owner: str) -> dict[str, Copy]:
        queues = (q for h in self._plan.hosts for q in h.copy.queues if q.owner == owner)
        return {copy.image: copy for queue in queues for copy in queue.images}

    def _desired(self, mirror: ImageMirror, copy: Copy) -> Desired:
        name, _, tag = copy.to.rpartition(":")
        filtered = mirror.platforms is not None
        return Desired(self._reader.destination(mirror, name, actions="pull"), tag, filtered)
