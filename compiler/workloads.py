"""The images that workloads use: everything that carries pods, as Kubernetes knows it.

A workload is somebody else's. What the kubelet would refuse is a warning, is left out, and stops nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from compiler.diagnostics import Code, Diagnostic
from compiler.quoting import quoted
from compiler.reference import InvalidReference, Reference, parse_reference
from compiler.source import Object, Place

__all__ = ["ORIGINAL_IMAGES", "PLACEHOLDER_HELP", "ImageComplaints", "Workload", "is_workload", "read_workload"]

ORIGINAL_IMAGES: Final = "kuik.enix.io/original-images"
"""The annotation that says what a rewritten container used before: JSON, container to reference."""

PLACEHOLDER_HELP: Final = "the image is left out of the plan"

_GROUPS: Final = frozenset({"", "apps", "batch", "extensions"})
_TEMPLATE: Final[Mapping[str, tuple[str, ...]]] = {
    "Pod": (),
    "PodTemplate": ("template",),
    "ReplicationController": ("spec", "template"),
    "ReplicaSet": ("spec", "template"),
    "Deployment": ("spec", "template"),
    "StatefulSet": ("spec", "template"),
    "DaemonSet": ("spec", "template"),
    "Job": ("spec", "template"),
    "CronJob": ("spec", "jobTemplate", "spec", "template"),
}
_CONTAINERS: Final = ("initContainers", "containers", "ephemeralContainers")
_ENDED: Final = frozenset({"Succeeded", "Failed"})


@dataclass(frozen=True, slots=True)
class Workload:
    """What kuik keeps of a pod or of a template of pods.

    Attributes:
        namespace: ``default`` where the input names none.
        labels: those of the pod.
        images: canonical, in the order of the containers, each once.
        is_template: its pods need not run.
    """

    namespace: str
    labels: Mapping[str, str]
    images: tuple[Reference, ...]
    is_template: bool = False


@dataclass(slots=True)
class ImageComplaints:
    """Invalid images, each told once however many workloads use it."""

    _found: dict[str, tuple[Place, str, str, int]] = field(default_factory=dict)

    def add(self, image: str, place: Place, user: str, reason: str) -> None:
        """Note that a workload uses an invalid image."""
        first = self._found.get(image, (place, user, reason, 0))
        self._found[image] = (*first[:3], first[3] + 1)

    def diagnostics(self) -> Iterator[Diagnostic]:
        """Give one warning an image."""
        for place, user, reason, count in self._found.values():
            others = f" and {count - 1} more" if count > 1 else ""
            yield place.warning(Code.INVALID_IMAGE, f"{reason}; used by {user}{others}", PLACEHOLDER_HELP)


def is_workload(found: Object) -> bool:
    """Say whether an object carries pods."""
    return found.kind in _TEMPLATE and found.group in _GROUPS


def read_workload(
    found: Object, insecure: frozenset[str], complaints: ImageComplaints
) -> tuple[Workload | None, list[Diagnostic]]:
    """Read what kuik keeps of a workload.

    Returns:
        None for a Pod that has ended, or where there is nothing to read; and what is odd about it.
    """
    path = _TEMPLATE[found.kind]
    pod: Any = found.value
    for step in path:
        pod = pod.get(step) if isinstance(pod, dict) else None
    spec = pod.get("spec") if isinstance(pod, dict) else None
    if not isinstance(spec, dict):
        if not path and "spec" not in found.value:
            return None, []
        where = ".".join((*path, "spec"))
        return None, [found.place.warning(Code.INVALID_WORKLOAD, f"{found.label} has no {where}; it is left out")]
    if not path and _has_ended(pod):
        return None, []
    diagnostics = list[Diagnostic]()
    reader = _PodReader(found, found.place.at(path), insecure, complaints, diagnostics)
    images = reader.images(pod, spec)
    namespace = _mapping(found.value.get("metadata")).get("namespace")
    return Workload(
        namespace=namespace if isinstance(namespace, str) and namespace else "default",
        labels=reader.labels(pod),
        images=images,
        is_template=bool(path),
    ), diagnostics


@dataclass(frozen=True, slots=True)
class _PodReader:
    found: Object
    place: Place
    insecure: frozenset[str]
    complaints: ImageComplaints
    diagnostics: list[Diagnostic]

    def labels(self, pod: Mapping[str, Any]) -> Mapping[str, str]:
        labels: Mapping[Any, Any] = _mapping(_mapping(pod.get("metadata")).get("labels"))
        good = {k: v for k, v in labels.items() if type(v) is str and type(k) is str}
        if len(good) != len(labels):
            bad = next(k for k in labels if k not in good)
            part = "value" if isinstance(bad, str) else "key"
            where = self.place / "metadata" / "labels" / (bad if isinstance(bad, str) else "")
            name = f"the label {quoted(bad)}, which" if isinstance(bad, str) else "a label whose key"
            message = f"{self.found.label} has {name} is not text; Kubernetes refuses it"
            self.diagnostics.append(where.warning(Code.INVALID_WORKLOAD, message, f"put the {part} in quotes"))
        return good

    def images(self, pod: Mapping[str, Any], spec: Mapping[str, Any]) -> tuple[Reference, ...]:
        originals = self._originals(pod)
        images = dict[Reference, None]()
        for group in _CONTAINERS:
            for index, container in enumerate(_list(spec.get(group))):
                if isinstance(container, dict):
                    name = container.get("name")
                    image = originals.get(name if isinstance(name, str) else "", container.get("image"))
                    self._add(image, images, (group, index, "image"))
        for index, volume in enumerate(_list(spec.get("volumes"))):
            if isinstance(volume, dict) and "image" in volume:
                self._add(_mapping(volume["image"]).get("reference"), images, ("volumes", index, "image", "reference"))
        return tuple(images)

    def _add(self, image: Any, images: dict[Reference, None], path: tuple[str | int, ...]) -> None:
        if image is None or image == "":
            return  # a template may leave the image to whatever creates the pod
        try:
            if not isinstance(image, str):
                raise InvalidReference("the image is not text")  # noqa: TRY301
            images[parse_reference(image, self.insecure)] = None
        except InvalidReference as error:
            written = image if isinstance(image, str) else ""
            self.complaints.add(written, self.place.at(("spec", *path)), self.found.label, str(error))

    def _originals(self, pod: Mapping[str, Any]) -> Mapping[str, Any]:
        annotation = _mapping(_mapping(pod.get("metadata")).get("annotations")).get(ORIGINAL_IMAGES)
        if annotation is None:
            return {}
        try:
            originals = json.loads(annotation)
        except (ValueError, TypeError, RecursionError):
            originals = None
        if isinstance(originals, dict) and all(isinstance(v, str) for v in originals.values()):
            return originals
        where = self.place / "metadata" / "annotations" / ORIGINAL_IMAGES
        message = f"the annotation {ORIGINAL_IMAGES} of {self.found.label} is not a JSON map of container to image"
        self.diagnostics.append(where.warning(Code.INVALID_ANNOTATION, message, "the images are taken as they stand"))
        return {}


def _has_ended(pod: Mapping[str, Any]) -> bool:
    phase = _mapping(pod.get("status")).get("phase")
    return isinstance(phase, str) and phase in _ENDED


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
