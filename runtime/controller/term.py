"""One term of leading: everything that begins with the lease and ends with it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from contextlib import suppress
from types import TracebackType
from typing import Final, Self

from compiler.config import Config
from compiler.diagnostics import Diagnostic
from compiler.duration import HOUR, SECOND, Nanoseconds, format_duration
from compiler.plan import Operation, Plan
from runtime.cluster.leadership import Leadership
from runtime.cluster.port import Cluster, Observation
from runtime.controller.carrying import Carrier
from runtime.controller.findings import Findings
from runtime.controller.instruments import Instruments
from runtime.controller.pacing import NotLeading, Pacer
from runtime.controller.preparing import Past, Prepared, Use, prepare
from runtime.controller.reading import Credentials, Reader
from runtime.controller.scanning import Scanner
from runtime.controller.showing import Display
from runtime.controller.times import write_time
from runtime.limiters import InvalidLimiter
from runtime.log import log_diagnostics
from runtime.pacing import Ended, Engine, Lap, Policy, Response, Scan, Visit, Window
from runtime.reconcile.keys import Key
from runtime.reconcile.limits import LimiterByKind
from runtime.reconcile.loop import ReconcileLoop
from runtime.reconcile.queue import WorkQueue
from runtime.reconcile.status import StatusWriter
from runtime.registry import Clocks as RegistryClocks
from runtime.registry import RegistryClient

__all__ = ["Term"]

log: Final = logging.getLogger(__name__)

_LONGEST_WAIT: Final = HOUR
"""Until retained images are looked at again: their times are the wall clock's, which may be set."""


