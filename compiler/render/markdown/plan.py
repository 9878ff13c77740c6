"""The plan itself: registries, who reads them, what that costs, and every image."""

from __future__ import annotations

from collections.abc import Iterator

from compiler.changes import windows_a_day
from compiler.duration import format_duration
from compiler.plan import HostPlan, LapForecast, Operation, Plan, Queue, Ring
from compiler.render.markdown.blocks import Block, fence, fold, table
from compiler.render.markdown.names import clip, code

__all__ = ["costs", "images", "registries", "resources"]


def registries(plan: Plan) -> Block:
    """Give each registry with its pace, and where that was written."""
    columns = ("registry", "checks every", "copies every", "from")
    return table(columns, (_registry(h) for h in plan.hosts))


def resources(plan: Plan) -> Block:
    """Give each ring and each queue with its size and its lap."""
    columns = ("registry", "operation", "resource", "images", "lap", "at best")
    return table(columns, (row for h in plan.hosts for row in (*_rings(h), *_queues(h))))


def costs(plan: Plan) -> Block:
    """Give what each registry is asked at most, and how long its copies take."""
    columns = ("registry", "check windows a day", "requests a lap", "copies drain in")
    return table(columns, (_cost(h) for h in plan.hosts))


def images(plan: Plan) -> Block:
    """Give every image of every ring and queue, folded."""
    return fold("Images", fence("", _images(plan)))


def _registry(host: HostPlan) -> tuple[str, ...]:
    notes = [code(host.check.origin), code(host.copy.origin)]
    if host.clusters != 1:
        notes.append(f"for {host.clusters} clusters")
    name = _named(host.host, suspended=host.suspended)
    return name, format_duration(host.check.interval), format_duration(host.copy.interval), ", ".join(notes)


def _rings(host: HostPlan) -> Iterator[tuple[str, ...]]:
    laps = {lap.owner: lap for lap in host.check.forecast.laps} if host.check.forecast else {}
    for ring in host.check.rings:
        yield (*_reader(host, Operation.CHECK, ring), *_times(laps.get(ring.owner)))


def _queues(host: HostPlan) -> Iterator[tuple[str, ...]]:
    for queue in host.copy.queues:
        yield (*_reader(host, Operation.COPY, queue), *_times(None))


def _reader(host: HostPlan, operation: Operation, reader: Ring | Queue) -> tuple[str, ...]:
    return code(host.host), operation, _named(reader.owner, suspended=reader.suspended), str(len(reader.images))


def _times(lap: LapForecast | None) -> tuple[str, str]:
    return (format_duration(lap.expected), format_duration(lap.best_case)) if lap else ("", "")


def _cost(host: HostPlan) -> tuple[str, ...]:
    requests = str(host.check.forecast.requests) if host.check.forecast else ""
    drain = ""
    if host.copy.forecast is not None and host.copy.queues:
        drain = "never" if host.copy.forecast.drain is None else format_duration(host.copy.forecast.drain)
    return code(host.host), str(windows_a_day(host)), requests, drain


def _images(plan: Plan) -> Iterator[str]:
    # what comes from the input never stands at the beginning of a line, where it could end the block
    for host in plan.hosts:
        for ring in host.check.rings:
            yield f"= {clip(f'{ring.owner}, {Operation.CHECK} on {host.host}')}"
            yield from (f"    {clip(image)}" for image in ring.images)
        for queue in host.copy.queues:
            yield f"= {clip(f'{queue.owner}, {Operation.COPY} on {host.host}')}"
            yield from (f"    {clip(copy.image)} → {clip(copy.to)}" for copy in queue.images)


def _named(name: str, *, suspended: bool) -> str:
    return f"{code(name)} (suspended)" if suspended else code(name)
