"""The loop that works off the queue: what each outcome of a reconcile means for the key's next turn.

Level-based: a reconcile is told a key and looks at the whole present state. It knows nothing of the event.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final, TypeAlias

from compiler.duration import Nanoseconds
from runtime.clock import Clock, loop_clock
from runtime.cluster.errors import ClusterError, Conflict, Unavailable
from runtime.reconcile.keys import Key
from runtime.reconcile.measures import ReconcileMeasures
from runtime.reconcile.queue import WorkQueue

__all__ = ["Reconcile", "ReconcileLoop"]

log: Final = logging.getLogger(__name__)

Reconcile: TypeAlias = Callable[[Key], Awaitable[Nanoseconds | None]]
"""Brings one resource to its desired state. Returns the time after which it wants to come back, or None."""

ATTEMPTS_ON_CONFLICT: Final = 5
"""How often a conflict is answered by reading again at once; client-go's ``retry.DefaultRetry`` has as many steps."""


class ReconcileLoop:
    """Takes keys from a queue, reconciles them, and gives each outcome its consequence.

    - success forgets the key's failures;
    - a wish to come back forgets them and adds the key after that time;
    - an error adds the key when the limiter says so, or later when the server asked for more;
    - a conflict is reconciled again at once, five times, since a reconcile reads before it writes.
    """

    def __init__(self, queue: WorkQueue, reconcile: Reconcile, clock: Clock = loop_clock) -> None:
        self._queue, self._reconcile, self._clock = queue, reconcile, clock
        self.measures = ReconcileMeasures()

    async def run(self, workers: int = 1) -> None:
        """Work until the queue is shut down and empty."""
        async with asyncio.TaskGroup() as group:
            for _ in range(workers):
                group.create_task(self._work())

    def forget(self, key: Key) -> None:
        """Forget a resource that is gone: its failures and its series."""
        self._queue.forget(key)
        self.measures.forget(key)

    async def _work(self) -> None:
        while (key := await self._queue.get()) is not None:
            start = self._clock()
            try:
                result = await self._one(key)
                self.measures.reconciled(key, result, self._clock() - start)
            finally:
                self._queue.done(key)

    async def _one(self, key: Key) -> str:
        try:
            again_after = await self._with_conflicts(key)
        except ClusterError as error:
            log.warning("reconcile failed", extra={"object": key.owner, "reason": str(error)})
            return self._failed(key, error.retry_after if isinstance(error, Unavailable) else 0)
        except Exception:
            # a mistake of ours in one resource must not stop the others
            log.exception("reconcile failed unexpectedly", extra={"object": key.owner})
            return self._failed(key, 0)
        self._queue.forget(key)
        if again_after is None:
            return "success"
        self._queue.add_after(key, again_after)
        return "requeue_after"

    async def _with_conflicts(self, key: Key) -> Nanoseconds | None:
        for _ in range(ATTEMPTS_ON_CONFLICT):
            try:
                return await self._reconcile(key)
            except Conflict as error:
                log.info("conflict, reading again", extra={"object": key.owner, "reason": str(error)})
        return await self._reconcile(key)

    def _failed(self, key: Key, at_least: Nanoseconds) -> str:
        self.measures.requeues[key] += 1
        self._queue.add_rate_limited(key, at_least)
        return "error"
