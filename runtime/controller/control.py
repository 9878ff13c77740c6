"""The controller: one process that is elected, observes, compiles, paces, reads and writes status."""

from __future__ import annotations

import asyncio
import logging
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from typing import Any, Final

from compiler.config import Config
from compiler.diagnostics import Diagnostic
from compiler.duration import SECOND, Nanoseconds
from compiler.plan import Plan
from compiler.reading import read_config
from compiler.source import Text
from runtime.cluster.leadership import Leadership, LeaseTimes
from runtime.cluster.port import Cluster, Observation, Report, Severity
from runtime.controller.term import Term
from runtime.controller.times import Clocks
from runtime.files import read_file
from runtime.metrics import Metrics
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
        lease: the times of the election; None takes those of the configuration.
    """

    config: str | None = None
    grace: Nanoseconds = 20 * SECOND
    lease: LeaseTimes | None = None


class Controller:
    """Runs until it is stopped or loses leadership.

    Args:
        cluster: where resources, status and the lease live.
        config: the configuration as it was read and found good, with its text.
    """

    def __init__(
        self, settings: Settings, cluster: Cluster, config: tuple[Text | None, Config], metrics: Metrics, clocks: Clocks
    ) -> None:
        self._settings, self._cluster, self._metrics, self._clocks = settings, cluster, metrics, clocks
        self._text, self._config = config
        self._stopping = asyncio.Event()
        self._term: Term | None = None
        self._reload_wanted = asyncio.Event()

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
            The exit code: 0 after a clean stop, 1 when leadership was lost (W9).
        """
        self._metrics.reloaded(taken=True, at=self._clocks.wall() / SECOND)
        async with AsyncExitStack() as stack:
            leading = asyncio.create_task(
                stack.enter_async_context(self._cluster.lead(self._settings.lease or LeaseTimes()))
            )
            leadership = await self._unless_stopped(leading)
            if leadership is None:
                return 0
            log.info("leading", extra={"transitions": leadership.transitions})
            observation = await stack.enter_async_context(self._cluster.observe(self._config.insecure))
            return await self._lead(leadership, observation)

    async def _lead(self, leadership: Leadership, observation: Observation) -> int:
        async with Term(self._cluster, observation, leadership, self._metrics, self._clocks) as term:
            self._term = term
            await term.follow(self._config)
            self._metrics.leads(leading=True)
            work = [
                asyncio.create_task(part)
                for part in (term.run(), self._watch_config(term), self._reload_on_request(term))
            ]
            lost = asyncio.create_task(leadership.lost())
            stopping = asyncio.create_task(self._stopping.wait())
            try:
                done, _ = await asyncio.wait({*work, lost, stopping}, return_when=asyncio.FIRST_COMPLETED)
                if lost in done or leadership.is_lost:
                    log.error("leadership lost", extra={"reason": leadership.is_lost and await lost})
                    self._metrics.leads(leading=False)
                    await term.abandon()
                    return 1
                for task in done - {stopping}:
                    task.result()  # a part that ends by itself has failed
                log.info("stopping")
                await term.finish(self._settings.grace, _FLUSH_WITHIN)
                return 0
            finally:
                self._metrics.leads(leading=False)
                await _cancel(*work, lost, stopping)

    async def _unless_stopped(self, leading: asyncio.Task[Leadership]) -> Leadership | None:
        """Wait to be elected; None when a stop comes first."""
        stopping = asyncio.create_task(self._stopping.wait())
        await asyncio.wait({leading, stopping}, return_when=asyncio.FIRST_COMPLETED)
        if leading.done():
            await _cancel(stopping)
            return leading.result()
        await _cancel(leading)
        return None

    async def _watch_config(self, term: Term) -> None:
        """Take a changed configuration, whichever way it was written."""
        path = self._settings.config
        if path is None:
            await asyncio.Event().wait()
        else:
            await watch_files([path], lambda: self._look(term, path))

    async def _reload_on_request(self, term: Term) -> None:
        while True:
            await self._reload_wanted.wait()
            self._reload_wanted.clear()
            if self._settings.config is not None:
                await self._look(term, self._settings.config)

    async def _look(self, term: Term, path: str) -> None:
        """Read the configuration; one that is wrong or gone is refused whole and the last good one goes on (H5)."""
        read = await asyncio.to_thread(read_file, path)
        if read == self._text:
            return
        config, found = (None, [read]) if isinstance(read, Diagnostic) else read_config(read)
        if config is None:
            await self._refuse(found)
            return
        self._text = read if isinstance(read, Text) else None
        if config != self._config:
            self._config = config
            await term.follow(config)
        self._metrics.reloaded(taken=True, at=self._clocks.wall() / SECOND)
        log.info("configuration reloaded", extra={"file": path})

    async def _refuse(self, found: list[Diagnostic]) -> None:
        self._metrics.reloaded(taken=False, at=0)
        for diagnostic in found:
            position = diagnostic.position
            keys = {"file": position.file, "line": position.line, "column": position.column, "code": diagnostic.code}
            log.error("configuration refused", extra={**keys, "reason": diagnostic.message})
        first = found[0]
        message = f"{first.position}: {first.message}; the last good configuration stays in force"
        await self._cluster.report(Report(Severity.WARNING, "ReloadFailed", message))


async def _cancel(*tasks: asyncio.Task[Any]) -> None:
    for task in tasks:
        task.cancel()
    for task in tasks:
        with suppress(asyncio.CancelledError, Exception):
            await task
