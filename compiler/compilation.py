"""From texts or values to a plan: the compiler's front door.

``compile_plan`` takes files, as a reviewer has them: one error refuses the whole. ``compile_state`` takes what a
controller watches, where one team's mistake must not stop the others: a resource with errors is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from compiler.checks import hosts as host_checks
from compiler.checks import resources as resource_checks
from compiler.config import Config, Host
from compiler.diagnostics import Code, Diagnostic, Severity
from compiler.gathering import Counts, Gathered
from compiler.model import Model
from compiler.plan import CheckSeries, CopySeries, DefaultPace, HostPlan, Plan
from compiler.reading import read_config
from compiler.resources import Resource
from compiler.source import Object, Text
from compiler.tracking import Tracking, track
from compiler.workloads import Workload

__all__ = ["Compilation", "compile_plan", "compile_state"]


@dataclass(frozen=True, slots=True)
class Compilation:
    """What a compilation gives.

    Attributes:
        plan: None when there are errors and the whole is refused.
        diagnostics: all of them, by file and place.
        model: what the plan was made of; where it was written is in its places.
        refused: the errors of each resource that was left out, by owner.
    """

    plan: Plan | None
    diagnostics: tuple[Diagnostic, ...]
    model: Model
    counts: Counts = field(default_factory=Counts)
    refused: Mapping[str, Sequence[Diagnostic]] = field(default_factory=dict)

    def also(self, found: Iterable[Diagnostic]) -> Compilation:
        """Give the compilation with more diagnostics; one with an error among all of them has no plan."""
        diagnostics = _sorted((*self.diagnostics, *found))
        is_refused = any(d.severity is Severity.ERROR for d in diagnostics)
        return replace(self, plan=None if is_refused else self.plan, diagnostics=diagnostics)


def compile_plan(config: Text | None, manifests: Iterable[Text]) -> Compilation:
    """Compile a configuration and manifests into a plan.

    Args:
        config: None means all defaults.
        manifests: resources and workloads, in any order; the plan is the same in every order.
    """
    settings, found = read_config(config) if config is not None else (Config(), [])
    gathered = Gathered(settings or Config(), found)
    for text in manifests:
        gathered.add_text(text)
    found += gathered.complaints.diagnostics()
    model = gathered.model()
    found += (diagnostic for _, diagnostic in _conflicts(model.resources))
    found += resource_checks.namespaces_are_known(model)
    plan = None
    if not any(d.severity is Severity.ERROR for d in found):
        plan, late = _build(model)
        found += late
    return Compilation(plan, _sorted(found), model, gathered.counts(), gathered.refused)


def compile_state(
    config: Config,
    resources: Iterable[Object],
    workloads: Sequence[Workload],
    namespaces: Mapping[str, Mapping[str, str]],
    revise: Callable[[Model], Model] = lambda model: model,
) -> Compilation:
    """Compile what is there now; a resource with errors is left out and everything else goes on.

    Args:
        config: in force.
        resources: objects of kuik's own kinds, unchecked.
        workloads: as ``read_workload`` gives them.
        namespaces: labels by name.
        revise: changes the sound model before its plan is built; the controller knows better than status what is
            retained.
    """
    gathered = Gathered(config)
    for item in resources:
        gathered.add(item)
    conflicts = [*_conflicts(gathered.resources)]
    refused = {**gathered.refused}
    for resource, diagnostic in conflicts:
        refused.setdefault(resource.owner, []).append(diagnostic)
    out = {id(resource) for resource, _ in conflicts}
    sound = tuple(r for r in gathered.resources if id(r) not in out)
    model = replace(gathered.model(), resources=sound, workloads=tuple(workloads), namespaces=namespaces)
    model = revise(model)
    plan, late = _build(model)
    found = [*gathered.found, *(diagnostic for _, diagnostic in conflicts), *late]
    found += resource_checks.namespaces_are_known(model)
    return Compilation(plan, _sorted(found), model, gathered.counts(), refused)


def _conflicts(resources: Sequence[Resource]) -> Iterator[tuple[Resource, Diagnostic]]:
    """Find the resources that can't be beside another one: of two, the one that came later."""
    yield from resource_checks.unique_names(resources)
    yield from resource_checks.destinations_do_not_nest(resources)


def _build(model: Model) -> tuple[Plan, list[Diagnostic]]:
    """Build the plan of a sound model, and say what only the plan shows."""
    tracking = track(model)
    plan = _assemble(model, tracking)
    return plan, [*_homeless(tracking), *host_checks.somebody_reads_every_host(model, plan)]


def _sorted(found: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    return tuple(sorted(found, key=lambda d: d.sort_key))


def _assemble(model: Model, tracking: Tracking) -> Plan:
    names = sorted({*model.config.hosts, *tracking.rings, *tracking.queues})
    return Plan(
        hosts=tuple(_host(model.config.host(name), tracking) for name in names),
        superset=any(w.is_template for w in model.workloads),
        default=_default(model.config),
    )


def _default(config: Config) -> DefaultPace:
    check, copy = config.check, config.copy
    return DefaultPace(check.interval, check.timeout, copy.interval, copy.timeout)


def _host(host: Host, tracking: Tracking) -> HostPlan:
    check, copy = host.check, host.copy
    return HostPlan(
        host=host.host,
        check=CheckSeries(check.interval, check.timeout, check.origin, tracking.rings.get(host.host, ())),
        copy=CopySeries(copy.interval, copy.timeout, copy.origin, tracking.queues.get(host.host, ())),
        clusters=host.clusters,
        suspended=host.suspended,
        insecure=host.insecure,
        ca_file=host.ca_file,
        auth=host.auth,
    )


def _homeless(tracking: Tracking) -> Iterator[Diagnostic]:
    for mirror, image, reason in tracking.homeless:
        place = mirror.place / "spec" / "destination" / "path"
        message = f"{mirror.owner} can't copy {image}: {reason}"
        yield place.warning(Code.DESTINATION_TOO_LONG, message, "it is left out of the plan")
