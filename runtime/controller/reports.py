"""Reads what an earlier process wrote into a status, which somebody may have edited meanwhile."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from compiler.duration import InvalidDuration, parse_duration
from runtime.controller.times import Clocks, read_time
from runtime.pacing import CopyFailure, Record, RingStatus

__all__ = ["entries", "read_record", "texts"]


def entries(status: Mapping[str, Any], field: str, *, named: str = "ref") -> list[Mapping[str, Any]]:
    """Give the entries of a list in a status that name what they are about."""
    found = status.get(field)
    if not isinstance(found, list):
        return []
    return [entry for entry in found if isinstance(entry, dict) and isinstance(entry.get(named), str)]


def texts(status: Mapping[str, Any], field: str) -> list[str]:
    """Give the entries of a list of texts in a status."""
    found = status.get(field)
    return [entry for entry in found if isinstance(entry, str)] if isinstance(found, list) else []


def read_record(status: Mapping[str, Any], clocks: Clocks) -> Record:
    """Read what the engine needs of a status: rings where they stood, copies that have failed (R6, C2)."""
    checks = status.get("checks")
    registries = entries(checks, "registries", named="registry") if isinstance(checks, dict) else []
    return Record(
        rings=tuple(_ring(entry, clocks) for entry in registries),
        failures=tuple(_failure(entry, clocks) for entry in entries(status, "failedImagesCopy")),
    )


def _ring(entry: Mapping[str, Any], clocks: Clocks) -> RingStatus:
    started = read_time(entry.get("cycleStarted"))
    cursor = entry.get("cursor")
    return RingStatus(
        registry=entry["registry"],
        images=_count(entry.get("images")),
        cursor=cursor if isinstance(cursor, str) else None,
        checked=_count(entry.get("checked")),
        cycle_started=None if started is None else clocks.to_boot(started),
        cycle_duration=_duration(entry.get("cycleDuration")),
    )


def _failure(entry: Mapping[str, Any], clocks: Clocks) -> CopyFailure:
    tried = read_time(entry.get("lastAttempt"))
    return CopyFailure(
        image=entry["ref"],
        reason=str(entry.get("reason", "SourceUnavailable")),
        last_attempt=clocks.boot() if tried is None else clocks.to_boot(tried),
        attempts=max(1, _count(entry.get("attempts"))),
    )


def _count(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else 0


def _duration(value: Any) -> int | None:
    try:
        return parse_duration(value) if isinstance(value, str) else None
    except InvalidDuration:
        return None
