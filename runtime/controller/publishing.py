"""The pace as a document: what others need to count windows on without asking."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from compiler.duration import format_duration
from compiler.plan import Operation
from runtime.controller.times import Clocks, write_time
from runtime.pacing import QueueStatus, SeriesStatus

__all__ = ["Pace"]


@dataclass(frozen=True, slots=True)
class Pace:
    """Where all series and queues stood at one moment; taken on the event loop, written out off it.

    Attributes:
        series: of the plan, Check before Copy on each host.
        queues: by owner.
        suspended: the hosts that are.
    """

    series: tuple[SeriesStatus, ...]
    queues: Mapping[str, tuple[QueueStatus, ...]]
    suspended: frozenset[str]
    clocks: Clocks

    def document(self) -> dict[str, Any]:
        """Give it as plain values; times are of the wall clock."""
        hosts = dict[str, dict[str, Any]]()
        for series in self.series:
            name = "check" if series.operation is Operation.CHECK else "copy"
            hosts.setdefault(series.host, {"registry": series.host})[name] = self._series(series)
        queues = [
            {"owner": owner, "registry": queue.registry, "desired": queue.desired, "pending": len(queue.pending)}
            for owner, queues in sorted(self.queues.items())
            for queue in queues
            if queue.known
        ]
        return {"written": write_time(self.clocks.wall()), "hosts": [*hosts.values()], "queues": queues}

    def _series(self, series: SeriesStatus) -> dict[str, Any]:
        shown: dict[str, Any] = {
            "anchor": write_time(self.clocks.to_wall(series.anchor)),
            "interval": format_duration(series.interval),
        }
        if series.host in self.suspended:
            shown["suspended"] = True
        elif series.held_until is not None:
            shown["heldUntil"] = write_time(self.clocks.to_wall(series.held_until))
        return shown
