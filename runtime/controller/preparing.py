"""From what is there to what is done: compiles a snapshot, away from the event loop that windows wait on."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from compiler.compilation import Compilation, compile_state
from compiler.config import Config
from compiler.diagnostics import Diagnostic
from compiler.duration import Nanoseconds
from compiler.model import Model
from compiler.plan import Plan
from compiler.plan_document import digests
from compiler.reference import InvalidReference, Reference, parse_reference
from compiler.resources import ImageMirror, ImageMonitor, Resource
from compiler.source import Object
from compiler.tracking import used_by
from compiler.workloads import Workload
from runtime.cluster.port import Snapshot
from runtime.controller.retention import Retained, retain

__all__ = ["Past", "Prepared", "Use", "prepare"]


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
class Past:
    """What a plan depends on beside what is there now.

    Attributes:
        uses: what each monitor's pods used until now, and what was retained.
        good: the last version of each resource that was not refused, by owner.
        digests: the last known digest of images, for those that become retained.
    """

    uses: Mapping[str, Use] = field(default_factory=dict)
    good: Mapping[str, Object] = field(default_factory=dict)
    digests: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Prepared:
    """A plan and all that the controller needs beside it.

    Attributes:
        digests: of the plan, as ``compiler.plan.digests`` gives them.
        diagnostics: of the files and workloads, and of the compilation.
        uses: by owner, of every monitor.
        monitors: in force, by owner.
        mirrors: in force, by owner.
        objects: every resource of kuik's kinds as it stands in the input, by owner.
        good: the last version of each that was not refused; a refused one stays in force as it was.
        watched: the digests that run of each image that some monitor watches for drift.
    """

    plan: Plan
    digests: Mapping[str, str]
    compilation: Compilation
    diagnostics: tuple[Diagnostic, ...]
    uses: Mapping[str, Use]
    monitors: Mapping[str, ImageMonitor]
    mirrors: Mapping[str, ImageMirror]
    objects: Mapping[str, Object]
    good: Mapping[str, Object]
    platforms: frozenset[str]
    watched: Mapping[str, frozenset[str]]


def prepare(config: Config, snapshot: Snapshot, past: Past, now: Nanoseconds) -> Prepared:
    """Compile a snapshot; runs in a thread and changes nothing.

    Args:
        config: in force.
        snapshot: what is there.
        past: what was there before.
        now: the time of day.
    """
    uses = dict[str, Use]()
    user = _User(snapshot, past, now)

    def revise(model: Model) -> Model:
        resources = list[Resource]()
        for resource in model.resources:
            if isinstance(resource, ImageMonitor):
                use = uses[resource.owner] = user.use(model, resource)
                retained = tuple(_references(use.retained, config.insecure))
                resources.append(replace(resource, retained=retained))
            else:
                resources.append(resource)
        return replace(model, resources=tuple(resources))

    compilation = _compile(config, snapshot, past.good, revise)
    monitors = {m.owner: m for m in compilation.model.monitors}
    plan = compilation.plan or Plan()
    return Prepared(
        plan=plan,
        digests=digests(plan),
        compilation=compilation,
        diagnostics=(*snapshot.diagnostics, *compilation.diagnostics),
        uses={owner: uses[owner] for owner in monitors},
        monitors=monitors,
        mirrors={m.owner: m for m in compilation.model.mirrors},
        objects={o.label: o for o in snapshot.resources},
        good=_good(snapshot, compilation, past.good),
        platforms=snapshot.platforms,
        watched=_watched(monitors.values(), uses),
    )


def _compile(
    config: Config, snapshot: Snapshot, good: Mapping[str, Object], revise: Callable[[Model], Model]
) -> Compilation:
    """Compile what is there, with the last good version in the place of what is refused."""
    workloads = snapshot.workloads
    compilation = compile_state(config, snapshot.resources, workloads, snapshot.namespaces, revise)
    refused = compilation.refused
    if good.keys().isdisjoint(refused):
        return compilation
    in_force = {o.label: o for o in snapshot.resources if o.label not in refused}
    in_force |= {owner: good[owner] for owner in refused if owner in good}
    second = compile_state(config, in_force.values(), workloads, snapshot.namespaces, revise)
    return replace(second, diagnostics=compilation.diagnostics, refused=refused)


def _good(snapshot: Snapshot, compilation: Compilation, before: Mapping[str, Object]) -> dict[str, Object]:
    refused = compilation.refused
    good = {o.label: o for o in snapshot.resources if o.label not in refused}
    return good | {owner: before[owner] for owner in refused if owner in before}


class _User:
    """Finds out what monitors' pods use."""

    def __init__(self, snapshot: Snapshot, past: Past, now: Nanoseconds) -> None:
        self._sightings = {id(s.workload): s for s in snapshot.sightings}
        self._past, self._now = past, now

    def use(self, model: Model, monitor: ImageMonitor) -> Use:
        """Say what a monitor's pods use and what it retains."""
        selected = list(model.selected(monitor))
        wanted = used_by(selected, monitor)
        pods = Counter(i.text for w in selected for i in w.images if i in wanted)
        used = frozenset(pods)
        before = self._past.uses.get(monitor.owner, Use())
        gone = [Retained(ref, self._now, self._past.digests.get(ref)) for ref in before.pods.keys() - used]
        kept = {r.ref: r for r in (*gone, *before.retained.values()) if not _is_excluded(r.ref, model, monitor)}
        retained, is_truncated = retain(kept, used, monitor.retention, self._now)
        return Use(dict(pods), self._running(selected, used), retained, is_truncated)

    def _running(self, selected: Iterable[Workload], used: frozenset[str]) -> dict[str, frozenset[str]]:
        running = defaultdict[str, set[str]](set)
        for workload in selected:
            for image, digest in self._sightings[id(workload)].running:
                if image.text in used:
                    running[image.text].add(digest)
        return {image: frozenset(found) for image, found in running.items()}


def _is_excluded(ref: str, model: Model, monitor: ImageMonitor) -> bool:
    references = _references((ref,), model.config.insecure)
    return any(glob.matches(image) for image in references for glob in monitor.exclude)


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
