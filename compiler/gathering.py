"""Sorts objects into resources, workloads and namespaces, and refuses what is wrong with kuik's own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Final

from compiler.bounds import beyond
from compiler.checks import resources as resource_checks
from compiler.config import Config
from compiler.diagnostics import Code, Diagnostic, Severity
from compiler.model import Model
from compiler.reading import drop_nulls
from compiler.resources import GROUP, KINDS, Resource, build_resource
from compiler.shape import check_shape
from compiler.source import Document, Object, Text, flatten, read_documents
from compiler.workloads import ImageComplaints, Workload, is_workload, read_workload

__all__ = ["PRINTED", "Counts", "Gathered"]

PRINTED: Final = frozenset({"WindowPlan", "WindowPlanDiff"})
"""What kuik itself prints; a committed plan beside the manifests is no input."""

_VERSION: Final = f"{GROUP}/v1alpha1"


@dataclass(frozen=True, slots=True)
class Counts:
    """What the input held, in objects; ``skipped`` by kind is what means nothing to kuik."""

    texts: int = 0
    resources: int = 0
    workloads: int = 0
    skipped: Mapping[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class Gathered:
    """What the input holds, as its objects are added one by one.

    Attributes:
        found: what is wrong with any of them.
        refused: the errors of resources, by owner; these resources are not in ``resources``.
    """

    config: Config
    found: list[Diagnostic] = field(default_factory=list)
    refused: dict[str, list[Diagnostic]] = field(default_factory=dict)
    resources: list[Resource] = field(default_factory=list)
    workloads: list[Workload] = field(default_factory=list)
    namespaces: dict[str, Mapping[str, str]] = field(default_factory=dict)
    skipped: Counter[str] = field(default_factory=Counter)
    complaints: ImageComplaints = field(default_factory=ImageComplaints)
    texts: int = 0

    def add_text(self, text: Text) -> None:
        """Add every object of a text."""
        self.texts += 1
        documents, broken = read_documents(text)
        self.found += broken
        for document in documents:
            self.found += _stray_text(document)
            self.found += _stray_configuration(document)
            for item in flatten(document):
                self.add(item)

    def add(self, found: Object) -> None:
        """Add an object of any kind; what means nothing to kuik is counted."""
        if not found.kind:
            self._add_kindless(found)
        elif is_workload(found):
            workload, odd = read_workload(found, self.config.insecure, self.complaints)
            self.found += odd
            if workload is not None:
                self.workloads.append(workload)
        elif found.group == GROUP and found.kind not in PRINTED:
            self._add_own(found)
        elif found.kind == "Namespace" and not found.group:
            self._add_namespace(found)
        elif found.kind in KINDS and (not found.api_version or get_close_matches(found.group, [GROUP], 1, 0.8)):
            self.found.append(_wrong_group(found))
        else:
            self.skipped[found.kind] += 1

    def _add_kindless(self, found: Object) -> None:
        # the values of a chart may have an apiVersion and no kind: only in kuik's group it is a mistake
        if found.group == GROUP:
            message = f"an object of {GROUP} has no kind"
            self.found.append(found.place.error(Code.MISSING_FIELD, message, f"one of {', '.join(KINDS)}"))

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
        found = Object(drop_nulls(found.value), found.place, found.kind, found.api_version)
        wrong = [*_check_object(found)]
        self.found += wrong
        self.found += resource_checks.globs_can_match(found)
        self.found += resource_checks.cleanup_is_not_built(found)
        errors = [d for d in wrong if d.severity is Severity.ERROR]
        if errors:
            self.refused.setdefault(found.label, []).extend(errors)
            return
        # a warning of _check_object is one about the status
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

    def model(self) -> Model:
        """Give what can be used of it."""
        return Model(self.config, tuple(self.resources), tuple(self.workloads), self.namespaces)

    def counts(self) -> Counts:
        """Say how much it was."""
        return Counts(self.texts, len(self.resources), len(self.workloads), dict(sorted(self.skipped.items())))


def _stray_text(document: Document) -> Iterator[Diagnostic]:
    """Warn of a document that is text: prose, or a message that went into the file. A list may well be a JSON patch."""
    if isinstance(document.value, str | int | float):
        message = "this document is text, not a mapping; it is left out"
        yield document.place.warning(Code.NOT_A_MAPPING, message, "see what has written it")


def _stray_configuration(document: Document) -> Iterator[Diagnostic]:
    """Warn of a configuration among the manifests that was not named as one."""
    value = document.value
    if isinstance(value, dict) and "kind" not in value and isinstance(value.get("registries"), dict):
        message = "this looks like a configuration, and is not used as one"
        place, remedy = document.place / "registries", "name it with -c"
        yield place.warning(Code.STRAY_CONFIGURATION, message, remedy, key=True)


def _wrong_group(found: Object) -> Diagnostic:
    """Say that an object of one of kuik's kinds has no version, or is in a group that is nearly kuik's."""
    remedy = f"write {_VERSION}"
    if not found.api_version:
        return found.place.error(Code.MISSING_FIELD, f"{found.label} has no apiVersion", remedy)
    message = f'{found.kind} is no kind of the group "{found.group}"'
    return (found.place / "apiVersion").error(Code.UNKNOWN_KIND, message, remedy)


def _check_object(found: Object) -> Iterator[Diagnostic]:
    """Check one resource by itself; what is wrong with its status is a warning, kuik can do without."""
    own = {k: v for k, v in found.value.items() if k != "status"}
    schema = found.kind.lower()
    misshapen = check_shape({"apiVersion": found.api_version, "kind": found.kind, **own}, schema, found.place)
    yield from misshapen
    if beyond(own) is None:
        yield from resource_checks.selectors_are_sound(found, {d.position for d in misshapen})
        yield from resource_checks.one_form_of_prefix(found)
        yield from resource_checks.listed_platforms_are_there(found)
    if "status" in found.value:
        for wrong in check_shape(found.value, schema, found.place):
            if wrong not in misshapen:
                yield replace(wrong, severity=Severity.WARNING, code=Code.INVALID_STATUS, help="the status is not used")