class Term:
    """Leads: paces reads by the plan, and keeps plan, status and metrics up to date.

    Args:
        cluster: where status goes.
        observation: what is there.
        leadership: what covers every request.
        instruments: of this process.
    """

    def __init__(
        self, cluster: Cluster, observation: Observation, leadership: Leadership, instruments: Instruments
    ) -> None:
        metrics, clocks = instruments.metrics, instruments.clocks
        self._observation, self._leadership, self._metrics, self._clocks = observation, leadership, metrics, clocks
        self._config = Config()
        self._prepared: Prepared | None = None
        self._preparing = asyncio.Lock()
        self._stale = asyncio.Event()
        self._told = frozenset[Diagnostic]()
        self._engine = Engine(leadership.taken_at, leadership.transitions)
        self._client = RegistryClient(
            before_request=self._assert_leading, clocks=RegistryClocks(clocks.boot, clocks.wall)
        )
        credentials = Credentials(observation.docker_config)
        reader = Reader(self._client, credentials, metrics.moved)
        self._findings = Findings(clocks, self._engine.status, credentials.problem)
        self._limiter = LimiterByKind(clocks.boot)
        self._queue = WorkQueue(self._limiter)
        self._writer = StatusWriter(cluster, self._queue, self._findings.status_of)
        self._loop = ReconcileLoop(self._queue, self._write_status)
        self._carrier = Carrier(reader, self._findings, instruments, self._writer.written)
        self._pacer = Pacer(self._engine, clocks.boot, self._carrier.carry_out, self)
        self._scanner = Scanner(self._client, reader, clocks.boot, leadership.taken_at, self._scanned)
        self._display = Display(self._engine, self._findings, instruments)
        metrics.export(lambda: (*self._queue.families(), *self._loop.measures.families()))

    async def __aenter__(self) -> Self:
        self._writing = asyncio.create_task(self._loop.run())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._pacer.cancel()
        self._writing.cancel()
        await asyncio.gather(self._writing, return_exceptions=True)
        await self._client.aclose()

    @property
    def plan(self) -> Plan | None:
        """The plan in force."""
        return self._prepared.plan if self._prepared is not None else None

    async def follow(self, config: Config) -> None:
        """Put a configuration in force."""
        self._config = config
        await self._observation.read_with(config.insecure)
        await self._prepare()

    async def run(self) -> None:
        """Lead until cancelled."""
        async with asyncio.TaskGroup() as group:
            for part in (
                self._pacer.run(),
                self._scanner.run(),
                self._note_changes(),
                self._prepare_when_stale(),
                self._display.run(),
            ):
                group.create_task(part)

    async def finish(self, grace: Nanoseconds, flush_within: Nanoseconds) -> None:
        """End cleanly: no new window, reads in flight get a while, status is written."""
        await self._pacer.finish(grace)
        if not await self._writer.flush(flush_within):
            log.warning("status not written", extra={"within": format_duration(flush_within)})

    async def abandon(self) -> None:
        """End at once, because another may lead now (W9)."""
        await self._pacer.cancel()

    def _assert_leading(self) -> None:
        """Refuse a request that leadership doesn't cover any more; called right before each (W9)."""
        if not self._leadership.may_send(self._clocks.boot()):
            raise NotLeading("leadership has run out")

    async def _write_status(self, key: Key) -> None:
        """Write a status while leadership covers it: whoever was frozen would write what it knew over what is known."""
        if self._leadership.may_send(self._clocks.boot()):
            await self._writer.reconcile(key)

    # the plan

    async def _note_changes(self) -> None:
        async for _ in self._observation.changes():
            self._stale.set()

    async def _prepare_when_stale(self) -> None:
        while True:
            with suppress(TimeoutError):  # an image has been retained for long enough
                async with asyncio.timeout(self._until_next_expiry() / SECOND):
                    await self._stale.wait()
            self._stale.clear()
            await self._prepare()

    def _until_next_expiry(self) -> Nanoseconds:
        """Give the time until a retained image has been kept long enough."""
        monitors = self._prepared.monitors if self._prepared is not None else {}
        ends = (
            retained.unused_since + monitor.retention
            for owner, monitor in monitors.items()
            for retained in self._findings.uses.get(owner, Use()).retained.values()
        )
        now = self._clocks.wall()
        return min(max(min(ends, default=now + _LONGEST_WAIT) - now, 0), _LONGEST_WAIT)

    async def _prepare(self) -> None:
        """Compile what is there, off the event loop, and put it in force; one at a time, so that none is overtaken."""
        async with self._preparing:
            config, snapshot = self._config, self._observation.snapshot()
            for resource in snapshot.resources:
                if self._findings.remember(resource):
                    # what was written is gone with the predecessor
                    self._writer.forget(resource.label)
            good = self._prepared.good if self._prepared is not None else {}
            past = Past(self._findings.uses, good, self._findings.ledger.digests())
            prepared = await asyncio.to_thread(prepare, config, snapshot, past, self._clocks.wall())
            self._apply(config, prepared)

    def _apply(self, config: Config, prepared: Prepared) -> None:
        self._configure_limiters(config)
        # the first plan holds since the lease: a ring's first lap is then as long as any other (R4)
        now = self._leadership.taken_at if self._prepared is None else self._clocks.boot()
        before, self._prepared = self._prepared, prepared
        if before is None or before.digests["pace"] != prepared.digests["pace"]:
            log.info("another pace in force", extra={"hosts": len(prepared.plan.hosts), **prepared.digests})
        applied = self._engine.apply(prepared.plan, now, _policy(config, prepared), self._findings.take_records())
        self._told = log_diagnostics(log, prepared.diagnostics, self._told)
        self._log_restarts(applied.restarted, now)
        gone = self._findings.follow(prepared)
        self._carrier.follow(prepared)
        self._scanner.follow(prepared, config.mirroring.scan_interval)
        self._display.follow(prepared)
        self._pacer.wake()
        self._note_laps(applied.laps)
        for owner in gone:
            self._loop.forget(Key.of(owner))
        for owner in (*gone, *prepared.objects):
            self._touch(owner)

    def _log_restarts(self, restarted: Iterable[tuple[str, Operation]], now: Nanoseconds) -> None:
        if not restarted:
            return
        since = write_time(self._clocks.to_wall(now))
        intervals = {(s.host, s.operation): s.interval for s in self._engine.series(now)}
        for host, operation in restarted:
            every = intervals.get((host, operation))
            keys = {"host": host, "operation": operation.value, "since": since}
            log.info("windows restart", extra={**keys, "every": None if every is None else format_duration(every)})

    def _configure_limiters(self, config: Config) -> None:
        limits = config.controller
        try:
            self._limiter.configure(limits.rate_limiter, limits.per_kind)
        except InvalidLimiter:
            # the schema lets none pass; one that it did must not stop the pace
            log.exception("limiters unchanged")

    # what the pacer and the scanner tell

    def opened(self, window: Window) -> None:
        """Learn of a window."""
        self._metrics.opened(window)
        self._carrier.losses.note(window)
        for visit in window.visits:
            self._visited(visit)
        self._note_laps(window.laps)

    def rested(self) -> None:
        """Learn that every window that was due has opened."""
        self._carrier.losses.tell_missed()

    def ended(self, ended: Ended, response: Response) -> None:
        """Learn of the end of a read."""
        read = ended.read
        if ended.visit is not None:
            self._visited(ended.visit)
        elif read.operation is Operation.COPY:
            self._findings.ledger.visited(read.owner, read.image, response, self._clocks.wall())
            if response.failure is None:
                self._scanner.copied(read.owner, read.image)
        if ended.held_until is not None:
            self._display.held(read.host, ended.held_until)
            until = format_duration(round(ended.held_until - self._clocks.boot(), -6))
            log.warning("host held", extra={"host": read.host, "for": until, "reason": response.detail or None})
        self._note_laps(ended.laps)
        self._touch(read.owner)

    def _visited(self, visit: Visit) -> None:
        at = self._clocks.to_wall(visit.asked)
        self._findings.ledger.visited(visit.owner, visit.image, visit.response, at)
        self._touch(visit.owner)

    def _note_laps(self, laps: Iterable[Lap]) -> None:
        for lap in laps:
            duration = format_duration(round(lap.duration, -6))
            log.info("lap ended", extra={"host": lap.host, "owner": lap.owner, "duration": duration})
            self._touch(lap.owner)

    def _scanned(self, owner: str, scan: Scan) -> None:
        self._findings.scanned(owner, scan)
        self._note_laps(self._engine.scanned(owner, scan, self._clocks.boot()))
        self._touch(owner)

    def _touch(self, owner: str) -> None:
        self._writer.touch(owner)
        self._display.touch(owner)


def _policy(config: Config, prepared: Prepared) -> Policy:
    return Policy(
        check_interval=config.check.interval,
        copy_interval=config.copy.interval,
        synced=frozenset(o for o, m in prepared.mirrors.items() if m.drift_policy == "Sync"),
        retry_base=config.mirroring.retry_base,
        retry_longest=config.mirroring.retry_max,
    )
