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
from compiler.plan import CheckSeries, CopySeries, FallbackAuth, HostPlan, Operation

__all__ = ["compare_paces"]


def compare_paces(old: HostPlan | None, new: HostPlan | None) -> Iterator[RegistryChange]:
    """Give what changes for one host, which may be in one of the plans only; first its series, then its settings."""
    if old is None and new is not None:
        yield HostAppears(new.host, new.check.interval, new.copy.interval)
    elif old is not None and new is None:
        yield HostGoes(old.host)
    elif old is not None and new is not None:
        restarts = list(_restarts(old, new))
        yield from restarts
        yield from _series(Operation.CHECK, old.host, old.check, new.check)
        yield from _series(Operation.COPY, old.host, old.copy, new.copy)
        yield from _settings(old, new, told_by_restarts={Setting.CLUSTERS} if restarts else set())


def _restarts(old: HostPlan, new: HostPlan) -> Iterator[SeriesRestarts]:
    pairs = ((Operation.CHECK, old.check, new.check), (Operation.COPY, old.copy, new.copy))
    for operation, was, now in pairs:
        if was.interval != now.interval:
            before = Pace(was.interval, was.origin, old.clusters)
            yield SeriesRestarts(new.host, operation, before, Pace(now.interval, now.origin, new.clusters))


def _series(
    operation: Operation, host: str, was: CheckSeries | CopySeries, now: CheckSeries | CopySeries
) -> Iterator[RegistryChange]:
    if was.origin != now.origin and was.interval == now.interval:
        yield OriginMoves(host, operation, was.origin, now.origin)
    if was.timeout != now.timeout:
        yield TimeoutChanges(host, operation, was.timeout, now.timeout)


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
