"""From what is there to what is done: compiles a snapshot off the event loop, so that a flood of pods delays no window."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from compiler.compilation import Compilation, compile_state
from compiler.config import Config
from compiler.duration import Nanoseconds
from compiler.model import Model
from compiler.plan import Plan
from compiler.reference import InvalidReference, Reference, parse_reference
from compiler.resources import ImageMirror, ImageMonitor, Resource
from compiler.source import Object
from compiler.tracking import used_by
from runtime.cluster.port import Sighting, Snapshot
from runtime.controller.retention import Retained, retain

__all__ = ["Prepared", "Use", "prepare"]


@dataclass(frozen=True, slots=True)
class Use:
    """What a monitor's pods use.

    Attributes:
        pods: how many use each image.
        running: the digests that run under each reference, as nodes told.
        retained: what is kept although no pod uses it any more.
        is_truncated: more would be retained than are kept.
    """

    pods: Mapping[str, int] = field(default_factory=dict)
    running: Mapping[str, frozenset[str]] = field(default_factory=dict)
    retained: Mapping[str, Retained] = field(default_factory=dict)
    is_truncated: bool = False


@dataclass(frozen=True, slots=True)
class Prepared:
    """A plan and all that the controller needs beside it.

    Attributes:
        uses: by owner, of every monitor.
        monitors: by owner.
        mirrors: by owner.
        objects: every resource of kuik's kinds as it stands in the input, by owner.
        good: the last version of each that was not refused; a refused one stays in force as it was.
        watched: the digests that run of each image that some monitor watches for drift.
    """

    plan: Plan
    compilation: Compilation
    uses: Mapping[str, Use]
    monitors: Mapping[str, ImageMonitor]
    mirrors: Mapping[str, ImageMirror]
    objects: Mapping[str, Object]
    good: Mapping[str, Object]
    platforms: frozenset[str]
    watched: Mapping[str, frozenset[str]]


def prepare(
    config: Config,
    snapshot: Snapshot,
    before: Mapping[str, Use],
    good: Mapping[str, Object],
    digests: Mapping[str, str],
    now: Nanoseconds,
) -> Prepared:
    """Compile a snapshot; runs in a thread and changes nothing.

    Args:
        config: in force.
        snapshot: what is there.
        before: what each monitor's pods used until now, and what was retained.
        good: the last version of each resource that was not refused, by owner.
        digests: the last known digest of images, for those that become retained.
        now: the time of day.
    """
    uses = dict[str, Use]()

    def revise(model: Model) -> Model:
        sightings = {id(s.workload): s for s in snapshot.sightings}
        resources = list[Resource]()
        for resource in model.resources:
            if isinstance(resource, ImageMonitor):
                use = _use(model, resource, sightings, before.get(resource.owner, Use()), digests, now)
                uses[resource.owner] = use
                retained = tuple(_references(use.retained, config.insecure))
                resources.append(replace(resource, retained=retained))
            else:
                resources.append(resource)
        return replace(model, resources=tuple(resources))

    workloads = tuple(s.workload for s in snapshot.sightings)
    compilation = compile_state(config, snapshot.resources, workloads, snapshot.namespaces, revise)
    refused = compilation.refused
    if any(owner in good for owner in refused):
        # what was in force before the mistake still is
        in_force = [good.get(o.label, o) if o.label in refused else o for o in snapshot.resources]
        second = compile_state(config, in_force, workloads, snapshot.namespaces, revise)
        compilation = replace(second, diagnostics=compilation.diagnostics, refused=refused)
    monitors = {m.owner: m for m in compilation.model.monitors}
    return Prepared(
        plan=compilation.plan or Plan(),
        compilation=compilation,
        uses=uses,
        monitors=monitors,
        mirrors={m.owner: m for m in compilation.model.mirrors},
        objects={o.label: o for o in snapshot.resources},
        good={o.label: good.get(o.label, o) if o.label in refused else o for o in snapshot.resources},
        platforms=snapshot.platforms,
        watched=_watched(monitors.values(), uses),
    )


def _use(
    model: Model,
    monitor: ImageMonitor,
    sightings: Mapping[int, Sighting],
    before: Use,
    digests: Mapping[str, str],
    now: Nanoseconds,
) -> Use:
    selected = list(model.selected(monitor))
    wanted = used_by(selected, monitor)
    pods = Counter(i.text for w in selected for i in w.images if i in wanted)
    running = defaultdict[str, set[str]](set)
    for workload in selected:
        for image, digest in sightings[id(workload)].running:
            running[image.text].add(digest)
    used = frozenset(pods)
    gone = [Retained(ref, now, digests.get(ref)) for ref in before.pods.keys() - used]
    retained, is_truncated = retain(before.retained, gone, used, monitor.retention, now)
    return Use(dict(pods), {i: frozenset(d) for i, d in running.items() if i in used}, retained, is_truncated)


def _references(retained: Iterable[str], insecure: frozenset[str]) -> Iterable[Reference]:
    for ref in retained:
        try:
            yield parse_reference(ref, insecure)
        except InvalidReference:
            continue  # a status that somebody wrote by hand


def _watched(monitors: Iterable[ImageMonitor], uses: Mapping[str, Use]) -> dict[str, frozenset[str]]:
    watched = dict[str, frozenset[str]]()
    for monitor in monitors:
        if monitor.drift_detection:
            for image, digests in uses[monitor.owner].running.items():
                watched[image] = watched.get(image, frozenset()) | digests
    return watched
