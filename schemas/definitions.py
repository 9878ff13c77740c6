"""From a JSON Schema of a kind to its CustomResourceDefinition.

A CustomResourceDefinition holds a *structural* schema, a small part of JSON Schema: no references, one type a value, no
``additionalProperties`` beside ``properties``. Each function here takes away one thing that it lacks:

- references are written out, with what stands beside them on top;
- text or the integer 0 (a duration) becomes int-or-string;
- a closed object stays closed by itself: the API server prunes, and under strict validation refuses, what it doesn't know;
  an open one (status) is marked to keep it, because server-side apply refuses a field that the schema lacks, and
  a newer kuik must be able to write its status where the definitions are still the old ones;
- what only the compiler can judge goes: kuik's own formats (the pattern stays), the names of keys, refused properties.

There are no CEL rules: kubectl of an API server 1.20 refuses the definitions then.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

__all__ = ["NAMES", "Column", "Document", "Names", "definition"]

Document: TypeAlias = dict[str, Any]

GROUP: Final = "kuik.enix.io"
VERSION: Final = "v1alpha1"

# formats that the API server knows and checks
_KNOWN_FORMATS: Final = frozenset({"date-time"})
_DROPPED: Final = frozenset({"$ref", "additionalProperties", "const", "format", "items", "properties", "propertyNames", "type"})


@dataclass(frozen=True, slots=True)
class Column:
    """A column of ``kubectl get``; a priority above 0 shows it only with ``-o wide``."""

    name: str
    type: str
    path: str
    description: str
    priority: int = 0


@dataclass(frozen=True, slots=True)
class Names:
    """How a kind is called on the command line, and what kubectl prints of it."""

    plural: str
    short: tuple[str, ...]
    columns: tuple[Column, ...]


def _condition(name: str, description: str, priority: int = 0) -> Column:
    return Column(name, "string", f'.status.conditions[?(@.type=="{name}")].status', description, priority)


_READY: Final = _condition("Ready", "Whether the spec is in force.")
_AGE: Final = Column("Age", "date", ".metadata.creationTimestamp", "How long the resource has existed.")
_SUSPENDED: Final = Column("Suspended", "boolean", ".spec.suspend", "Whether it takes no turn.", 1)

NAMES: Final[Mapping[str, Names]] = {
    "ImageMonitor": Names(
        "imagemonitors",
        ("imon",),
        (
            Column("Images", "integer", ".status.images.tracked", "Images that are checked."),
            Column("Unavailable", "integer", ".status.images.unavailable", "Images that could not be read."),
            Column("Drifted", "integer", ".status.images.drifted", "Images whose tag has moved."),
            Column("Unknown", "integer", ".status.images.unknown", "Images without a verdict yet.", 1),
            _SUSPENDED,
            _READY,
            _AGE,
        ),
    ),
    "ImageMirror": Names(
        "imagemirrors",
        ("imir",),
        (
            Column("Destination", "string", ".spec.destination.path", "Where the copies go."),
            Column("Desired", "integer", ".status.images.desired", "Images that are wanted there."),
            Column("Copied", "integer", ".status.images.copied", "Images that are there."),
            Column("Pending", "integer", ".status.images.pending", "Images that are not there yet.", 1),
            Column("Drift", "string", ".spec.driftPolicy", "What is done about a tag that moved.", 1),
            _SUSPENDED,
            _condition("DestinationInSync", "Whether every wanted image is there.", 1),
            _READY,
            _AGE,
        ),
    ),
    "ImageAlternative": Names(
        "imagealternatives",
        ("ialt",),
        (
            Column("Policy", "string", ".spec.rewritePolicy", "When a pod is sent to another place."),
            Column("Pods", "integer", ".status.pods.tracked", "Pods that it applies to."),
            Column("Rewritten", "integer", ".status.pods.rewritten", "Pods that were sent to another place."),
            Column("None", "integer", ".status.pods.noAlternatives", "Pods whose image no place served."),
            _SUSPENDED,
            _READY,
            _AGE,
        ),
    ),
}


def definition(schema: Mapping[str, Any]) -> Document:
    """Compute the CustomResourceDefinition of a kind from its JSON Schema, keys in the order in which they are read."""
    kind = schema["title"]
    names = NAMES[kind]
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{names.plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Cluster",
            "names": {
                "kind": kind,
                "listKind": f"{kind}List",
                "plural": names.plural,
                "singular": kind.lower(),
                "shortNames": list(names.short),
                "categories": ["kuik"],
            },
            "versions": [
                {
                    "name": VERSION,
                    "served": True,
                    "storage": True,
                    "subresources": {"status": {}},
                    "additionalPrinterColumns": [_column(c) for c in names.columns],
                    "schema": {"openAPIV3Schema": _root(schema)},
                }
            ],
        },
    }


def _column(column: Column) -> Document:
    document: Document = {"name": column.name, "type": column.type, "description": column.description}
    if column.priority:
        document["priority"] = column.priority
    return {**document, "jsonPath": column.path}


def _root(schema: Mapping[str, Any]) -> Document:
    """Give the schema of the whole object; the API server itself judges apiVersion, kind and metadata."""
    properties = schema["properties"]
    own = {name: _structural(properties[name], schema["$defs"]) for name in ("spec", "status")}
    given = {name: _text(properties[name]) for name in ("apiVersion", "kind", "metadata")}
    given["metadata"]["type"] = "object"
    required = [name for name in schema["required"] if name in own]
    return {
        "description": schema["description"],
        "type": "object",
        **({"required": required} if required else {}),
        "properties": {**given, **own},
    }


def _text(node: Mapping[str, Any]) -> Document:
    return {"description": node["description"], "type": "string"}


def _structural(node: Mapping[str, Any], defs: Mapping[str, Any]) -> Document:
    node = _resolved(node, defs)
    out: Document = {k: v for k, v in node.items() if k not in _DROPPED and (k[:2] != "x-" or k[:13] == "x-kubernetes-")}
    out |= _type(node)
    if node.get("format") in _KNOWN_FORMATS:
        out["format"] = node["format"]
    if "const" in node:
        out["enum"] = [node["const"]]
    if "items" in node:
        out["items"] = _structural(node["items"], defs)
    if "properties" in node:
        out["properties"] = {n: _structural(p, defs) for n, p in node["properties"].items() if p.get("not") != {}}
        if node.get("additionalProperties") is not False:
            out["x-kubernetes-preserve-unknown-fields"] = True
    elif isinstance(others := node.get("additionalProperties"), Mapping):
        out["additionalProperties"] = _structural(others, defs)
    return out


def _resolved(node: Mapping[str, Any], defs: Mapping[str, Any]) -> Mapping[str, Any]:
    if "$ref" not in node:
        return node
    target = _resolved(defs[node["$ref"].removeprefix("#/$defs/")], defs)
    return {**target, **{k: v for k, v in node.items() if k != "$ref"}}


def _type(node: Mapping[str, Any]) -> Document:
    if node["type"] == ["string", "integer"]:
        return {"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": True}
    return {"type": node["type"]}
