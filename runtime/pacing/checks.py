"""The check windows of a host: rings in turn, one request for all who ask the same (T1, S1 to S6)."""

from __future__ import annotations

from typing import ClassVar, Final

from compiler.duration import Nanoseconds
from compiler.plan import HostPlan, Operation
from runtime.pacing.answers import Answers
from runtime.pacing.grid import Grid
from runtime.pacing.requests import Key, secret_of
from runtime.pacing.ring import Ring
from runtime.pacing.series import Series
from runtime.pacing.values import Ended, Lap, Outcome, Read, Response, Verdict, Visit, Window

__all__ = ["CheckSeries"]

_NO_KEY: Final = ""


class CheckSeries(Series[Ring]):
    """The check windows of one host; the takers are its rings."""

    __slots__ = ("_key", "_ring", "answers")

    operation: ClassVar[Operation] = Operation.CHECK

    def __init__(self, host: str, grid: Grid, starts: int) -> None:
        super().__init__(host, grid, starts)
        self.answers = Answers()
        self._ring: Ring | None = None
        self._key: Key = _NO_KEY

    def finish(self, read: Read, response: Response | None) -> Ended:
        """Note how the read in flight ended; None is one that never began, whose image comes again (R3).

        The visit counts if the ring still holds the image; what the registry said is kept for the others either way.
        """
        ring, key = self._ring, self._key
        self.reading, self._ring, self._key = None, None, _NO_KEY
        if response is None or ring is None:
            return Ended(read)
        position = ring.find(read.image)
        if response.verdict is not Verdict.QUOTA_EXCEEDED:
            still_asked = position is not None and ring.keys[position] == key
            self.answers.keep(key, response, read.opens, by_entry=still_asked)
        if position is None:
            return Ended(read)
        lap = ring.visit(position, read.opens, response)
        visit = Visit(read.owner, read.image, response, read.opens, reused=False)
        return Ended(read, visit, () if lap is None else (lap,))

    def _take(self, number: int, opens: Nanoseconds, host: HostPlan) -> Window:
        visits, laps = list[Visit](), list[Lap]()
        for ring in self._turns():
            if not ring.suspended and ring.turn(opens, self.answers, visits, laps):
                read = self._ask(ring, number, opens, host)
                return Window(
                    self.host, self.operation, number, opens, Outcome.USED, 1, read, tuple(visits), tuple(laps)
                )
        return Window(self.host, self.operation, number, opens, Outcome.IDLE, 1, None, tuple(visits), tuple(laps))

    def _ask(self, ring: Ring, number: int, opens: Nanoseconds, host: HostPlan) -> Read:
        """Spend the window on the image at which a ring stands."""
        image, key = ring.images[ring.position], ring.keys[ring.position]
        insecure = host.insecure or image in ring.plan.insecure
        timeout = host.check.timeout
        read = Read(self.host, self.operation, ring.owner, image, number, opens, timeout, secret_of(key), insecure)
        self.reading, self._ring, self._key = read, ring, key
        self._spender = ring.owner
        return read
