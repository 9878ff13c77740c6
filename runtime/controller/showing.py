"""Lets metrics, and what ``kuik status`` reads, follow what happens: once a second, and only what was touched."""

from __future__ import annotations

import asyncio
import logging
from typing import Final

from compiler.duration import SECOND, Nanoseconds
from runtime.controller.findings import Findings
from runtime.controller.instruments import Instruments, Publish
from runtime.controller.preparing import Prepared
from runtime.controller.publishing import Pace
from runtime.pacing import Engine, OwnerStatus, QueueStatus

__all__ = ["Display"]

log: Final = logging.getLogger(__name__)

_EVERY: Final = SECOND
"""Prometheus looks less often, and people read slower."""


class Display:
    """Shows rings, queues, anomalies and holds.

    Args:
        engine: asked, never told.
        findings: what is known of images.
        instruments: to show it on.
    """

    def __init__(self, engine: Engine, findings: Findings, instruments: Instruments) -> None:
        self._engine, self._findings = engine, findings
        self._metrics, self._clocks, self._publish = instruments.metrics, instruments.clocks, instruments.publish
        self._touched = set[str]()
        self._queues = dict[str, tuple[QueueStatus, ...]]()
        self._grids: tuple[tuple[str, Nanoseconds, Nanoseconds, bool], ...] = ()
        self._held = dict[str, Nanoseconds]()
        self._suspended = frozenset[str]()
        self._has_changed = False
        # told once, not once a second
        self._is_unpublished = False

    def follow(self, prepared: Prepared) -> None:
        """Show another plan."""
        hosts = prepared.plan.hosts
        self._suspended = frozenset(h.host for h in hosts if h.suspended)
        self._metrics.planned(prepared.plan, prepared.digests)
        # pods that come and go change images all day, and none of this
        before, self._grids = (
            self._grids,
            tuple((h.host, h.check.interval, h.copy.interval, h.suspended) for h in hosts),
        )
        self._has_changed |= self._grids != before

    def touch(self, owner: str) -> None:
        """Show an owner anew."""
        self._touched.add(owner)

    def held(self, host: str, until: Nanoseconds) -> None:
        """Show that a host is left alone until a moment."""
        self._held[host] = max(until, self._held.get(host, until))
        self._has_changed = True

    async def run(self) -> None:
        """Show until cancelled."""
        while True:
            self._show_touched()
            self._show_held()
            if self._has_changed and self._publish is not None:
                await self._put_down(self._publish)
            await asyncio.sleep(_EVERY / SECOND)

    async def _put_down(self, publish: Publish) -> None:
        """Publish the pace; a full disk costs people a look, not registries their pace: it is tried again."""
        self._has_changed = False
        series = tuple(self._engine.series(self._clocks.boot()))
        pace = Pace(series, dict(self._queues), self._suspended, self._clocks)
        try:
            await asyncio.to_thread(lambda: publish(pace.document()))
        except OSError as error:
            self._has_changed = True
            if not self._is_unpublished:
                log.warning("pace not published", extra={"reason": str(error)})
            self._is_unpublished = True
        else:
            self._is_unpublished = False

    def _show_touched(self) -> None:
        touched, self._touched = self._touched, set()
        for owner in touched:
            self._show(owner, self._engine.status(owner))

    def _show(self, owner: str, status: OwnerStatus) -> None:
        started = {
            ring.registry: self._clocks.to_wall(ring.cycle_started) / SECOND
            for ring in status.rings
            if ring.cycle_started is not None
        }
        self._metrics.ringed(owner, status, started)
        self._metrics.anomalies(owner, self._findings.anomalies(owner))
        before = self._queues.pop(owner, ())
        if status.queues:
            self._queues[owner] = status.queues
        self._has_changed |= status.queues != before

    def _show_held(self) -> None:
        now = self._clocks.boot()
        self._held = {host: until for host, until in self._held.items() if until > now}
        self._metrics.held({host: self._clocks.to_wall(until) / SECOND for host, until in self._held.items()})
