"""Compares how a registry is paced and reached in two plans."""

from __future__ import annotations

from collections.abc import Iterator

from compiler.changes.registry import (
    HostAppears,
    HostGoes,
    OriginMoves,
    Pace,
    RegistryChange,
    SeriesRestarts,
    Setting,
    SettingChanges,
    TimeoutChanges,
)
from compiler.plan import FallbackAuth, HostPlan, Operation

__all__ = ["compare_paces"]


def compare_paces(old: HostPlan | None, new: HostPlan | None) -> Iterator[RegistryChange]:
    """Give what changes for one host, which may be in one of the plans only; first its series, then its settings."""
    if old is None and new is not None:
        yield HostAppears(new.host, new.check.interval, new.copy.interval)
    elif old is not None and new is None:
        yield HostGoes(old.host)
    elif old is not None and new is not None:
        yield from _series(Operation.CHECK, old, new)
        yield from _series(Operation.COPY, old, new)
        restarts = old.check.interval != new.check.interval or old.copy.interval != new.copy.interval
        yield from _settings(old, new, told_by_restarts={Setting.CLUSTERS} if restarts else set())


def _series(operation: Operation, old: HostPlan, new: HostPlan) -> Iterator[RegistryChange]:
    was, now = (h.check if operation is Operation.CHECK else h.copy for h in (old, new))
    if was.interval != now.interval:
        before, after = Pace(was.interval, was.origin, old.clusters), Pace(now.interval, now.origin, new.clusters)
        yield SeriesRestarts(new.host, operation, before, after)
    elif was.origin != now.origin:
        yield OriginMoves(new.host, operation, was.origin, now.origin)
    if was.timeout != now.timeout:
        yield TimeoutChanges(new.host, operation, was.timeout, now.timeout)


def _settings(old: HostPlan, new: HostPlan, told_by_restarts: set[Setting]) -> Iterator[SettingChanges]:
    values: tuple[tuple[Setting, object, object], ...] = (
        (Setting.CLUSTERS, old.clusters, new.clusters),
        (Setting.SUSPEND, old.suspended, new.suspended),
        (Setting.INSECURE, old.insecure, new.insecure),
        (Setting.CA_FILE, old.ca_file, new.ca_file),
        (Setting.AUTH, old.auth, new.auth),
    )
    for setting, was, now in values:
        if was != now and setting not in told_by_restarts:
            yield SettingChanges(new.host, setting, _written(was), _written(now))


def _written(value: object) -> str:
    match value:
        case bool():
            return str(value).lower()
        case tuple():
            return ", ".join(f"{a.prefix} {a.secret}" for a in value if isinstance(a, FallbackAuth)) or "none"
        case None:
            return "none"
        case _:
            return str(value)
