"""From the JSON Schema of a kind to its CustomResourceDefinition.

A CustomResourceDefinition holds a *structural* schema, a small part of JSON Schema: no references, one type a value, no
``additionalProperties`` beside ``properties``. So, on the way:

- references are written out, with what stands beside them on top;
- text or the integer 0 (a duration) becomes int-or-string;
- a closed object needs no mark: the API server prunes what it doesn't know, and refuses it under strict validation;
  an open one (status) is marked to keep it, because server-side apply fails on a field that the schema lacks, and
  a newer kuik must be able to write its status where the definitions are still the old ones;
- what the compiler alone can judge goes: kuik's own formats (their patterns stay), the spelling of keys, and
  properties that are there only to be refused.

There are no CEL rules: the kubectl of a 1.20 refuses such definitions.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any, Final, TypeAlias

from schemas.names import NAMES, Column

__all__ = ["Document", "definition"]

Document: TypeAlias = dict[str, Any]
Node: TypeAlias = Mapping[str, Any]

GROUP: Final = "kuik.enix.io"
VERSION: Final = "v1alpha1"

# taken over as they are; in this order they are read best. The formats of OpenAPI that kuik uses: date-time
_KEPT: Final = (
    "enum",
    "pattern",
    "minLength",
    "maxLength",
    "minimum",
    "maximum",
    "minItems",
    "default",
    "x-kubernetes-list-type",
    "x-kubernetes-list-map-keys",
    "required",
)
_OPENAPI_FORMATS: Final = frozenset({"date-time"})


def definition(schema: Node) -> Document:
    """Compute the CustomResourceDefinition of a kind from its JSON Schema; the two share no part."""
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
                    "additionalPrinterColumns": [_column(column) for column in names.columns],
                    "schema": {"openAPIV3Schema": _root(schema)},
                }
            ],
        },
    }


def _column(column: Column) -> Document:
    priority = {"priority": column.priority} if column.priority else {}
    described = {"name": column.name, "type": column.type, "description": column.description}
    return {**described, **priority, "jsonPath": column.path}


def _root(schema: Node) -> Document:
    """Give the schema of the whole object; the API server itself judges apiVersion, kind and metadata."""
    properties = schema["properties"]
    required = [name for name in schema["required"] if name == "spec"]
    return {
        "description": schema["description"],
        "type": "object",
        **({"required": required} if required else {}),
        "properties": {
            "apiVersion": {"description": properties["apiVersion"]["description"], "type": "string"},
            "kind": {"description": properties["kind"]["description"], "type": "string"},
            "metadata": {"type": "object"},  # anything more is forbidden
            "spec": _structural(properties["spec"], schema["$defs"]),
            "status": _structural(properties["status"], schema["$defs"]),
        },
    }


def _structural(node: Node, definitions: Node) -> Document:
    node = _resolved(node, definitions)
    out: Document = {"description": node["description"], **_type(node)}
    out |= {key: deepcopy(node[key]) for key in _KEPT if key in node}
    if "items" in node:
        out["items"] = _structural(node["items"], definitions)
    others = node.get("additionalProperties")
    if "properties" in node:
        out["properties"] = {
            name: _structural(child, definitions) for name, child in node["properties"].items() if "not" not in child
        }
        if others is not False:
            out["x-kubernetes-preserve-unknown-fields"] = True
    elif isinstance(others, Mapping):
        out["additionalProperties"] = _structural(others, definitions)
    return out


def _resolved(node: Node, definitions: Node) -> Node:
    if "$ref" not in node:
        return node
    target = _resolved(definitions[node["$ref"].removeprefix("#/$defs/")], definitions)
    return {**target, **node}


def _type(node: Node) -> Document:
    if node["type"] == ["string", "integer"]:
        return {"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": True}
    known = {"format": node["format"]} if node.get("format") in _OPENAPI_FORMATS else {}
    return {"type": node["type"], **known}
