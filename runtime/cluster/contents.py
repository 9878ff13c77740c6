"""What manifests hold, sorted: kuik's resources, workloads, namespaces, nodes and secrets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from compiler.diagnostics import Diagnostic, Severity
from compiler.gathering import PRINTED
from compiler.resources import GROUP
from compiler.source import Object, Text, flatten, read_documents
from compiler.workloads import ImageComplaints, is_workload
from runtime.cluster.port import Sighting, Snapshot, Topic
from runtime.cluster.reading import labels_of, read_docker_config, read_platform, read_sighting

__all__ = ["Contents", "merge", "read_contents"]


@dataclass(frozen=True, slots=True)
class Contents:
    """What one text holds, or several.

    Attributes:
        docker_configs: the text of a config.json by the name of its Secret.
        platforms: ``os/architecture`` of the nodes.
    """

    resources: tuple[Object, ...] = ()
    sightings: tuple[Sighting, ...] = ()
    namespaces: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    docker_configs: Mapping[str, str] = field(default_factory=dict, repr=False)
    platforms: frozenset[str] = frozenset()
    diagnostics: tuple[Diagnostic, ...] = ()

    @property
    def owners(self) -> frozenset[str]:
        """The resources, as ``Kind/name``."""
        return frozenset(f"{resource.kind}/{_name(resource)}" for resource in self.resources)

    @property
    def is_sound(self) -> bool:
        """Whether everything could be read: a resource that isn't there is gone, and not only illegible."""
        return not any(d.severity is Severity.ERROR for d in self.diagnostics)

    def snapshot(self, statuses: Mapping[str, Mapping[str, Any]]) -> Snapshot:
        """Give it as the port does; a status that kuik has written stands before one in a manifest."""
        resources = tuple(_with_status(resource, statuses) for resource in self.resources)
        return Snapshot(resources, self.sightings, self.namespaces, self.platforms, self.diagnostics)

    def differs_from(self, before: Contents) -> Iterator[Topic]:
        """Say what changed."""
        values = [[r.value for r in contents.resources] for contents in (self, before)]
        if values[0] != values[1] or self.diagnostics != before.diagnostics:
            yield Topic.RESOURCES
        if self.sightings != before.sightings or self.namespaces != before.namespaces:
            yield Topic.WORKLOADS
        if self.platforms != before.platforms:
            yield Topic.PLATFORMS
        if self.docker_configs != before.docker_configs:
            yield Topic.SECRETS


def read_contents(text: Text, insecure: frozenset[str]) -> Contents:
    """Read one text; what is no YAML, and what is odd about workloads, is in its diagnostics."""
    documents, diagnostics = read_documents(text)
    complaints = ImageComplaints()
    resources, sightings = list[Object](), list[Sighting]()
    namespaces, docker_configs, platforms = dict[str, Mapping[str, str]](), dict[str, str](), set[str]()
    for found in (found for document in documents for found in flatten(document)):
        name = _name(found)
        if is_workload(found):
            sighting, odd = read_sighting(found, insecure, complaints)
            diagnostics += odd
            sightings += [sighting] if sighting is not None else []
        elif found.group == GROUP and found.kind not in PRINTED:
            resources.append(found)
        elif found.group == "" and found.kind == "Namespace":
            namespaces[name] = labels_of(found.value)
        elif found.group == "" and found.kind == "Secret" and (config := read_docker_config(found.value)):
            docker_configs[name] = config
        elif found.group == "" and found.kind == "Node" and (platform := read_platform(found.value)):
            platforms.add(platform)
    diagnostics += complaints.diagnostics()
    return Contents(
        tuple(resources), tuple(sightings), namespaces, docker_configs, frozenset(platforms), tuple(diagnostics)
    )


def merge(parts: Iterable[Contents], diagnostics: Iterable[Diagnostic] = ()) -> Contents:
    """Put the contents of several texts together; resources are in order of their owners."""
    parts = list(parts)
    return Contents(
        tuple(sorted((r for part in parts for r in part.resources), key=lambda r: (r.kind, _name(r)))),
        tuple(s for part in parts for s in part.sightings),
        {name: labels for part in parts for name, labels in part.namespaces.items()},
        {name: config for part in parts for name, config in part.docker_configs.items()},
        frozenset().union(*(part.platforms for part in parts)),
        tuple(d for group in (diagnostics, *(part.diagnostics for part in parts)) for d in group),
    )


def _with_status(resource: Object, statuses: Mapping[str, Mapping[str, Any]]) -> Object:
    status = statuses.get(f"{resource.kind}/{_name(resource)}")
    if status is None:
        return resource
    return Object({**resource.value, "status": status}, resource.place, resource.kind, resource.api_version)


def _name(found: Object) -> str:
    metadata = found.value.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    return name if isinstance(name, str) else ""
