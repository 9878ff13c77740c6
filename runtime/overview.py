"""What ``kuik status`` shows, as one plain document: made of what a state folder holds, by looking and never by asking.

The pace says where the grids of the windows are, the statuses where the rings stand. Times are of the wall clock.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from compiler.duration import InvalidDuration, parse_duration

__all__ = ["Document", "Moment", "overview", "read_moment"]

Document = dict[str, Any]
Moment = datetime

_SHOWN: Final = 3
"""How many of the next windows of a series are told: enough to see the grid."""


@dataclass(frozen=True, slots=True)
class _Grid:
    anchor: Moment
    interval: timedelta

    def following(self, now: Moment) -> Iterator[Moment]:
        """Give the next windows; the first opens an interval after the anchor (W2)."""
        number = max((now - self.anchor) // self.interval + 1, 1)
        for k in range(number, number + _SHOWN):
            yield self.anchor + k * self.interval


def overview(
    pace: Mapping[str, Any] | None, statuses: Mapping[str, Mapping[str, Any]], now: Moment, *, is_led: bool
) -> Document:
    """Put everything together.

    Args:
        pace: as a process has published it; None where none has.
        statuses: of every resource, by owner.
        now: decides which windows are the next ones.
        is_led: whether a process opens windows at this moment; without one there are none to tell.
    """
    pace = pace or {}
    anomalies = [anomaly for owner, status in statuses.items() for anomaly in _anomalies(owner, status)]
    return {
        "running": is_led,
        "hosts": [*_hosts(pace, now, is_led=is_led)],
        "rings": [ring for owner, status in statuses.items() for ring in _rings(owner, status)],
        "queues": _entries(pace, "queues"),
        "anomalies": anomalies,
        "notReady": [line for owner, status in statuses.items() for line in _not_ready(owner, status)],
    }


def read_moment(text: Any) -> Moment | None:
    """Read a time that kuik has written; None where there is none."""
    try:
        moment = datetime.fromisoformat(text)
    except (TypeError, ValueError):
        return None
    return moment.astimezone(UTC) if moment.tzinfo else None


def _hosts(pace: Mapping[str, Any], now: Moment, *, is_led: bool) -> Iterator[Document]:
    for host in _entries(pace, "hosts"):
        for field, operation in (("check", "Check"), ("copy", "Copy")):
            series = host.get(field)
            if isinstance(series, dict) and (grid := _grid(series)) is not None:
                shown: Document = {"registry": host.get("registry"), "operation": operation, **series}
                held = read_moment(shown.pop("heldUntil", None))
                if held is not None and held > now:
                    shown["heldUntil"] = _written(held)
                shown["next"] = [_written(w) for w in grid.following(now)] if is_led else []
                yield shown


def _rings(owner: str, status: Mapping[str, Any]) -> Iterator[Document]:
    checks = status.get("checks")
    for ring in _entries(checks, "registries") if isinstance(checks, dict) else ():
        yield {"owner": owner, **ring}


def _anomalies(owner: str, status: Mapping[str, Any]) -> Iterator[Document]:
    for entry in _entries(status, "unavailableImages"):
        yield _anomaly("Unavailable", owner, entry, entry.get("reason"), entry.get("since"))
    for entry in _entries(status, "driftedImages"):
        yield _anomaly("Drifted", owner, entry, "DigestChanged", None)
    for entry in _entries(status, "failedImagesCopy"):
        yield _anomaly("CopyFailed", owner, entry, entry.get("reason"), entry.get("lastAttempt"))


def _anomaly(kind: str, owner: str, entry: Mapping[str, Any], reason: Any, since: Any) -> Document:
    anomaly = {"kind": kind, "owner": owner, "image": entry.get("ref"), "reason": reason, "since": since}
    return {key: value for key, value in anomaly.items() if value is not None}


def _not_ready(owner: str, status: Mapping[str, Any]) -> Iterator[Document]:
    for condition in _entries(status, "conditions"):
        if condition.get("type") == "Ready" and condition.get("status") != "True":
            yield {"owner": owner, "reason": condition.get("reason"), "message": condition.get("message")}


def _grid(series: Mapping[str, Any]) -> _Grid | None:
    anchor = read_moment(series.get("anchor"))
    try:
        interval = timedelta(microseconds=parse_duration(str(series.get("interval"))) / 1000)
    except InvalidDuration:
        return None
    return _Grid(anchor, interval) if anchor is not None and interval > timedelta(0) else None


def _entries(document: Mapping[str, Any], field: str) -> list[Document]:
    found = document.get(field)
    return [entry for entry in found if isinstance(entry, dict)] if isinstance(found, list) else []


def _written(moment: Moment) -> str:
    return moment.isoformat().replace("+00:00", "Z")
