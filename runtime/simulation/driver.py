"""Drives the engine in virtual time: what page 2 calls ``simulate``.

At one instant the order is: reads that end, then the script, then the windows that open; a read of 0 s ends before the
next window opens.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import heappop, heappush
from typing import Final, NamedTuple, TypeAlias

from compiler.duration import Nanoseconds
from compiler.plan import Operation
from runtime.pacing import Engine, Lap, OwnerStatus, Read, Record, Response, Scan, Verdict, Window
from runtime.simulation.lines import Line, Page
from runtime.simulation.script import Answer, Configure, Entry, Latency, Replace, Restart, Vanish
from runtime.simulation.situation import Situation
from runtime.simulation.summary import Summary, Tally
from runtime.simulation.world import World

__all__ = ["Reload", "Simulation"]

Reload: TypeAlias = Callable[[str | None, tuple[str, ...] | None], Situation | None]
"""Compiles what a script names: the configuration, and the resources; None is what the simulation began with.

Gives None for what is invalid; kuik goes on with the last good situation then (H5).
"""

_COPY: Final = Operation.COPY


class _Flight(NamedTuple):
    """A read that takes time; in order of their ends, then by host, Check before Copy."""

    ends: Nanoseconds
    host: str
    operation: Operation
    read: Read
    response: Response
    line: int


class Simulation:
    """A process, its restarts, and the registries it reads, from the first lease at 0.

    Args:
        situation: what the process starts with.
        script: in order of time.
        reload: what the script's files stand for; needed only when it names some.
    """

    def __init__(self, situation: Situation, script: Sequence[Entry] = (), reload: Reload | None = None) -> None:
        if reload is None and any(isinstance(entry, Configure | Replace) for entry in script):
            raise ValueError("the script names files and there is nothing to read them with")
        self._situation = situation
        self._script = deque(script)
        self._reload = reload
        self._config: str | None = None
        self._resources: tuple[str, ...] | None = None
        self._world = World()
        self._restarts = 0
        self._engine: Engine | None = None
        self._lease: Nanoseconds | None = 0
        self._statuses = dict[str, OwnerStatus]()
        self._flights: list[_Flight] = []
        self._page = Page()
        self._tally = Tally()
        # laps that a removal ended, for the next line of their series
        self._ended_laps = defaultdict[str, list[Lap]](list)

    def run(self, duration: Nanoseconds) -> Iterator[Line]:
        """Give every window until a moment, that moment included, in order of time, host and operation."""
        while True:
            moment = self._next_event()
            yield from self._open_windows(duration if moment is None else min(moment - 1, duration))
            # a window whose read takes time may have brought an earlier event
            following = self._next_event()
            if following is None or following > duration:
                break
            if following == moment:
                self._happen(following)
        self._page.complete_all()
        yield from self._ready()

    def summary(self) -> Summary:
        """Add up what has been simulated so far."""
        statuses = self._engine.statuses() if self._engine is not None else self._statuses
        return self._tally.summary(self._situation.plan, statuses)

    def _next_event(self) -> Nanoseconds | None:
        """Say when a read ends, a lease is taken or the script goes on, whichever is first."""
        moments = [self._flights[0].ends] if self._flights else []
        if self._lease is not None:
            moments.append(self._lease)
        if self._script:
            moments.append(self._script[0].at)
        return min(moments, default=None)

    def _happen(self, now: Nanoseconds) -> None:
        """Let everything happen that is due, but for windows."""
        while self._flights and self._flights[0].ends <= now:
            flight = heappop(self._flights)
            self._page.complete(flight.line, self._finish(flight.read, flight.response, now))
        if self._lease is not None and self._lease <= now:
            self._start(self._lease)
        while self._script and self._script[0].at <= now:
            self._follow(self._script.popleft(), now)

    def _open_windows(self, until: Nanoseconds) -> Iterator[Line]:
        """Open windows up to a moment, or until a read starts that ends before it."""
        engine = self._engine
        if engine is not None:
            while (opens := engine.next_opening()) is not None and opens <= until:
                window = engine.open_next(opens)
                if window is None:
                    break
                self._add(window)
                yield from self._ready()
                if self._flights and self._flights[0].ends <= until:
                    break
        yield from self._ready()

    def _add(self, window: Window) -> None:
        read, laps = window.read, window.laps
        if window.host in self._ended_laps and window.operation is not _COPY:
            laps = (*self._ended_laps.pop(window.host), *laps)
        reused = tuple((visit.owner, visit.image) for visit in window.visits)
        place = (window.opens, window.host, window.operation, window.number, window.outcome)
        if read is None:
            self._page.add(Line(*place, None, None, reused, laps), is_complete=True)
            return
        latency, response = self._world.read(read)
        if latency:
            number = self._page.add(Line(*place, read.owner, read.image, reused, laps), is_complete=False)
            ends = window.opens + latency
            heappush(self._flights, _Flight(ends, read.host, read.operation, read, response, number))
        else:
            laps += self._finish(read, response, window.opens)
            self._page.add(Line(*place, read.owner, read.image, reused, laps), is_complete=True)

    def _ready(self) -> Iterator[Line]:
        for line in self._page.ready():
            self._tally.count(line)
            yield line

    def _finish(self, read: Read, response: Response, now: Nanoseconds) -> tuple[Lap, ...]:
        """Tell the engine how a read ended; give the laps that stand on its line."""
        if self._engine is None:
            return ()
        ended = self._engine.finished(read, response, now)
        if read.operation is not _COPY:
            return ended.laps
        if response.verdict is Verdict.AVAILABLE:
            self._world.store(read, response)
            self._tally.copied(read.host, read.owner, ended.pending or 0, now)
        return ()

    def _follow(self, entry: Entry, now: Nanoseconds) -> None:
        match entry:
            case Configure():
                self._load(entry.file, self._resources, now)
            case Replace():
                self._load(self._config, entry.files, now)
            case Restart():
                self._stop(now + entry.down, now)
            case Latency():
                self._world.slow_down(entry)
            case Answer():
                self._world.change_answer(entry)
            case Vanish():
                self._world.remove(entry.owner, entry.image, self._situation.plan)
                if self._engine is not None:
                    self._keep(self._engine.vanished(entry.owner, entry.image, now))

    def _load(self, config: str | None, resources: tuple[str, ...] | None, now: Nanoseconds) -> None:
        """Take what the script names, unless it is refused whole (H5)."""
        situation = self._reload(config, resources) if self._reload is not None else None
        if situation is None:
            return
        self._config, self._resources, self._situation = config, resources, situation
        if self._engine is not None:
            self._apply(self._engine, situation.records.items(), now)

    def _stop(self, lease: Nanoseconds, now: Nanoseconds) -> None:
        """End the process; reads in flight are lost, and what status holds is all that remains of it."""
        if self._engine is not None:
            self._statuses = self._engine.statuses()
        self._restarts += 1
        self._engine = None
        self._flights.clear()
        self._page.complete_all()
        self._lease = lease
        if lease <= now:
            self._start(lease)

    def _start(self, lease: Nanoseconds) -> None:
        """Take a lease: what is at the destinations is known from the start."""
        self._lease = None
        engine = self._engine = Engine(lease, self._restarts)
        remembered = {owner: _record(status) for owner, status in self._statuses.items()}
        self._apply(engine, {**self._situation.records, **remembered}.items(), lease)

    def _apply(self, engine: Engine, records: Iterable[tuple[str, Record]], now: Nanoseconds) -> None:
        plan = self._situation.plan
        self._keep(engine.apply(plan, now, self._situation.policy, dict(records)).laps)
        for owner, present in self._world.present(plan).items():
            self._keep(engine.scanned(owner, Scan(now, present), now))

    def _keep(self, laps: Iterable[Lap]) -> None:
        for lap in laps:
            self._ended_laps[lap.host].append(lap)


def _record(status: OwnerStatus) -> Record:
    """Give what a later process reads of an owner's status."""
    return Record(status.rings, tuple(failure for queue in status.queues for failure in queue.failed))
