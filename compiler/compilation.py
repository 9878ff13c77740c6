"""From texts to a plan: the compiler's front door.

``compile_plan`` is a pure function. ``build_plan`` is its second half, for a caller that already has values: the
controller, whose workloads come from a watch.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, Final

from compiler.checks import hosts as host_checks
from compiler.checks import resources as resource_checks
from compiler.config import Config, Host, build_config
from compiler.diagnostics import Code, Diagnostic, Severity
from compiler.model import Model
from compiler.plan import CheckSeries, CopySeries, HostPlan, Plan, from_document
from compiler.resources import GROUP, KINDS, Resource, build_resource
from compiler.shape import check_shape
from compiler.source import Document, Object, Text, flatten, read_documents
from compiler.tracking import Tracking, track
from compiler.workloads import ImageComplaints, Workload, is_workload, read_workload

__all__ = ["Compilation", "Counts", "build_plan", "compile_plan", "read_config", "read_plan"]

_VERSION: Final = f"{GROUP}/v1alpha1"
_OWN_DOCUMENTS: Final = frozenset({"WindowPlan", "WindowPlanDiff"})
"""What kuik itself prints; a committed plan beside the manifests is no input."""


@dataclass(frozen=True, slots=True)
class Counts:
    """What the input held, in objects; ``skipped`` by kind is what means nothing to kuik."""

    texts: int = 0
    resources: int = 0
    workloads: int = 0
    skipped: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Compilation:
    """What a compilation gives.

    Attributes:
        plan: None when there are errors.
        diagnostics: all of them, by file and place.
        model: what the plan was made of; where it was written is in its places.
    """

    plan: Plan | None
    diagnostics: tuple[Diagnostic, ...]
    model: Model
    counts: Counts = Counts()

    @property
    def errors(self) -> int:
        """How many errors there are."""
        return sum(d.severity is Severity.ERROR for d in self.diagnostics)


def compile_plan(config: Text | None, manifests: Iterable[Text]) -> Compilation:
    """Compile a configuration and manifests into a plan.

    Args:
        config: None means all defaults.
        manifests: resources and workloads, in any order; the plan is the same in every order.
    """
    settings, found = read_config(config) if config is not None else (Config(), [])
    gathered = _gather(manifests, settings or Config(), found)
    model = Model(settings or Config(), tuple(gathered.resources), tuple(gathered.workloads), gathered.namespaces)
    found += resource_checks.unique_names(model.resources)
    found += resource_checks.destinations_do_not_nest(model.mirrors)
    found += resource_checks.namespaces_are_known(model)
    plan = None
    if not any(d.severity is Severity.ERROR for d in found):
        tracking = track(model)
        plan = _assemble(model, tracking)
        found += _homeless(tracking)
        found += host_checks.somebody_reads_every_host(model.config, plan)
    return Compilation(plan, tuple(sorted(found, key=lambda d: d.sort_key)), model, gathered.counts())


def build_plan(model: Model) -> Plan:
    """Build the plan of a model that has passed the checks."""
    return _assemble(model, track(model))


def read_config(text: Text) -> tuple[Config | None, list[Diagnostic]]:
    """Read a configuration; None when it has errors. An empty file is a valid one."""
    documents, found = read_documents(text)
    if len(documents) > 1:
        second = documents[1].place
        found.append(second.error(Code.INVALID_VALUE, "a configuration is one document; this is a second one"))
    if found:
        return None, found
    document = documents[0] if documents else Document(text.name, 1, {}, is_stream=text.is_stream)
    document = _without_nulls(document)
    found += check_shape(document.value, "config", document.place)
    found += host_checks.one_spelling_a_host(document)
    return (None, found) if found else (build_config(document), [])


def read_plan(text: Text) -> tuple[Plan | None, list[Diagnostic]]:
    """Read a plan that was printed before, as YAML or JSON."""
    documents, found = read_documents(text)
    if len(documents) != 1 and not found:
        from_text = Document(text.name, 1, None, is_stream=text.is_stream).place
        found.append(from_text.error(Code.INVALID_VALUE, f"a plan is one document; here are {len(documents)}"))
    if not found:
        found += check_shape(documents[0].value, "plan", documents[0].place)
    return (None, found) if found else (from_document(documents[0].value), [])


def _without_nulls(document: Document) -> Document:
    """Drop the keys without a value, as the API server does: they mean the same as no key."""
    return Document(
        document.name,
        document.number,
        _drop_nulls(document.value),
        document.piece,
        document.line,
        document.is_stream,
        document.has_duplicates,
    )


def _drop_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _drop_nulls(v) for k, v in value.items() if v is not None}
    return [_drop_nulls(v) for v in value] if isinstance(value, list) else value


@dataclass(slots=True)
class _Gathered:
    """What the manifests hold, as they are read one by one."""

    config: Config
    found: list[Diagnostic]
    resources: list[Resource] = field(default_factory=list)
    workloads: list[Workload] = field(default_factory=list)
    namespaces: dict[str, Mapping[str, str]] = field(default_factory=dict)
    skipped: Counter[str] = field(default_factory=Counter)
    complaints: ImageComplaints = field(default_factory=ImageComplaints)
    texts: int = 0

    def add(self, found: Object) -> None:
        if is_workload(found):
            workload, odd = read_workload(found, self.config.insecure, self.complaints)
            self.found += odd
            if workload is not None:
                self.workloads.append(workload)
        elif found.group == GROUP and found.kind not in _OWN_DOCUMENTS:
            self._add_own(found)
        elif found.kind == "Namespace" and not found.group:
            self._add_namespace(found)
        else:
            self.skipped[found.kind] += 1

    def _add_own(self, found: Object) -> None:
        close = get_close_matches(found.kind, KINDS, 1, 0.8)
        if found.kind not in KINDS and not close:
            # kuik v2 has other kinds in the same group: not ours, and no reason to stop
            self.skipped[found.kind] += 1
        elif found.kind not in KINDS:
            place, remedy = found.place / "kind", f'did you mean "{close[0]}"?'
            self.found.append(place.error(Code.UNKNOWN_KIND, f'unknown kind "{found.kind}" in {GROUP}', remedy))
        elif found.api_version != _VERSION:
            place, remedy = found.place / "apiVersion", f"write {_VERSION}"
            self.found.append(
                place.error(Code.UNKNOWN_KIND, f"{found.kind} has no version {found.api_version}", remedy)
            )
        else:
            self._add_resource(found)

    def _add_resource(self, found: Object) -> None:
        found = Object(_drop_nulls(found.value), found.place, found.kind, found.api_version)
        wrong = [*_check_object(found)]
        self.found += wrong
        self.found += resource_checks.globs_can_match(found)
        if not any(d.severity is Severity.ERROR for d in wrong):
            without_status = {k: v for k, v in found.value.items() if k != "status" or not wrong}
            sound = Object(without_status, found.place, found.kind, found.api_version)
            self.resources.append(build_resource(sound, self.config.insecure))

    def _add_namespace(self, found: Object) -> None:
        metadata = found.value.get("metadata")
        metadata = metadata if isinstance(metadata, dict) else {}
        labels, name = metadata.get("labels"), metadata.get("name")
        if isinstance(name, str):
            labels = labels if isinstance(labels, dict) else {}
            self.namespaces[name] = {k: v for k, v in labels.items() if isinstance(k, str) and isinstance(v, str)}

    def counts(self) -> Counts:
        return Counts(self.texts, len(self.resources), len(self.workloads), dict(sorted(self.skipped.items())))


def _gather(manifests: Iterable[Text], config: Config, found: list[Diagnostic]) -> _Gathered:
    gathered = _Gathered(config, found)
    for text in manifests:
        gathered.texts += 1
        documents, broken = read_documents(text)
        gathered.found += broken
        for document in documents:
            for item in flatten(document):
                gathered.add(item)
    gathered.found += gathered.complaints.diagnostics()
    return gathered


def _check_object(found: Object) -> Iterator[Diagnostic]:
    """Check one resource by itself; what is wrong with its status is a warning, kuik can do without."""
    own = {k: v for k, v in found.value.items() if k != "status"}
    schema = found.kind.lower()
    misshapen = check_shape({"apiVersion": found.api_version, "kind": found.kind, **own}, schema, found.place)
    yield from misshapen
    told = {d.position for d in misshapen}
    yield from (d for d in resource_checks.selectors_are_sound(found) if d.position not in told)
    yield from resource_checks.one_form_of_prefix(found)
    if "status" in found.value:
        for wrong in check_shape(found.value, schema, found.place):
            if wrong.message.startswith("status"):
                yield Diagnostic(
                    Severity.WARNING, Code.INVALID_STATUS, wrong.message, wrong.position, "the status is not used"
                )


def _assemble(model: Model, tracking: Tracking) -> Plan:
    names = sorted({*model.config.hosts, *tracking.rings, *tracking.queues})
    return Plan(
        hosts=tuple(_host(model.config.host(name), tracking) for name in names),
        superset=any(w.is_template for w in model.workloads),
    )


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
