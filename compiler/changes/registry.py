"""What changes for a registry. Only another interval moves windows; each of the others says that it doesn't."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from compiler.changes.change import Change, Document, Mark
from compiler.duration import Nanoseconds, format_duration
from compiler.plan import DefaultPace, Operation
from compiler.plan_document import default_document

__all__ = [
    "DefaultChanges",
    "HostAppears",
    "HostGoes",
    "OriginMoves",
    "Pace",
    "RegistryChange",
    "SeriesRestarts",
    "Setting",
    "SettingChanges",
    "SupersetChanges",
    "TimeoutChanges",
]

# H3: what a changed key of a registry means unless it is an interval
_STAYS: Final = "from the next image on; no window moves"


class Setting(StrEnum):
    """A key of a registry's entry in the configuration that counts for both of its series."""

    CLUSTERS = "clusters"
    SUSPEND = "suspend"
    INSECURE = "insecure"
    CA_FILE = "caFile"
    AUTH = "perPrefixFallbackAuth"


@dataclass(frozen=True, slots=True)
class Pace:
    """How often a series opens a window, and the two places that say so: a path in the configuration, and clusters."""

    interval: Nanoseconds
    origin: str
    clusters: int = 1


@dataclass(frozen=True, slots=True)
class RegistryChange(Change):
    """A change of a host or of one of its series."""


@dataclass(frozen=True, slots=True)
class _OfSeries(RegistryChange):
    operation: Operation

    @property
    def series(self) -> Operation:
        """The operation whose series is meant."""
        return self.operation


@dataclass(frozen=True, slots=True)
class SupersetChanges(RegistryChange):
    """The plan is made of templates now, or no longer is."""

    kind = "superset-changes"
    superset: bool

    def _text(self) -> str:
        if self.superset:
            return "made from templates now: a superset of what the cluster runs"
        return "no longer made from templates: what the cluster runs"

    def _facts(self) -> Document:
        return {"superset": self.superset}


@dataclass(frozen=True, slots=True)
class DefaultChanges(RegistryChange):
    """What a host without an entry of its own gets changes."""

    kind = "default-changes"
    before: DefaultPace
    after: DefaultPace

    def _text(self) -> str:
        before, after = (default_document(default) for default in (self.before, self.after))
        parts = [
            f"{operation} {name} {before[operation][name]} → {after[operation][name]}"
            for operation in after
            for name in after[operation]
            if before[operation][name] != after[operation][name]
        ]
        return f"the default changes: {', '.join(parts)}"

    def _causes(self) -> tuple[str, ...]:
        return ("registries.default",)

    def _facts(self) -> Document:
        return {"before": default_document(self.before), "after": default_document(self.after)}


@dataclass(frozen=True, slots=True)
class HostAppears(RegistryChange):
    """A host that was neither configured nor read before."""

    kind = "host-appears"
    mark = Mark.ADDED
    check: Nanoseconds
    copy: Nanoseconds

    def _text(self) -> str:
        return f"new: checks every {format_duration(self.check)}, copies every {format_duration(self.copy)}"

    def _causes(self) -> tuple[str, ...]:
        return (f"registries.{self.host}",)

    def _facts(self) -> Document:
        return {"check": format_duration(self.check), "copy": format_duration(self.copy)}


@dataclass(frozen=True, slots=True)
class HostGoes(RegistryChange):
    """A host that is neither configured nor read any more."""

    kind = "host-goes"
    mark = Mark.REMOVED

    def _text(self) -> str:
        return "gone: neither configured nor read any more"


@dataclass(frozen=True, slots=True)
class SeriesRestarts(_OfSeries):
    """The effective interval of a series changes: the only change that moves windows (H2)."""

    kind = "series-restarts"
    before: Pace
    after: Pace

    def _text(self) -> str:
        every = format_duration(self.after.interval)
        was = format_duration(self.before.interval)
        return f"{was} → {every}{self._because()}: its windows restart, the first {every} after the reload"

    def _causes(self) -> tuple[str, ...]:
        clusters = f"registries.{self.host}.clusters"
        if self.before.clusters == self.after.clusters:
            return (self.after.origin,)
        return (clusters, self.after.origin) if self._is_written_as_before() else (self.after.origin, clusters)

    def _because(self) -> str:
        reasons = []
        if self.before.clusters != self.after.clusters:
            reasons.append(f"clusters {self.before.clusters} → {self.after.clusters}")
        if self.before.origin != self.after.origin:
            reasons.append(f"now from {self.after.origin}")
        return f" ({', '.join(reasons)})" if reasons else ""

    def _is_written_as_before(self) -> bool:
        # N1: effective = written times clusters
        return self.before.interval * self.after.clusters == self.after.interval * self.before.clusters

    def _facts(self) -> Document:
        return {"before": _pace(self.before), "after": _pace(self.after)}


@dataclass(frozen=True, slots=True)
class TimeoutChanges(_OfSeries):
    """The timeout of a series changes; 0 is none."""

    kind = "timeout-changes"
    before: Nanoseconds
    after: Nanoseconds

    def _text(self) -> str:
        was, now = (format_duration(t) if t else "none" for t in (self.before, self.after))
        return f"timeout {was} → {now}, {_STAYS}"

    def _causes(self) -> tuple[str, ...]:
        key = f"{self.operation.lower()}.timeout"
        return (f"registries.{self.host}.{key}", f"registries.default.{key}")

    def _facts(self) -> Document:
        return {"before": format_duration(self.before), "after": format_duration(self.after)}


@dataclass(frozen=True, slots=True)
class OriginMoves(_OfSeries):
    """The same effective interval is written in another place; nothing else changes (H1)."""

    kind = "origin-moves"
    before: str
    after: str

    def _text(self) -> str:
        return f"the same interval, now from {self.after} (was {self.before}); no window moves"

    def _causes(self) -> tuple[str, ...]:
        return (self.after,)

    def _facts(self) -> Document:
        return {"before": self.before, "after": self.after}


@dataclass(frozen=True, slots=True)
class SettingChanges(RegistryChange):
    """Another key of the registry changes. ``before`` and ``after`` are the values as text, ``none`` where absent."""

    kind = "setting-changes"
    setting: Setting
    before: str
    after: str

    def _text(self) -> str:
        match self.setting, self.after:
            case Setting.SUSPEND, "true":
                return "suspended: its windows are lost until it is resumed, none moves"
            case Setting.SUSPEND, _:
                return "resumed: its windows are taken again, none has moved"
            case Setting.INSECURE, "true":
                return f"plain HTTP instead of HTTPS, {_STAYS}"
            case Setting.INSECURE, _:
                return f"HTTPS instead of plain HTTP, {_STAYS}"
            case Setting.CLUSTERS, _:
                return f"clusters {self.before} → {self.after}, the effective intervals stay; no window moves"
            case _:
                return f"{self.setting} {self.before} → {self.after}, {_STAYS}"

    def _causes(self) -> tuple[str, ...]:
        return (f"registries.{self.host}.{self.setting}", f"registries.{self.host}")

    def _facts(self) -> Document:
        return {"setting": self.setting.value, "before": self.before, "after": self.after}


def _pace(pace: Pace) -> Document:
    document: Document = {"interval": format_duration(pace.interval), "from": pace.origin}
    return document if pace.clusters == 1 else {**document, "clusters": pace.clusters}
