"""The copy windows of a host: queues in turn, one image a window (T1, C1, C2, C4)."""

from __future__ import annotations

from typing import ClassVar

from compiler.duration import Nanoseconds
from compiler.plan import Operation
from runtime.pacing.grid import Grid
from runtime.pacing.queue import Queue
from runtime.pacing.requests import secret_for
from runtime.pacing.series import Series
from runtime.pacing.values import Outcome, Read, Response, UnknownRead, Window

__all__ = ["CopySeries"]


class CopySeries(Series[Queue]):
    """The copy windows of one host; the takers are its queues."""

    __slots__ = ("_queue",)

    operation: ClassVar[Operation] = Operation.COPY

    def __init__(self, host: str, grid: Grid, starts: int) -> None:
        super().__init__(host, grid, starts)
        self._queue: Queue | None = None

    def finish(self, read: Read, response: Response | None, now: Nanoseconds) -> bool:
        """Note how the copy in flight ended; say whether its image has arrived and is wanted."""
        if self.reading is not read:
            raise UnknownRead(read)
        queue = self._queue
        self.reading, self._queue = None, None
        return queue is not None and queue.finish(read, response, now)

    def _take(self, number: int, opens: Nanoseconds) -> Window:
        host = self._plan
        for queue in self._turns():
            if not queue.suspended and (copy := queue.next(opens)) is not None:
                secret, timeout = secret_for(copy.image, host), host.copy.timeout
                read = Read(
                    self.host,
                    self.operation,
                    queue.owner,
                    copy.image,
                    number,
                    opens,
                    timeout,
                    secret,
                    host.insecure,
                    copy,
                )
                queue.start(copy.image)
                self.reading, self._queue = read, queue
                self._pass_turn(queue.owner)
                return Window(self.host, self.operation, number, opens, Outcome.USED, 1, read)
        return Window(self.host, self.operation, number, opens, Outcome.IDLE)
