"""Drives the engine on real time: waits for windows, opens them, has the reads carried out, tells how they ended.

The engine decides; what is here only waits and passes on. A read that leadership no longer covers never begins: its
image keeps its place (W9).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final, Protocol

from compiler.duration import SECOND, Nanoseconds
from compiler.plan import Operation
from runtime.clock import Clock
from runtime.pacing import Ended, Engine, Read, Response, Verdict, Window

__all__ = ["Listener", "NeverBegan", "NotLeading", "Pacer"]

log: Final = logging.getLogger(__name__)

_LONGEST_SLEEP: Final = 5 * SECOND
"""The loop's timers stand still while the machine is suspended, the grid doesn't; a look now and then finds back."""

_AT_ONCE: Final = 500
"""Windows that are opened before others get a turn on the loop; about 2 ms."""


class NeverBegan(Exception):
    """Nothing was asked of the registry; the message says why."""


class NotLeading(NeverBegan):
    """A request was about to go out without leadership (W9)."""


class Listener(Protocol):
    """Who wants to know."""

    def opened(self, window: Window) -> None:
        """Learn of a window."""
        ...

    def rested(self) -> None:
        """Learn that every window that was due has opened."""
        ...

    def ended(self, ended: Ended, response: Response) -> None:
        """Learn of the end of a read."""
        ...


class Pacer:
    """Opens the windows of an engine while it runs.

    Args:
        engine: is told everything here and nowhere else, but for plans and scans.
        clock: of the engine.
        carry_out: reads one image. Raises ``NeverBegan`` when nothing was asked.
    """

    def __init__(
        self, engine: Engine, clock: Clock, carry_out: Callable[[Read], Awaitable[Response]], listener: Listener
    ) -> None:
        self._engine, self._clock, self._carry_out, self._listener = engine, clock, carry_out, listener
        self._changed = asyncio.Event()
        self._reads = set[asyncio.Task[None]]()

    def wake(self) -> None:
        """Look at the windows anew, because the plan has changed."""
        self._changed.set()

    async def run(self) -> None:
        """Open windows until cancelled."""
        while True:
            await self._wait(self._engine.next_opening())
            opened = 0
            while (window := self._engine.open_next(self._clock())) is not None:
                self._open(window)
                opened += 1
                if opened % _AT_ONCE == 0:
                    await asyncio.sleep(0)
            self._listener.rested()

    async def finish(self, within: Nanoseconds) -> None:
        """Take no window any more, and let reads in flight end; those that take longer are cancelled."""
        self._engine.resign()
        if self._reads:
            await asyncio.wait(self._reads, timeout=within / SECOND)
        await self.cancel()

    async def cancel(self) -> None:
        """Take no window any more, and cut off what is in flight."""
        self._engine.resign()
        for task in self._reads:
            task.cancel()
        await asyncio.gather(*self._reads, return_exceptions=True)

    async def _wait(self, opening: Nanoseconds | None) -> None:
        """Wait for the next window, a change of plan, or a while."""
        left = _LONGEST_SLEEP if opening is None else min(opening - self._clock(), _LONGEST_SLEEP)
        if left > 0:
            try:
                async with asyncio.timeout(left / SECOND):
                    await self._changed.wait()
            except TimeoutError:
                return
        self._changed.clear()

    def _open(self, window: Window) -> None:
        self._listener.opened(window)
        if window.read is not None:
            task = asyncio.create_task(self._read(window.read))
            self._reads.add(task)
            task.add_done_callback(self._reads.discard)

    async def _read(self, read: Read) -> None:
        try:
            response = await self._carry_out(read)
        except NeverBegan as reason:
            log.warning("not read", extra={"image": read.image, "owner": read.owner, "reason": str(reason)})
            self._engine.withdrawn(read, self._clock())
            return
        except Exception as error:
            # a mistake of ours about one image must neither end the process nor keep its series busy for ever
            log.exception("read failed unexpectedly", extra={"image": read.image, "owner": read.owner})
            response = _failed_unexpectedly(read, error)
        ended = self._engine.finished(read, response, self._clock())
        self._listener.ended(ended, response)


def _failed_unexpectedly(read: Read, error: Exception) -> Response:
    failure = "SourceUnavailable" if read.operation is Operation.COPY else None
    return Response(Verdict.UNREACHABLE, failure=failure, detail=f"kuik failed: {type(error).__name__}")
