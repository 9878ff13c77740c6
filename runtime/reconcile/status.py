"""Writes status through the work queue: what changed often is written seldom, and always as it is then.

A queue of keys makes this simple. Whoever changes the state touches the owner; when its turn comes the present status
is asked for, so nothing is written that is out of date already.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Final, TypeAlias

from compiler.duration import SECOND, Nanoseconds
from runtime.clock import Clock, loop_clock
from runtime.cluster.port import Cluster
from runtime.reconcile.keys import Key
from runtime.reconcile.queue import WorkQueue

__all__ = ["StatusOf", "StatusWriter"]

StatusOf: TypeAlias = Callable[[str], Mapping[str, Any] | None]
"""Gives the present status of an owner; None when it has none to write, because it is gone."""

_NEVER: Final = -(2**63)


class StatusWriter:
    """Keeps the written status of each owner close to the present one.

    Args:
        cluster: where it is written, with the least time between two writes of one owner.
        queue: the one queue of all that talks to the cluster.
    """

    def __init__(self, cluster: Cluster, queue: WorkQueue, status_of: StatusOf, clock: Clock = loop_clock) -> None:
        self._cluster, self._queue, self._status_of, self._clock = cluster, queue, status_of, clock
        self._touched = set[str]()
        self._all_written = asyncio.Event()
        self._written = dict[str, Mapping[str, Any]]()
        self._written_at = dict[str, Nanoseconds]()
        self._waiting = dict[str, list[asyncio.Future[None]]]()

    def touch(self, owner: str) -> None:
        """Note that the status of an owner may have changed."""
        if owner not in self._touched:
            self._all_written.clear()
            self._touched.add(owner)
            due_at = self._written_at.get(owner, _NEVER) + self._cluster.status_spacing
            self._queue.add_after(Key.of(owner), due_at - self._clock())

    async def written(self, owner: str) -> None:
        """Touch an owner and wait until its status, as it is now or later, is written or the owner is gone."""
        waiter = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(owner, []).append(waiter)
        self.touch(owner)
        await waiter

    async def reconcile(self, key: Key) -> None:
        """Write the status of a key that was touched, if it differs from what was written last.

        Raises:
            ClusterError: it was not written and is still to be.
        """
        owner = key.owner
        if owner not in self._touched:
            return
        # removed before the write: what is touched during it is written again
        self._touched.discard(owner)
        waiting = len(self._waiting.get(owner, ()))
        status = self._status_of(owner)
        if status is None:
            self.forget(owner)
        elif status != self._written.get(owner):
            await self._write(owner, status)
        self._tell(owner, waiting)
        if not self._touched:
            self._all_written.set()

    async def _write(self, owner: str, status: Mapping[str, Any]) -> None:
        # from the start of a write, so that what is touched during it keeps its distance too
        self._written_at[owner] = self._clock()
        try:
            is_there = await self._cluster.write_status(owner, status)
        except BaseException:
            self._touched.add(owner)
            raise
        if is_there:
            self._written[owner] = status
        else:
            self.forget(owner)

    def _tell(self, owner: str, count: int) -> None:
        """Tell those who waited before the status was taken; who came during the write waits for the next."""
        waiting = self._waiting.pop(owner, [])
        for waiter in waiting[:count]:
            if not waiter.done():
                waiter.set_result(None)
        if waiting[count:]:
            self._waiting[owner] = waiting[count:]

    def forget(self, owner: str) -> None:
        """Forget an owner that is gone; one of the same name that comes later is written anew."""
        self._touched.discard(owner)
        self._written.pop(owner, None)
        self._written_at.pop(owner, None)

    async def flush(self, within: Nanoseconds) -> bool:
        """Write all that was touched, without the spacing, and shut the queue down: for a clean stop.

        Args:
            within: how long that may take; a server that doesn't answer must not keep the process.

        Returns:
            Whether everything was written.
        """
        for key in map(Key.of, sorted(self._touched)):
            # what waits for its next attempt is tried now, and again soon
            self._queue.forget(key)
            self._queue.add(key)
        with suppress(TimeoutError):
            async with asyncio.timeout(within / SECOND):
                if self._touched:
                    await self._all_written.wait()
                await self._queue.drain()
        self._queue.shut_down()
        return not self._touched
