"""One term of leading: everything that begins with the lease and ends with it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from types import TracebackType
from typing import Final, Self

from compiler.config import Config
from compiler.duration import SECOND, Nanoseconds, format_duration
from compiler.plan import HostPlan, Operation, Plan
from runtime.cluster.leadership import Leadership
from runtime.cluster.port import Cluster, Observation
from runtime.controller.findings import Findings
from runtime.controller.pacing import NotLeading, Pacer
from runtime.controller.preparing import Prepared, Use, prepare
from runtime.controller.reading import Answer, Credentials, Reader
from runtime.controller.scanning import Scanner
from runtime.controller.times import Clocks
from runtime.metrics import Metrics
from runtime.pacing import Engine
from runtime.pacing.values import Ended, Lap, OwnerStatus, Policy, Read, Response, Scan, Visit, Window
from runtime.reconcile.limits import LimiterByKind
from runtime.reconcile.loop import ReconcileLoop
from runtime.reconcile.queue import WorkQueue
from runtime.reconcile.status import StatusWriter
from runtime.registry import RegistryClient

__all__ = ["Term"]

log: Final = logging.getLogger(__name__)

_REFRESH: Final = SECOND
"""How often metrics of rings and anomalies follow; Prometheus looks less often."""


class Term:
    """Leads: paces reads by the plan, and keeps plan, status and metrics up to date.

    Args:
        leadership: what covers every request.
    """

    def __init__(
        self, cluster: Cluster, observation: Observation, leadership: Leadership, metrics: Metrics, clocks: Clocks
    ) -> None:
        self._observation, self._leadership = observation, leadership
        self._metrics, self._clocks = metrics, clocks
        self._config = Config()
        self._prepared: Prepared | None = None
        self._hosts = dict[str, HostPlan]()
        self._stale = asyncio.Event()
        self._to_show = set[str]()
        self._engine = Engine(leadership.taken_at, leadership.transitions)
        self._findings = Findings(clocks, self._engine.status)
        self._client = RegistryClient(before_request=self._assert_leading, clock=clocks.boot)
        self._reader = Reader(self._client, Credentials(observation.docker_config))
        self._pacer = Pacer(self._engine, clocks.boot, self._carry_out, self)
        self._scanner = Scanner(
            self._client, self._reader, clocks.boot, leadership.taken_at, self._scan_interval, self._scanned
        )
        self._queue = WorkQueue(LimiterByKind(clocks.boot))
        self._writer = StatusWriter(cluster, self._queue, self._findings.status_of)
        self._loop = ReconcileLoop(self._queue, self._writer.reconcile)
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
                self._show_touched(),
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

    # the plan

    async def _note_changes(self) -> None:
        async for _ in self._observation.changes():
            self._stale.set()

    async def _prepare_when_stale(self) -> None:
        while True:
            try:
                async with asyncio.timeout(self._until_next_expiry()):
                    await self._stale.wait()
            except TimeoutError:
                pass  # an image has been retained for long enough
            self._stale.clear()
            await self._prepare()

    def _until_next_expiry(self) -> float | None:
        """Give the seconds until a retained image has been kept long enough."""
        monitors = self._prepared.monitors if self._prepared is not None else {}
        ends = [
            retained.unused_since + monitor.retention
            for owner, monitor in monitors.items()
            for retained in self._findings.uses.get(owner, Use()).retained.values()
        ]
        return max(0.0, (min(ends) - self._clocks.wall()) / SECOND) if ends else None

    async def _prepare(self) -> None:
        """Compile what is there, off the event loop, and put it in force."""
        snapshot = self._observation.snapshot()
        for resource in snapshot.resources:
            self._findings.remember(resource.label, resource.value.get("status"))
        good = self._prepared.good if self._prepared is not None else {}
        digests, now = self._findings.ledger.digests(), self._clocks.wall()
        self._apply(await asyncio.to_thread(prepare, self._config, snapshot, self._findings.uses, good, digests, now))

    def _apply(self, prepared: Prepared) -> None:
        before, self._prepared = self._prepared, prepared
        records = self._findings.take_records()
        # the first plan holds since the lease: a ring's first lap is then as long as any other (R4)
        now = self._leadership.taken_at if before is None else self._clocks.boot()
        applied = self._engine.apply(prepared.plan, now, self._policy(prepared), records)
        self._hosts = {h.host: h for h in prepared.plan.hosts}
        if before is None or before.compilation.diagnostics != prepared.compilation.diagnostics:
            for d in prepared.compilation.diagnostics:
                log.warning("input", extra={"at": str(d.position), "code": d.code, "reason": d.message})
        for host, operation in applied.restarted:
            log.info("windows restart", extra={"host": host, "operation": operation.value})
        self._note_laps(applied.laps)
        gone = self._findings.follow(prepared)
        self._scanner.follow(prepared.plan, prepared.mirrors)
        self._metrics.planned(prepared.plan)
        self._pacer.wake()
        for owner in (*gone, *prepared.objects):
            self._touch(owner)

    def _policy(self, prepared: Prepared) -> Policy:
        config = self._config
        return Policy(
            check_interval=config.check.interval,
            copy_interval=config.copy.interval,
            synced=frozenset(o for o, m in prepared.mirrors.items() if m.drift_policy == "Sync"),
            retry_base=config.mirroring.retry_base,
            retry_longest=config.mirroring.retry_max,
        )

    # reads

    def _assert_leading(self) -> None:
        """Refuse a request that leadership doesn't cover any more; called right before each (W9)."""
        if not self._leadership.may_send(self._clocks.boot()):
            raise NotLeading("leadership has run out")

    async def _carry_out(self, read: Read) -> Response:
        """Read one image, by what the plan says now (H3)."""
        self._assert_leading()
        host, start = self._hosts[read.host], self._clocks.boot()
        if read.operation is Operation.CHECK:
            watched = self._prepared.watched if self._prepared is not None else {}
            answer = await self._reader.check(read, host, watched.get(read.image))
        else:
            answer = await self._copy(read, host)
        seconds = (self._clocks.boot() - start) / SECOND
        self._metrics.read(read.host, read.operation, answer.result, seconds)
        if answer.limits is not None:
            self._metrics.rationed(read.host, answer.limits.limit, answer.limits.remaining)
        if answer.platforms is not None and answer.response.digest is not None:
            self._findings.ledger.platforms(answer.response.digest, answer.platforms)
        self._log_read(read, answer, seconds)
        return answer.response

    async def _copy(self, read: Read, host: HostPlan) -> Answer:
        prepared = self._prepared
        mirror = prepared.mirrors.get(read.owner) if prepared is not None else None
        if mirror is None or prepared is None:
            raise NotLeading(f"{read.owner} is gone")
        start = self._clocks.boot()
        answer = await self._reader.copy(read, host, mirror, prepared.platforms)
        if answer.response.failure is None and read.copy is not None:
            self._findings.copied(read.owner, read.image, read.copy, answer.response.digest)
            self._metrics.copied(read.host, answer.transferred, (self._clocks.boot() - start) / SECOND)
        return answer

    def _log_read(self, read: Read, answer: Answer, seconds: float) -> None:
        message = (
            "checked" if read.operation is Operation.CHECK else "copied" if answer.result == "Copied" else "copy failed"
        )
        log.info(
            message,
            extra={
                "host": read.host,
                "window": read.number,
                "owner": read.owner,
                "image": read.image,
                "result": answer.result,
                "seconds": round(seconds, 3),
                "detail": answer.response.detail or None,
            },
        )

    # what the pacer and the scanner tell

    def opened(self, window: Window) -> None:
        """Learn of a window."""
        self._metrics.opened(window)
        for visit in window.visits:
            self._visited(visit)
        self._note_laps(window.laps)

    def ended(self, ended: Ended, response: Response) -> None:
        """Learn of the end of a read."""
        if ended.visit is not None:
            self._visited(ended.visit)
        elif ended.read.operation is Operation.COPY:
            self._findings.ledger.visited(ended.read.owner, ended.read.image, response, self._clocks.wall())
        if ended.held_until is not None:
            until = format_duration(ended.held_until - self._clocks.boot())
            log.warning("host held", extra={"host": ended.read.host, "for": until, "reason": response.detail})
        self._note_laps(ended.laps)
        self._touch(ended.read.owner)

    def _visited(self, visit: Visit) -> None:
        at = self._clocks.to_wall(visit.asked)
        self._findings.ledger.visited(visit.owner, visit.image, visit.response, at)
        self._touch(visit.owner)

    def _note_laps(self, laps: Iterable[Lap]) -> None:
        for lap in laps:
            duration = format_duration(lap.duration)
            log.info("lap ended", extra={"host": lap.host, "owner": lap.owner, "duration": duration})
            self._touch(lap.owner)

    def _scan_interval(self) -> Nanoseconds:
        return self._config.mirroring.scan_interval

    def _scanned(self, owner: str, scan: Scan) -> None:
        self._findings.scanned(owner, scan)
        self._note_laps(self._engine.scanned(owner, scan, self._clocks.boot()))
        self._touch(owner)

    # status and metrics

    def _touch(self, owner: str) -> None:
        self._writer.touch(owner)
        self._to_show.add(owner)

    async def _show_touched(self) -> None:
        """Let the metrics follow."""
        while True:
            touched, self._to_show = self._to_show, set()
            for owner in touched:
                self._show(owner, self._engine.status(owner))
            self._metrics.held(
                {
                    s.host: self._clocks.to_wall(s.held_until) / SECOND
                    for s in self._engine.series(self._clocks.boot())
                    if s.held_until is not None
                }
            )
            await asyncio.sleep(_REFRESH / SECOND)

    def _show(self, owner: str, status: OwnerStatus) -> None:
        started = {
            ring.registry: self._clocks.to_wall(ring.cycle_started) / SECOND
            for ring in status.rings
            if ring.cycle_started is not None
        }
        self._metrics.ringed(owner, status, started)
        anomalies = [*self._findings.anomalies(owner)]
        for kind in ("unavailable", "drifted"):
            found = [(image, host, reason) for k, image, host, reason in anomalies if k == kind]
            self._metrics.anomalies(kind, owner, found)
