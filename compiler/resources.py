"""kuik's three kinds, read from objects that have passed their schema."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, TypeAlias

from compiler.duration import HOUR, Nanoseconds, parse_duration
from compiler.globs import Glob, parse_glob
from compiler.prefixes import Prefix, lies_under, parse_prefix, repository_path
from compiler.reference import InvalidReference, Reference, parse_reference
from compiler.selectors import Selector, parse_selector
from compiler.source import Object, Place
from compiler.workloads import Workload

__all__ = [
    "GROUP",
    "KINDS",
    "Alternative",
    "ImageAlternative",
    "ImageMirror",
    "ImageMonitor",
    "Resource",
    "build_resource",
]

GROUP: Final = "kuik.enix.io"
KINDS: Final = ("ImageAlternative", "ImageMirror", "ImageMonitor")


@dataclass(frozen=True, slots=True)
class Selection:
    """Which pods a resource applies to: both selectors must match."""

    pods: Selector
    namespaces: Selector

    @property
    def is_everything(self) -> bool:
        """Whether there is nothing to decide."""
        return self.pods.is_everything and self.namespaces.is_everything

    def covers(self, workload: Workload, namespace_labels: Mapping[str, str]) -> bool:
        """Say whether a workload's pods are selected."""
        return self.pods.matches(workload.labels) and self.namespaces.matches(namespace_labels)


@dataclass(frozen=True, slots=True)
class _Resource:
    kind: ClassVar[str]

    name: str
    selection: Selection
    suspended: bool
    place: Place = field(compare=False)
    created: str = field(default="", compare=False, kw_only=True)
    """``metadata.creationTimestamp``, RFC 3339; empty for a resource in a file."""

    @property
    def owner(self) -> str:
        """``Kind/name``, by which turns are ordered (T1)."""
        return f"{self.kind}/{self.name}"


@dataclass(frozen=True, slots=True)
class ImageMonitor(_Resource):
    """Checks the images that the selected pods use.

    Attributes:
        retained: what status says is kept although no pod uses it any more.
        cursors: where each ring stood, by host, as status says (R2).
    """

    kind: ClassVar[str] = "ImageMonitor"

    retention: Nanoseconds = 24 * HOUR
    drift_detection: bool = True
    monitor_alternatives: bool = False
    exclude: tuple[Glob, ...] = ()
    retained: tuple[Reference, ...] = ()
    cursors: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class ImageMirror(_Resource):
    """Copies the images that the selected pods use to a place of the user's own.

    Attributes:
        path: the canonical ``host/path`` that the copies go under.
        drift_policy: ``Ignore``, ``Warn`` or ``Sync``; the latter two re-read tags.
        insecure: the destination is reached over plain HTTP.
        push_secret: the name of the secret that writes; None is anonymous.
        pull_secret: the name of the secret that reads.
        platforms: None is all, the empty tuple those of the cluster's nodes.
    """

    kind: ClassVar[str] = "ImageMirror"

    path: str = ""
    drift_policy: str = "Ignore"
    exclude: tuple[Glob, ...] = ()
    cursors: tuple[tuple[str, str], ...] = ()
    insecure: bool = False
    push_secret: str | None = None
    pull_secret: str | None = None
    platforms: tuple[str, ...] | None = None

    def owns(self, image: Reference) -> bool:
        """Say whether an image lies at the mirror's own destination, which it never copies."""
        return lies_under(image.name, self.path)


@dataclass(frozen=True, slots=True)
class Alternative:
    """One place of an ImageAlternative.

    Attributes:
        secret: the name of the secret that reads it; None leaves that to the host's configuration.
        unavailable: it matches, and is in no ring and no queue.
    """

    prefix: Prefix
    secret: str | None = None
    insecure: bool = False
    unavailable: bool = False


@dataclass(frozen=True, slots=True)
class ImageAlternative(_Resource):
    """Says that several places hold the same images."""

    kind: ClassVar[str] = "ImageAlternative"

    alternatives: tuple[Alternative, ...] = ()

    def entry_of(self, image: Reference) -> Alternative | None:
        """Find the first entry that covers an image."""
        return next((a for a in self.alternatives if a.prefix.covers(image)), None)


Resource: TypeAlias = ImageMonitor | ImageMirror | ImageAlternative


def build_resource(found: Object, insecure: frozenset[str]) -> Resource:
    """Build a resource from an object that has passed its schema and whose selectors are sound.

    Args:
        found: an object of one of ``KINDS``.
        insecure: the canonical hosts that are read over plain HTTP.
    """
    spec = found.value.get("spec") or {}
    name = found.value["metadata"]["name"]
    selection = Selection(parse_selector(spec.get("podSelector")), parse_selector(spec.get("namespaceSelector")))
    suspended = spec.get("suspend", False)
    created = str(found.value["metadata"].get("creationTimestamp", ""))
    status = found.value.get("status") or {}
    exclude = tuple(parse_glob(g, insecure) for g in spec.get("excludeImages") or ())
    match found.kind:
        case "ImageMonitor":
            return ImageMonitor(
                name=name,
                selection=selection,
                suspended=suspended,
                place=found.place,
                created=created,
                retention=parse_duration(str(spec.get("unusedImageRetention", "24h"))),
                drift_detection=spec.get("driftDetection", True),
                monitor_alternatives=spec.get("monitorAlternatives", False),
                exclude=exclude,
                retained=tuple(_retained(status, insecure)),
                cursors=_cursors(status),
            )
        case "ImageMirror":
            return ImageMirror(
                name=name,
                selection=selection,
                suspended=suspended,
                place=found.place,
                created=created,
                path=repository_path(spec["destination"]["path"], insecure),
                drift_policy=spec.get("driftPolicy", "Ignore"),
                exclude=exclude,
                cursors=_cursors(status),
                insecure=spec["destination"].get("insecure", False),
                push_secret=_secret(spec["destination"].get("push") or {}),
                pull_secret=_secret(spec["destination"].get("pull") or {}),
                platforms=_platforms(spec.get("platforms") or {}),
            )
        case _:
            return ImageAlternative(
                name=name,
                selection=selection,
                suspended=suspended,
                place=found.place,
                created=created,
                alternatives=tuple(_alternative(a, insecure) for a in spec["alternatives"]),
            )


def _alternative(entry: Mapping[str, Any], insecure: frozenset[str]) -> Alternative:
    return Alternative(
        prefix=parse_prefix(entry["imagePrefix"], insecure),
        secret=_secret(entry),
        insecure=entry.get("insecure", False),
        unavailable=entry.get("unavailable", False),
    )


def _secret(entry: Mapping[str, Any]) -> str | None:
    name: str | None = ((entry.get("auth") or {}).get("secretRef") or {}).get("name")
    return name


def _platforms(entry: Mapping[str, Any]) -> tuple[str, ...] | None:
    match entry.get("mode", "Auto"):
        case "All":
            return None
        case "List":
            return tuple(entry.get("list") or ())
        case _:
            return ()


def _retained(status: Mapping[str, Any], insecure: frozenset[str]) -> Iterable[Reference]:
    for entry in status.get("retainedImages") or ():
        try:
            yield parse_reference(entry["ref"], insecure)
        except InvalidReference:
            continue  # nothing reads it any more, and a status is no place to mend it


def _cursors(status: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    rings = (status.get("checks") or {}).get("registries") or ()
    return tuple(sorted((r["registry"], r["cursor"]) for r in rings if "cursor" in r))
