"""Rules about what a plan leads to; they need a plan with forecasts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from compiler.diagnostics import Code, Diagnostic
from compiler.duration import HOUR, format_duration
from compiler.model import Model
from compiler.plan import Plan

__all__ = ["laps_fit_the_retention", "queues_drain_in_a_day"]

_DAY: Final = 24 * HOUR


def laps_fit_the_retention(model: Model, plan: Plan) -> Iterator[Diagnostic]:
    """Warn of a lap that takes longer than its owner keeps an unused image: such an image may never be checked."""
    monitors = {m.owner: m for m in model.monitors}
    for host in plan.hosts:
        for lap in host.check.forecast.laps if host.check.forecast is not None else ():
            monitor = monitors.get(lap.owner)
            if monitor is not None and 0 < monitor.retention < lap.expected:
                message = (
                    f"{lap.owner} needs {format_duration(lap.expected)} for a lap on {host.host}, "
                    f"and keeps unused images for {format_duration(monitor.retention)}"
                )
                place = monitor.place / "spec" / "unusedImageRetention"
                remedy = f"shorten the check.interval of {host.host}, or keep images longer; some may never be checked"
                yield place.warning(Code.LAP_EXCEEDS_RETENTION, message, remedy)


def queues_drain_in_a_day(model: Model, plan: Plan) -> Iterator[Diagnostic]:
    """Warn of copies that take more than a day, every one of them at the first try."""
    mirrors = {m.owner: m for m in model.mirrors}
    for host in plan.hosts:
        drain = host.copy.forecast.drain if host.copy.forecast is not None else None
        if drain is not None and drain > _DAY:
            owners = [q.owner for q in host.copy.queues if not q.suspended and q.images]
            copies = sum(len(q.images) for q in host.copy.queues if not q.suspended)
            message = f"the {copies} copies from {host.host} take {format_duration(drain)} ({', '.join(owners)})"
            remedy = f"shorten the copy.interval of {host.host}, or copy fewer images with excludeImages"
            yield (mirrors[owners[0]].place / "metadata" / "name").warning(Code.SLOW_DRAIN, message, remedy)
