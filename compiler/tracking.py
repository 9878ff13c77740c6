"""Which owner reads what on which host: from selectors to rings and queues (R1, C1)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from compiler.destination import DestinationTooLong, destination
from compiler.globs import Glob
from compiler.model import Model
from compiler.plan import Copy, Queue, Ring
from compiler.prefixes import rewrite
from compiler.reference import InvalidReference, Reference
from compiler.resources import Alternative, ImageAlternative, ImageMirror, ImageMonitor
from compiler.workloads import Workload

__all__ = ["Tracking", "track", "used_by"]


@dataclass(frozen=True, slots=True)
class Tracking:
    """Rings and queues by host, each in the order of turns (T1).

    Attributes:
        homeless: images that a mirror wants and can't name at its destination, with the reason.
    """

    rings: Mapping[str, tuple[Ring, ...]] = field(default_factory=dict)
    queues: Mapping[str, tuple[Queue, ...]] = field(default_factory=dict)
    homeless: tuple[tuple[ImageMirror, Reference, str], ...] = ()


def track(model: Model) -> Tracking:
    """Find every ring and queue of a model; what was copied already is not known here, so queues hold everything."""
    rings, queues = defaultdict[str, list[Ring]](list), defaultdict[str, list[Queue]](list)
    homeless = list[tuple[ImageMirror, Reference, str]]()
    finder = _AlternativeFinder(model)
    # ImageMirror sorts before ImageMonitor, and each kind comes by name: this is code-point order of Kind/name
    for mirror in model.mirrors:
        copies = dict[Reference, Copy]()
        for image in sorted(_wanted(model, mirror), key=str):
            try:
                to = destination(mirror.path, image, model.config.cluster_id)
            except DestinationTooLong as error:
                homeless.append((mirror, image, str(error)))
            else:
                copies[image] = Copy(image.text, to.to, to.anchor)
        for host, images in _by_host(copies).items():
            queues[host].append(Queue(mirror.owner, tuple(copies[i] for i in images), mirror.suspended))
        if mirror.drift_policy != "Ignore":
            # a digest can't drift (R1)
            for host, images in _by_host(i for i in copies if i.digest is None).items():
                rings[host].append(Ring(mirror.owner, tuple(i.text for i in images), mirror.suspended))
    for monitor in model.monitors:
        reads = _reads(model, monitor, finder)
        for host, images in _by_host(reads).items():
            auth = tuple((i.text, s) for i in images if (e := reads[i]) is not None and (s := e.secret) is not None)
            insecure = tuple(i.text for i in images if (e := reads[i]) is not None and e.insecure)
            rings[host].append(Ring(monitor.owner, tuple(i.text for i in images), monitor.suspended, auth, insecure))
    return Tracking(
        {host: tuple(found) for host, found in rings.items()},
        {host: tuple(found) for host, found in queues.items()},
        tuple(homeless),
    )


def _wanted(model: Model, mirror: ImageMirror) -> set[Reference]:
    used = {image for workload in model.selected(mirror) for image in workload.images}
    return {image for image in used if not mirror.owns(image) and not _excluded(mirror.exclude, image)}


def _reads(model: Model, monitor: ImageMonitor, finder: _AlternativeFinder) -> dict[Reference, Alternative | None]:
    """Give what a monitor reads; the entry is the one whose credential reads it, None leaves that to the host."""
    selected = list(model.selected(monitor))
    origins = used_by(selected, monitor) | {i for i in monitor.retained if not _excluded(monitor.exclude, i)}
    reads = dict[Reference, Alternative | None].fromkeys(origins)
    if monitor.monitor_alternatives:
        for image, entry in finder.alternatives(selected, origins, monitor.retained):
            # of several entries, the first resource's by name comes first; but one that brings a credential counts
            present = reads.get(image)
            is_better = present is None or (present.secret is None and entry.secret is not None)
            if is_better and not _excluded(monitor.exclude, image):
                reads[image] = entry
    return reads


def used_by(selected: Iterable[Workload], monitor: ImageMonitor) -> set[Reference]:
    """Give the images that the pods selected by a monitor use, those that it excludes left out."""
    used = {image for workload in selected for image in workload.images}
    return {image for image in used if not _excluded(monitor.exclude, image)}


class _AlternativeFinder:
    """Finds the alternatives of images; prepared once for all monitors."""

    def __init__(self, model: Model) -> None:
        self._resources = model.alternatives
        self._model = model
        self._selected = dict[str, set[int]]()

    def alternatives(
        self, workloads: Sequence[Workload], origins: set[Reference], retained: Iterable[Reference]
    ) -> Iterator[tuple[Reference, Alternative]]:
        """Give the alternatives of images, resource by resource in order of names.

        An ImageAlternative applies to the images of the pods it selects. A retained image has no pods any more: every
        one applies to it that matches.
        """
        kept = set(retained) & origins
        for resource in self._resources:
            selected = self._selected_by(resource)
            used = {i for w in workloads if selected is None or id(w) in selected for i in w.images}
            for image in sorted((used & origins) | kept, key=str):
                yield from _equivalents(resource, image)

    def _selected_by(self, resource: ImageAlternative) -> set[int] | None:
        """Give the identities of the workloads that a resource selects; None is all of them."""
        if resource.selection.is_everything:
            return None
        if resource.name not in self._selected:
            self._selected[resource.name] = {id(w) for w in self._model.selected(resource)}
        return self._selected[resource.name]


def _equivalents(resource: ImageAlternative, image: Reference) -> Iterator[tuple[Reference, Alternative]]:
    source = resource.entry_of(image)
    if source is None:
        return
    for entry in resource.alternatives:
        if entry is not source and not entry.unavailable:
            try:
                yield rewrite(image, source.prefix, entry.prefix), entry
            except InvalidReference:
                continue  # longer than a repository may be: no registry has it


def _excluded(globs: Iterable[Glob], image: Reference) -> bool:
    return any(glob.matches(image) for glob in globs)


def _by_host(images: Iterable[Reference]) -> dict[str, list[Reference]]:
    """Sort images into hosts, in code-point order of their text."""
    hosts = defaultdict[str, list[Reference]](list)
    for image in sorted(images, key=str):
        hosts[image.host].append(image)
    return hosts
