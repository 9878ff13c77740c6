"""Everything a plan is made of, gathered: the input of the checks and of tracking."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeVar

from compiler.config import Config
from compiler.resources import ImageAlternative, ImageMirror, ImageMonitor, Resource
from compiler.workloads import Workload

__all__ = ["NAMESPACE_NAME", "Model"]

NAMESPACE_NAME: Final = "kubernetes.io/metadata.name"
"""The label that the API server puts on every Namespace."""

_R = TypeVar("_R", ImageAlternative, ImageMirror, ImageMonitor)


@dataclass(frozen=True, slots=True)
class Model:
    """A configuration, resources in the order of the input, workloads, and the labels of the known namespaces."""

    config: Config = field(default_factory=Config)
    resources: tuple[Resource, ...] = ()
    workloads: tuple[Workload, ...] = ()
    namespaces: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @property
    def monitors(self) -> list[ImageMonitor]:
        """The ImageMonitors by name."""
        return self._of(ImageMonitor)

    @property
    def mirrors(self) -> list[ImageMirror]:
        """The ImageMirrors by name."""
        return self._of(ImageMirror)

    @property
    def alternatives(self) -> list[ImageAlternative]:
        """The ImageAlternatives by name."""
        return self._of(ImageAlternative)

    def labels_of(self, namespace: str) -> Mapping[str, str]:
        """Give the labels of a namespace; of one that isn't in the input, only its name is known."""
        return {**self.namespaces.get(namespace, {}), NAMESPACE_NAME: namespace}

    def selected(self, resource: Resource) -> Iterator[Workload]:
        """Give the workloads that a resource applies to."""
        if resource.selection.is_everything:
            yield from self.workloads
            return
        labels = {w.namespace: self.labels_of(w.namespace) for w in self.workloads}
        for workload in self.workloads:
            if resource.selection.covers(workload, labels[workload.namespace]):
                yield workload

    def _of(self, kind: type[_R]) -> list[_R]:
        return sorted((r for r in self.resources if isinstance(r, kind)), key=lambda r: r.name)
