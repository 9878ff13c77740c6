"""Situations in few words, and a simulation of them as the lines that would be printed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from compiler.duration import MINUTE, SECOND, parse_duration
from compiler.plan import CheckSeries, Copy, CopySeries, HostPlan, Plan, Queue, Ring
from runtime.pacing import Policy, Record, RingStatus
from runtime.simulation import Simulation, Situation, parse_script, to_document


def images(*names: str | int, host: str = "docker.io") -> tuple[str, ...]:
    flat = [f"i{n:04}" for name in names for n in range(name)] if all(isinstance(n, int) for n in names) else names
    return tuple(sorted(f"{host}/library/{name}:1" for name in flat))


def host(
    rings: Mapping[str, Iterable[str]] | None = None,
    queues: Mapping[str, Iterable[str]] | None = None,
    *,
    name: str = "docker.io",
    check: str = "1m",
    copy: str = "3m",
    timeouts: tuple[int, int] = (0, 0),
    **more: Any,
) -> HostPlan:
    return HostPlan(
        name,
        CheckSeries(
            parse_duration(check),
            timeouts[0],
            "test",
            tuple(Ring(owner, tuple(of_ring)) for owner, of_ring in sorted((rings or {}).items())),
        ),
        CopySeries(
            parse_duration(copy),
            timeouts[1],
            "test",
            tuple(
                Queue(owner, tuple(Copy(image, f"mirror.example.com/{image}") for image in wanted))
                for owner, wanted in sorted((queues or {}).items())
            ),
        ),
        **more,
    )


def situation(*hosts: HostPlan, synced: Iterable[str] = (), cursors: Mapping[str, str] | None = None) -> Situation:
    records = {
        owner: Record((RingStatus(image.partition("/")[0], 0, image, checked=1),))
        for owner, image in (cursors or {}).items()
    }
    plan = Plan(tuple(sorted(hosts, key=lambda h: h.host)))
    return Situation(plan, Policy(MINUTE, 3 * MINUTE, frozenset(synced)), records)


@pytest.fixture(scope="session")
def lab() -> SimpleNamespace:
    """What tests build with, without importing from one another."""

    def run(
        start: Situation | HostPlan,
        duration: str,
        script: Sequence[Mapping[str, Any]] = (),
        files: Mapping[str, Situation | None] | None = None,
    ) -> list[dict[str, Any]]:
        return [to_document(line) for line in simulation(start, script, files).run(parse_duration(duration))]

    def simulation(
        start: Situation | HostPlan,
        script: Sequence[Mapping[str, Any]] = (),
        files: Mapping[str, Situation | None] | None = None,
    ) -> Simulation:
        begin = start if isinstance(start, Situation) else situation(start)

        def reload(config: str | None, resources: tuple[str, ...] | None) -> Situation | None:
            assert files is not None
            return files["+".join([*([config] if config else []), *(resources or ())])]

        return Simulation(begin, parse_script([*script]), reload if files is not None else None)

    def of(lines: Iterable[Mapping[str, Any]], operation: str, host: str = "docker.io") -> list[Any]:
        return [line for line in lines if line["operation"] == operation and line["host"] == host]

    def minutes(
        lines: Iterable[Mapping[str, Any]], outcome: str, operation: str, host: str = "docker.io"
    ) -> list[float]:
        return [line["t"] / 60 for line in of(lines, operation, host) if line["outcome"] == outcome]

    def laps(lines: Iterable[Mapping[str, Any]], owner: str) -> list[float]:
        return [lap["seconds"] / 60 for line in lines for lap in line["laps"] if lap["owner"] == owner]

    return SimpleNamespace(
        images=images,
        host=host,
        situation=situation,
        simulation=simulation,
        run=run,
        of=of,
        minutes=minutes,
        laps=laps,
        second=SECOND,
    )
