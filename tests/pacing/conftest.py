"""A bench for the engine: plans in few words, and a driver that carries out reads in virtual time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from compiler.duration import MINUTE
from compiler.plan import CheckSeries, Copy, CopySeries, HostPlan, Operation, Plan, Queue, Ring
from runtime.pacing import Engine, Lap, Outcome, Policy, Read, Record, Response, Scan, Verdict, Window

HOST = "docker.io"


def images(*names: str | int, host: str = HOST) -> tuple[str, ...]:
    """Give references; a number gives so many."""
    flat = [f"i{n:04}" for name in names for n in range(name)] if all(isinstance(n, int) for n in names) else names
    return tuple(f"{host}/library/{name}:1" for name in flat)


def queue(owner: str, wanted: Iterable[str], *, suspended: bool = False) -> Queue:
    return Queue(owner, tuple(Copy(image, f"mirror.example.com/{image}") for image in wanted), suspended)


def host(
    rings: Mapping[str, Sequence[str]] | Sequence[Ring] = (),
    queues: Mapping[str, Sequence[str]] | Sequence[Queue] = (),
    *,
    name: str = HOST,
    check: int = MINUTE,
    copy: int = 3 * MINUTE,
    **more: Any,
) -> HostPlan:
    if isinstance(rings, Mapping):
        rings = [Ring(owner, tuple(sorted(of_ring))) for owner, of_ring in sorted(rings.items())]
    if isinstance(queues, Mapping):
        queues = [queue(owner, wanted) for owner, wanted in sorted(queues.items())]
    timeouts = more.pop("timeouts", (0, 0))
    return HostPlan(
        name,
        CheckSeries(check, timeouts[0], "test", tuple(rings)),
        CopySeries(copy, timeouts[1], "test", tuple(queues)),
        **more,
    )


def plan(*hosts: HostPlan) -> Plan:
    return Plan(tuple(sorted(hosts, key=lambda h: h.host)))


def available(digest: str = "sha256:one") -> Response:
    return Response(Verdict.AVAILABLE, digest)


@dataclass
class Driver:
    """Drives an engine: every read takes ``latency`` of its operation and is answered by ``answer``."""

    engine: Engine
    now: int = 0
    latency: dict[Operation, int] = field(default_factory=dict)
    answer: Callable[[Read], Response] = lambda _: available()
    windows: list[Window] = field(default_factory=list)
    laps: list[Lap] = field(default_factory=list)
    flights: list[tuple[int, Read]] = field(default_factory=list)

    def apply(self, plan: Plan, policy: Policy | None = None, records: Mapping[str, Record] | None = None) -> Any:
        applied = self.engine.apply(plan, self.now, policy or Policy(MINUTE, 3 * MINUTE), records)
        self.laps += applied.laps
        return applied

    def scan(self, owner: str, present: Iterable[str] = (), digest: str | None = "sha256:one") -> None:
        self.laps += self.engine.scanned(owner, Scan(self.now, dict.fromkeys(present, digest)), self.now)

    def run(self, until: int) -> Driver:
        """Let everything happen up to a moment, that moment included; reads end before windows open."""
        while True:
            opens = self.engine.next_opening()
            ends = min((end for end, _ in self.flights), default=None)
            moment = min((m for m in (opens, ends) if m is not None), default=None)
            if moment is None or moment > until:
                self.now = until
                return self
            self.now = moment
            if ends == moment:
                for flight in [f for f in self.flights if f[0] == moment]:
                    self.flights.remove(flight)
                    self.laps += self.engine.finished(flight[1], self.answer(flight[1]), moment).laps
            else:
                self._open(self.engine.open_next(moment))

    def _open(self, window: Window | None) -> None:
        assert window is not None
        self.windows.append(window)
        self.laps += window.laps
        if window.read is not None:
            if latency := self.latency.get(window.operation, 0):
                self.flights.append((self.now + latency, window.read))
            else:
                self.laps += self.engine.finished(window.read, self.answer(window.read), self.now).laps

    def of(self, operation: Operation, host: str = HOST) -> list[Window]:
        return [w for w in self.windows if w.operation is operation and w.host == host]

    def reads(self, operation: Operation = Operation.CHECK, host: str = HOST) -> list[Read]:
        return [w.read for w in self.of(operation, host) if w.read is not None]

    def times(self, outcome: Outcome, operation: Operation, host: str = HOST, unit: int = MINUTE) -> list[float]:
        return [w.opens / unit for w in self.of(operation, host) if w.outcome is outcome]

    def taken(self, operation: Operation = Operation.CHECK) -> list[tuple[str, str]]:
        """Give owner and name of image of each read, in order."""
        return [(read.owner.partition("/")[2], short(read.image)) for read in self.reads(operation)]

    def lap_minutes(self, owner: str) -> list[float]:
        return [lap.duration / MINUTE for lap in self.laps if lap.owner == owner]


def short(image: str) -> str:
    return image.rpartition("/")[2].partition(":")[0]


@pytest.fixture(scope="session")
def lab() -> SimpleNamespace:
    """What tests build with, without importing from one another."""

    def drive(*hosts: HostPlan, lease: int = 0, starts: int = 0, **more: Any) -> Driver:
        driver = Driver(Engine(lease, starts), now=lease)
        driver.apply(plan(*hosts), **more)
        return driver

    return SimpleNamespace(
        HOST=HOST,
        Driver=Driver,
        images=images,
        image=lambda name: images(name)[0],
        queue=queue,
        host=host,
        plan=plan,
        drive=drive,
        available=available,
        short=short,
    )
