"""The work queue, with the semantics of client-go's ``util/workqueue`` for asyncio.

A key waits in it once however often it is added, is never worked on twice at a time, and comes again when it was added
meanwhile. So a flood of events is as many reconciles as there are objects, and a failing one is tried at the limiter's
pace. Everything happens on one event loop; there is nothing to lock.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterator
from heapq import heappop, heappush

from compiler.duration import SECOND, Nanoseconds
from runtime.clock import Clock, loop_clock
from runtime.limiters import Limiter
from runtime.reconcile.keys import Key
from runtime.reconcile.measures import Family, QueueMeasures

__all__ = ["WorkQueue"]


class WorkQueue:
    """Hands out keys, first in first out.

    Args:
        limiter: decides the delay of ``add_rate_limited``.
        name: the label of its metrics.
        clock: that of the running loop, on which delays pass.
    """

    def __init__(self, limiter: Limiter, name: str = "kuik", clock: Clock = loop_clock) -> None:
        self._limiter, self._name, self._clock = limiter, name, clock
        self._measures = QueueMeasures()
        # a key is wanted from its addition until it is handed out; it stands in the line only while not in work
        self._wanted = dict[Key, Nanoseconds]()
        self._line = deque[Key]()
        self._in_work = dict[Key, Nanoseconds]()
        self._delays = _Delays()
        self._timer: asyncio.TimerHandle | None = None
        self._changed = asyncio.Event()
        self._closed = False

    def __len__(self) -> int:
        """Count the keys that wait to be handed out; delayed ones are not in it yet."""
        return len(self._line)

    def add(self, key: Key) -> None:
        """Add a key; while it waits already nothing happens, while it is in work it comes again after ``done``."""
        if self._closed or key in self._wanted:
            return
        self._wanted[key] = self._clock()
        self._measures.adds += 1
        if key not in self._in_work:
            self._line.append(key)
            self._changed.set()

    def add_after(self, key: Key, delay: Nanoseconds) -> None:
        """Add a key when a delay has passed; of two delays for one key the earlier wins."""
        if self._closed:
            return
        self._measures.retries += 1
        if delay <= 0:
            self.add(key)
        elif self._delays.put(key, self._clock() + delay):
            self._arm()

    def add_rate_limited(self, key: Key, at_least: Nanoseconds = 0) -> None:
        """Record a failure of a key and add it when the limiter says so, or later if the server asked for more."""
        self.add_after(key, max(self._limiter.when(key), at_least))

    def forget(self, key: Key) -> None:
        """Forget the failures of a key; it is still to be ``done``."""
        self._limiter.forget(key)

    def num_requeues(self, key: Key) -> int:
        """Count the failures of a key since it was last forgotten."""
        return self._limiter.num_requeues(key)

    async def get(self) -> Key | None:
        """Take the next key into work, waiting for one.

        Returns:
            None when the queue is shut down and has nothing more to hand out.
        """
        while not self._line:
            if self._closed:
                return None
            self._changed.clear()
            await self._changed.wait()
        key, now = self._line.popleft(), self._clock()
        self._measures.waited.observe(now - self._wanted.pop(key))
        self._in_work[key] = now
        return key

    def done(self, key: Key) -> None:
        """End the work on a key, whatever came of it; each ``get`` is followed by one."""
        self._measures.worked.observe(self._clock() - self._in_work.pop(key))
        if key in self._wanted:
            self._line.append(key)
        self._changed.set()

    def shut_down(self) -> None:
        """Take nothing more and drop what is delayed; what waits is still handed out."""
        self._closed = True
        self._delays = _Delays()
        self._arm()
        self._changed.set()

    async def drain(self) -> None:
        """Shut down and wait until everything that was handed out, or will be, is done."""
        self.shut_down()
        while self._line or self._in_work:
            self._changed.clear()
            await self._changed.wait()

    def families(self) -> Iterator[Family]:
        """Give its metrics under controller-runtime's names."""
        now = self._clock()
        ages = [now - start for start in self._in_work.values()]
        yield from self._measures.families(self._name, len(self), sum(ages), max(ages, default=0))

    def _arm(self) -> None:
        """Let the timer go off when the first delay is over."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if (ripe_at := self._delays.first()) is not None:
            wait = max(ripe_at - self._clock(), 0) / SECOND
            self._timer = asyncio.get_running_loop().call_later(wait, self._ripen, ripe_at)

    def _ripen(self, ripe_at: Nanoseconds) -> None:
        """Add what has waited long enough; a timer may go off a tick of the clock too early, and must not twice."""
        for key in self._delays.take(max(ripe_at, self._clock())):
            self.add(key)
        self._arm()


class _Delays:
    """Keys that are to be added later, each once: the soonest first, then the one that was put first."""

    def __init__(self) -> None:
        self._ripe_at = dict[Key, Nanoseconds]()
        self._heap = list[tuple[Nanoseconds, int, Key]]()
        self._puts = 0

    def put(self, key: Key, ripe_at: Nanoseconds) -> bool:
        """Put a key unless it is to come no later than that already; say whether it was."""
        if self._ripe_at.get(key, ripe_at + 1) <= ripe_at:
            return False
        self._ripe_at[key] = ripe_at
        self._puts += 1
        heappush(self._heap, (ripe_at, self._puts, key))
        return True

    def first(self) -> Nanoseconds | None:
        """Say when the next key is ripe."""
        self._drop_superseded()
        return self._heap[0][0] if self._heap else None

    def take(self, now: Nanoseconds) -> Iterator[Key]:
        """Take out every key that is ripe."""
        while (ripe_at := self.first()) is not None and ripe_at <= now:
            key = heappop(self._heap)[2]
            del self._ripe_at[key]
            yield key

    def _drop_superseded(self) -> None:
        """Drop from the top of the heap what an earlier delay for the same key has overtaken."""
        while self._heap and self._ripe_at.get(self._heap[0][2]) != self._heap[0][0]:
            heappop(self._heap)
