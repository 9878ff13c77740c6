"""The check windows of a host: rings in turn, one request for all who ask the same (T1, S1 to S6)."""

from __future__ import annotations

from typing import ClassVar, Final

from compiler.duration import Nanoseconds
from compiler.plan import Operation
from runtime.pacing.answers import Answers
from runtime.pacing.grid import Grid
from runtime.pacing.requests import Key, secret_of
from runtime.pacing.ring import Ring
from runtime.pacing.series import Series
from runtime.pacing.values import Ended, Lap, Outcome, Read, Response, UnknownRead, Verdict, Visit, Window

__all__ = ["CheckSeries"]

# a member of an enumeration looked up once, not once a window
_CHECK: Final = Operation.CHECK
_IDLE: Final = Outcome.IDLE
_QUOTA_EXCEEDED: Final = Verdict.QUOTA_EXCEEDED
_USED: Final = Outcome.USED


class CheckSeries(Series[Ring]):
    """The check windows of one host; the takers are its rings."""

    __slots__ = ("_key", "_ring", "answers")

    operation: ClassVar[Operation] = Operation.CHECK

    def __init__(self, host: str, grid: Grid, starts: int) -> None:
        super().__init__(host, grid, starts)
        self.answers = Answers()
        self._ring: Ring | None = None
        self._key: Key = ""

    def finish(self, read: Read, response: Response | None) -> Ended:
        """Note how the read in flight ended; None is one that never began, whose image comes again (R3).

        The visit counts if the ring still holds the image; what the registry said is kept for the others either way.
        """
        if self.reading is not read:
            raise UnknownRead(read)
        ring, key = self._ring, self._key
        self.reading, self._ring = None, None
        if response is None or ring is None:
            return Ended(read)
        position = ring.find(read.image)
        if response.verdict is not _QUOTA_EXCEEDED:
            still_asks = position is not None and ring.keys[position] == key
            self.answers.keep(key, response, read.opens, by_entry=still_asks)
        if position is None:
            return Ended(read)
        lap = ring.visit(position, read.opens, response)
        visit = Visit(read.owner, read.image, response, read.opens, False)  # noqa: FBT003  a keyword costs time
        return Ended(read, visit, () if lap is None else (lap,))

    def _take(self, number: int, opens: Nanoseconds) -> Window:
        visits, laps = list[Visit](), list[Lap]()
        for ring in self._turns():
            if not ring.sits_out and ring.turn(opens, self.answers, visits, laps):
                read = self._ask(ring, number, opens)
                return Window(self.host, _CHECK, number, opens, _USED, 1, read, tuple(visits), tuple(laps))
        return Window(self.host, _CHECK, number, opens, _IDLE, 1, None, tuple(visits), tuple(laps))

    def _ask(self, ring: Ring, number: int, opens: Nanoseconds) -> Read:
        """Spend the window on the image at which a ring stands."""
        host, position = self._plan, ring.position
        image, key = ring.images[position], ring.keys[position]
        insecure = host.insecure or image in ring.plan.insecure
        read = Read(self.host, _CHECK, ring.owner, image, number, opens, host.check.timeout, secret_of(key), insecure)
        self.reading, self._ring, self._key = read, ring, key
        self._pass_turn(ring.owner)
        return read
