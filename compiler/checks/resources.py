"""Rules about resources among each other and in themselves."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise
from typing import Any

from compiler.diagnostics import Code, Diagnostic, Position
from compiler.globs import never_matches
from compiler.model import NAMESPACE_NAME, Model
from compiler.prefixes import nests
from compiler.resources import ImageMirror, Resource
from compiler.selectors import selector_errors
from compiler.source import Object

__all__ = [
    "cleanup_is_not_built",
    "destinations_do_not_nest",
    "globs_can_match",
    "listed_platforms_are_there",
    "namespaces_are_known",
    "one_form_of_prefix",
    "selectors_are_sound",
    "unique_names",
]


def selectors_are_sound(found: Object, told: Collection[Position] = ()) -> Iterator[Diagnostic]:
    """Refuse a selector that Kubernetes refuses, beyond what the schema says of it.

    Args:
        found: a resource.
        told: the places that the schema has complained about already, which are not told twice.
    """
    spec: Any = found.value.get("spec")
    for name in ("podSelector", "namespaceSelector"):
        for path, message in selector_errors(spec.get(name) if isinstance(spec, dict) else None):
            place = (found.place / "spec" / name).at(path)
            if place.position() not in told and place.position(key=True) not in told:
                yield place.error(Code.INVALID_SELECTOR, f"{name}: {message}")


def one_form_of_prefix(found: Object) -> Iterator[Diagnostic]:
    """Refuse a list of alternatives that mixes groups of repositories with single ones."""
    spec: Any = found.value.get("spec")
    entries = spec.get("alternatives") if isinstance(spec, dict) else None
    entries = entries if isinstance(entries, list) else ()  # the schema says what it is instead
    prefixes = [e.get("imagePrefix") if isinstance(e, dict) else None for e in entries]
    texts = [(index, prefix) for index, prefix in enumerate(prefixes) if isinstance(prefix, str)]
    for (_, before), (index, here) in pairwise(texts):
        if before.endswith("/") != here.endswith("/"):
            place = found.place / "spec" / "alternatives" / index / "imagePrefix"
            kinds = ("a group of repositories", "one repository")
            one, other = kinds if here.endswith("/") else reversed(kinds)
            message = f'"{here}" covers {one}, the entry before it {other}'
            yield place.error(Code.MIXED_PREFIXES, message, 'end all prefixes of a list with "/", or none')
            return


def cleanup_is_not_built(found: Object) -> Iterator[Diagnostic]:
    """Warn of a mirror that asks for a cleanup: nothing is deleted by this version."""
    spec: Any = found.value.get("spec")
    cleanup = spec.get("cleanup") if isinstance(spec, dict) else None
    if isinstance(cleanup, dict) and cleanup.get("enabled") is True:
        message = "cleanup is not built yet: nothing will be deleted from the destination"
        yield (found.place / "spec" / "cleanup" / "enabled").warning(Code.NOT_BUILT_YET, message)


def unique_names(resources: Sequence[Resource]) -> Iterator[tuple[Resource, Diagnostic]]:
    """Refuse a resource that is there twice; gives the second one."""
    first = dict[str, Resource]()
    for resource in resources:
        if resource.owner in first:
            other = first[resource.owner].place.position()
            message = f"{resource.owner} is here a second time; the first is at {other.file}:{other.line}"
            place = resource.place / "metadata" / "name"
            yield resource, place.error(Code.DUPLICATE_RESOURCE, message, "rename one of the two")
        first.setdefault(resource.owner, resource)


def destinations_do_not_nest(resources: Sequence[Resource]) -> Iterator[tuple[Resource, Diagnostic]]:
    """Refuse mirrors of which one writes where another does, or below; gives the younger one, else the one behind."""
    mirrors = sorted((r for r in resources if isinstance(r, ImageMirror)), key=lambda m: (m.created, m.name))
    for index, mirror in enumerate(mirrors):
        for other in mirrors[:index]:
            if nests(mirror.path, other.path) and mirror.name != other.name:
                relation = "is also that" if mirror.path == other.path else "overlaps with that"
                message = f'the destination "{mirror.path}" {relation} of {other.owner} ({other.path})'
                place = mirror.place / "spec" / "destination" / "path"
                yield mirror, place.error(Code.NESTED_DESTINATIONS, message, "give each mirror a path of its own")


def listed_platforms_are_there(found: Object) -> Iterator[Diagnostic]:
    """Refuse ``platforms.mode: List`` without a list."""
    spec: Any = found.value.get("spec")
    platforms = spec.get("platforms") if isinstance(spec, dict) else None
    if isinstance(platforms, dict) and platforms.get("mode") == "List" and platforms.get("list") in (None, []):
        place, remedy = found.place / "spec" / "platforms" / "mode", "list them, such as [linux/amd64, linux/arm64]"
        yield place.error(Code.MISSING_FIELD, 'spec.platforms lacks "list", which mode List needs', remedy)


def namespaces_are_known(model: Model) -> Iterator[Diagnostic]:
    """Warn of a namespaceSelector that asks for labels of a Namespace that isn't in the input."""
    unknown = sorted({w.namespace for w in model.workloads} - set(model.namespaces))
    if not unknown:
        return
    names = ", ".join(unknown[:3]) + (f" and {len(unknown) - 3} more" if len(unknown) > 3 else "")
    for resource in model.resources:
        keys = sorted(set(resource.selection.namespaces.keys()) - {NAMESPACE_NAME})
        if keys:
            message = (
                f"{resource.owner} selects namespaces by {', '.join(keys)}, but the input lacks the Namespace {names}"
            )
            place = resource.place / "spec" / "namespaceSelector"
            remedy = "add the Namespace objects to the input; until then they count as without these labels"
            yield place.warning(Code.UNKNOWN_NAMESPACE_LABELS, message, remedy)


def globs_can_match(found: Object) -> Iterator[Diagnostic]:
    """Warn of a glob that can match no canonical name; what is no glob at all, the schema says."""
    spec: Any = found.value.get("spec")
    globs = spec.get("excludeImages") if isinstance(spec, dict) else None
    for index, glob in enumerate(globs if isinstance(globs, list) else ()):
        reason = never_matches(glob) if isinstance(glob, str) else None
        if reason is not None:
            yield (found.place / "spec" / "excludeImages" / index).warning(Code.GLOB_NEVER_MATCHES, reason)
