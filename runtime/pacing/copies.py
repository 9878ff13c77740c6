"""The copy windows of a host: queues in turn, one image a window (T1, C1, C2, C4)."""

from __future__ import annotations

from typing import ClassVar

from compiler.duration import Nanoseconds
from compiler.plan import Operation
from runtime.pacing.queue import Queue
from runtime.pacing.requests import secret_for
from runtime.pacing.series import Series
from runtime.pacing.values import Outcome, Read, Response, UnknownRead, Window

__all__ = ["CopySeries"]


class CopySeries(Series[Queue]):
    """The copy windows of one host; the takers are its queues."""

    __slots__ = ()

    operation: ClassVar[Operation] = Operation.COPY

    def finish(self, read: Read, response: Response | None, now: Nanoseconds) -> bool:
        """Note how the copy in flight ended; say whether its image has arrived and is wanted.

        A mirror that went meanwhile and came back has another queue, which wants the same copy or doesn't.

        Raises:
            UnknownRead: the read isn't in flight.
        """
        if self.reading is not read:
            raise UnknownRead(read)
        self.reading = None
        queue = next((queue for queue in self.takers if queue.owner == read.owner), None)
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
                self.reading = read
                self._pass_turn(queue.owner)
                return Window(self.host, self.operation, number, opens, Outcome.USED, 1, read)
        return Window(self.host, self.operation, number, opens, Outcome.IDLE)
