"""The controller: one process that is elected, observes, compiles, paces, reads and writes status."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from typing import Any, Final

from compiler.duration import SECOND, Nanoseconds
from compiler.plan import Plan
from runtime.cluster.leadership import Leadership, LeaseTimes
from runtime.cluster.port import Cluster
from runtime.controller.configuring import Configuration
from runtime.controller.instruments import Instruments
from runtime.controller.term import Term
from runtime.controller.times import write_time
from runtime.watching import watch_files

__all__ = ["Controller", "Settings"]

log: Final = logging.getLogger(__name__)

_FLUSH_WITHIN: Final = 10 * SECOND


@dataclass(frozen=True, slots=True)
class Settings:
    """What the command line says.

    Attributes:
        config: the path of the configuration; None is all defaults.
        grace: how long reads in flight may take after a stop was asked for.
        started: called once the first plan is in force.
    """

    config: str | None = None
    grace: Nanoseconds = 20 * SECOND
    started: Callable[[], None] = lambda: None


class Controller:
    """Runs until it is stopped or loses leadership.

    Args:
        settings: as the command line has them.
        cluster: where resources, status and the lease live.
        instruments: of this process.

    Raises:
        InvalidConfiguration: there is no good one to start with.
    """

    def __init__(self, settings: Settings, cluster: Cluster, instruments: Instruments) -> None:
        self._settings, self._cluster, self._instruments = settings, cluster, instruments
        self._metrics = instruments.metrics
        self._configuration = Configuration(settings.config, cluster, instruments)
        self._one_look_at_a_time = asyncio.Lock()
        self._stopping, self._reload_wanted = asyncio.Event(), asyncio.Event()
        self._term: Term | None = None

    @property
    def plan(self) -> Plan | None:
        """The plan in force."""
        return self._term.plan if self._term is not None else None

    def stop(self) -> None:
        """Ask for a clean stop (SIGTERM)."""
        self._stopping.set()

    def reload(self) -> None:
        """Ask for a look at the configuration (SIGHUP)."""
        self._reload_wanted.set()

    async def run(self) -> int:
        """Run.

        Returns:
            The exit code: 0 after a clean stop, 1 when leadership was lost (W9) or a part of the work has failed.
        """
        election = self._configuration.config.controller.election
        times = LeaseTimes(election.lease_duration, election.renew_deadline, election.retry_period)
        async with AsyncExitStack() as stack:
            leading = asyncio.create_task(stack.enter_async_context(self._cluster.lead(times)))
            leadership = await self._unless_stopped(leading)
            if leadership is None:
                return 0
            since = write_time(self._instruments.clocks.to_wall(leadership.taken_at))
            log.info("leading", extra={"transitions": leadership.transitions, "since": since})
            # a standby may have waited for days
            await self._configuration.look()
            observing = self._cluster.observe(self._configuration.config.insecure)
            observation = await stack.enter_async_context(observing)
            async with Term(self._cluster, observation, leadership, self._instruments) as term:
                return await self._lead(leadership, term)

    async def _lead(self, leadership: Leadership, term: Term) -> int:
        await term.follow(self._configuration.config)
        self._term = term
        self._metrics.leads(leading=True)
        self._settings.started()
        work = [
            asyncio.create_task(part) for part in (term.run(), self._watch_config(term), self._reload_on_request(term))
        ]
        lost, stopping = asyncio.create_task(leadership.lost()), asyncio.create_task(self._stopping.wait())
        try:
            await asyncio.wait({*work, lost, stopping}, return_when=asyncio.FIRST_COMPLETED)
            if leadership.is_lost:
                return await self._lose(term, await lost)
            if failed := [part for part in work if part.done()]:
                return await self._fail(term, failed[0])
            log.info("stopping")
            # no window opens and no scan begins from here on; reads in flight are the term's to end
            await _cancel(*work)
            await term.finish(self._settings.grace, _FLUSH_WITHIN)
            return 0
        finally:
            self._metrics.leads(leading=False)
            await _cancel(*work, lost, stopping)

    async def _lose(self, term: Term, reason: str) -> int:
        """End without another request: someone else may lead by now (W9)."""
        self._metrics.leads(leading=False)
        await term.abandon()
        log.error("leadership lost", extra={"reason": reason})
        return 1

    async def _fail(self, term: Term, part: asyncio.Task[None]) -> int:
        """End because a part of the work has: it was meant to go on, and half a controller is worse than none."""
        await term.abandon()
        log.error("ending after an unexpected failure", exc_info=part.exception())
        return 1

    async def _unless_stopped(self, leading: asyncio.Task[Leadership]) -> Leadership | None:
        """Wait to be elected; None when a stop comes first."""
        stopping = asyncio.create_task(self._stopping.wait())
        await asyncio.wait({leading, stopping}, return_when=asyncio.FIRST_COMPLETED)
        if leading.done():
            await _cancel(stopping)
            return leading.result()
        await _cancel(leading, stopping)
        return None

    async def _watch_config(self, term: Term) -> None:
        """Take a changed configuration, whichever way it was written."""
        if self._settings.config is None:
            await asyncio.Event().wait()
        else:
            await watch_files([self._settings.config], lambda: self._look(term))

    async def _reload_on_request(self, term: Term) -> None:
        while True:
            await self._reload_wanted.wait()
            self._reload_wanted.clear()
            await self._look(term, asked=True)

    async def _look(self, term: Term, *, asked: bool = False) -> None:
        async with self._one_look_at_a_time:
            if await self._configuration.look(asked=asked):
                await term.follow(self._configuration.config)


async def _cancel(*tasks: asyncio.Task[Any]) -> None:
    for task in tasks:
        task.cancel()
    for task in tasks:
        with suppress(asyncio.CancelledError, Exception):
            await task
