"""Looks at the destinations of mirrors: soon after the start, then once an interval (page 3, "Scan")."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from compiler.duration import MINUTE, SECOND, Nanoseconds
from compiler.plan import Copy
from compiler.resources import ImageMirror
from runtime.clock import Clock
from runtime.controller.pacing import NotLeading
from runtime.controller.preparing import Prepared
from runtime.controller.reading import Reader, SecretUnusable, platforms_of
from runtime.pacing import Scan
from runtime.registry import Available, Desired, Found, NotFound, RegistryClient, parse_platform, scan

__all__ = ["FIRST_AFTER", "Scanner"]

log: Final = logging.getLogger(__name__)

FIRST_AFTER: Final = MINUTE
"""After the lease: a restart loop scans nothing. Also how long one waits that told nothing."""
_AT_ONCE: Final = 16
_WITHIN: Final = 10 * SECOND
"""For one tag; a destination is the operator's own, and near."""
_LOOK_EVERY: Final = SECOND // 5
_INCOMPLETE: Final = "lacks a wanted platform"
"""In place of the digest of a copy that must count as drifted: no source has it (page 4, "A copy")."""


class Scanner:
    """Scans the destination of every mirror when its time has come.

    Args:
        client: asks the destinations.
        reader: knows how they are reached.
        clock: of the lease.
        lease: the moment at which the lease was taken.
        found: told what a scan found at the destination of an owner.
    """

    def __init__(
        self,
        client: RegistryClient,
        reader: Reader,
        clock: Clock,
        lease: Nanoseconds,
        found: Callable[[str, Scan], None],
    ) -> None:
        self._client, self._reader, self._clock, self._found = client, reader, clock, found
        self._lease = lease
        self._interval: Nanoseconds = 0
        self._prepared: Prepared | None = None
        self._due = dict[str, Nanoseconds]()
        self._began = dict[str, Nanoseconds]()
        self._present = dict[str, set[str]]()
        self._made_for = dict[tuple[str, str], frozenset[str] | None]()
        self._running = dict[str, asyncio.Task[None]]()

    def follow(self, prepared: Prepared, interval: Nanoseconds) -> None:
        """Scan for what a plan wants, once an interval; a mirror that is new as soon as the start is long ago."""
        before = self._prepared.mirrors if self._prepared is not None else {}
        if interval != self._interval:
            self._interval = interval
            self._due |= {owner: began + interval for owner, began in self._began.items()}
        first = self._lease + min(FIRST_AFTER, interval)
        for owner, mirror in prepared.mirrors.items():
            if owner not in before or before[owner].path != mirror.path:
                self._forget(owner)
                self._due[owner] = max(first, self._clock())
        for owner in before.keys() - prepared.mirrors.keys():
            self._forget(owner)
        self._prepared = prepared

    def copied(self, owner: str, image: str) -> None:
        """Note that an image has been copied with the platforms that its mirror wants now."""
        if self._prepared is not None and (mirror := self._prepared.mirrors.get(owner)) is not None:
            self._made_for[owner, image] = platforms_of(mirror, self._prepared.platforms)

    async def run(self) -> None:
        """Scan until cancelled; one scan a mirror at a time."""
        try:
            while True:
                now = self._clock()
                for owner in [o for o, due in self._due.items() if due <= now and o not in self._running]:
                    self._start(owner, now)
                await asyncio.sleep(_LOOK_EVERY / SECOND)
        finally:
            running = [*self._running.values()]
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)

    def _start(self, owner: str, now: Nanoseconds) -> None:
        self._began[owner], self._due[owner] = now, now + self._interval
        task = self._running[owner] = asyncio.create_task(self._scan(owner, now))
        task.add_done_callback(partial(self._ended, owner))

    def _forget(self, owner: str) -> None:
        for known in (self._due, self._began, self._present):
            known.pop(owner, None)
        self._made_for = {key: made for key, made in self._made_for.items() if key[0] != owner}
        if (task := self._running.pop(owner, None)) is not None:
            task.cancel()

    def _ended(self, owner: str, task: asyncio.Task[None]) -> None:
        if self._running.get(owner) is task:
            del self._running[owner]
        if not task.cancelled() and (error := task.exception()) is not None:
            if not isinstance(error, NotLeading):
                log.error("scan failed unexpectedly", extra={"owner": owner}, exc_info=error)
            self._try_again_soon(owner)

    def _try_again_soon(self, owner: str) -> None:
        if owner in self._due:
            self._due[owner] = self._clock() + min(FIRST_AFTER, self._interval)

    async def _scan(self, owner: str, began: Nanoseconds) -> None:
        if self._prepared is None:
            return
        mirror, wanted = self._prepared.mirrors[owner], _wanted(self._prepared, owner)
        answers = dict[str, Found]()
        try:
            desired = {image: self._desired(mirror, copy) for image, copy in wanted.items()}
        except SecretUnusable as reason:
            log.warning("destination not scanned", extra={"owner": owner, "reason": str(reason)})
            self._try_again_soon(owner)
            return
        images = {(d.repository.name, d.tag): image for image, d in desired.items()}

        def note(found: Found) -> None:
            answers[images[found.desired.repository.name, found.desired.tag]] = found

        await scan(self._client, desired.values(), note, limit=_AT_ONCE, within=_WITHIN)
        self._conclude(mirror, began, answers)

    def _conclude(self, mirror: ImageMirror, began: Nanoseconds, answers: Mapping[str, Found]) -> None:
        """Tell what is there. A tag that couldn't be asked for counts as before; at a first scan nothing is known."""
        owner, before = mirror.owner, self._present.get(mirror.owner)
        unclear = [i for i, f in answers.items() if not isinstance(f.verdict, Available | NotFound)]
        if unclear:
            reason = answers[unclear[0]].verdict.message
            log.warning("destination not scanned whole", extra={"owner": owner, "tags": len(unclear), "reason": reason})
            self._try_again_soon(owner)
            if before is None:
                return
        present = {i: self._digest(mirror, i, f) for i, f in answers.items() if isinstance(f.verdict, Available)}
        present |= {i: None for i in unclear if before and i in before}
        self._present[owner] = {*present}
        log.info("destination scanned", extra={"owner": owner, "desired": len(answers), "present": len(present)})
        self._found(owner, Scan(began, present))

    def _digest(self, mirror: ImageMirror, image: str, found: Found) -> str | None:
        """Give the digest that a copy was made from, unless a platform that is wanted now is not in it.

        A copy that was made for these platforms has all that the source has.
        """
        wanted = platforms_of(mirror, self._prepared.platforms if self._prepared is not None else frozenset())
        if not wanted or not found.platforms or self._made_for.get((mirror.owner, image)) == wanted:
            return found.source_digest
        complete = all(any(p.covers(e) for e in found.platforms) for p in map(parse_platform, wanted))
        return found.source_digest if complete else _INCOMPLETE

    def _desired(self, mirror: ImageMirror, copy: Copy) -> Desired:
        name, _, tag = copy.to.rpartition(":")
        return Desired(self._reader.destination(mirror, name, actions="pull"), tag, mirror.platforms is not None)


def _wanted(prepared: Prepared, owner: str) -> dict[str, Copy]:
    queues = (q for h in prepared.plan.hosts for q in h.copy.queues if q.owner == owner)
    return {copy.image: copy for queue in queues for copy in queue.images}
