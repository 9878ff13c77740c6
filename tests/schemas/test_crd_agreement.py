"""The JSON Schemas and the CustomResourceDefinitions are of one mind: both take and refuse the same objects."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

import schemas

Node = Mapping[str, Any]


def strict(node: Node) -> dict[str, Any]:
    """Give a structural schema as JSON Schema: fieldValidation Strict refuses what would be pruned."""
    out = {k: v for k, v in node.items() if not k.startswith("x-")}
    if "properties" in node:
        out["properties"] = {name: strict(child) for name, child in node["properties"].items()}
        if not node.get("x-kubernetes-preserve-unknown-fields"):
            out["additionalProperties"] = False
    for keyword in ("items", "additionalProperties"):
        if isinstance(child := node.get(keyword), Mapping):
            out[keyword] = strict(child)
    return out


def judged_by_both(schema: Node) -> dict[str, Any]:
    """Give the part of a JSON Schema that the definition takes over.

    The API server itself judges apiVersion, kind and metadata; the spelling of a label's key, only the compiler.
    """

    def without_keys(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {k: without_keys(v) for k, v in value.items() if k != "propertyNames"}
        return value

    properties = {name: schema["properties"][name] for name in ("spec", "status")}
    required = [name for name in schema["required"] if name in properties]
    both = {**schema, "required": required, "properties": properties}
    judged: dict[str, Any] = without_keys({k: v for k, v in both.items() if k not in {"$id", "title"}})
    return judged


FITTING = {
    "go-duration": ["24h", "1h30m", "0", 0],
    "image-prefix": ["quay.io/team/", "quay.io/team/app"],
    "repository-path": ["registry.tld/mirror"],
    "image-glob": ["quay.io/**"],
    "label-key": ["app", "app.kubernetes.io/name"],
    "label-value": ["web", ""],
    "dns-subdomain": ["creds"],
    "platform": ["linux/arm64"],
    "date-time": ["2026-01-01T00:00:00Z"],
    None: ["quay.io/team/app:1", "Reason"],
}
JUNK = [None, True, 0, 1, 30, -1, 1.5, [], {}, [None], {"a": 1}, "", "-1h", "a b", "Team/x", "quay.io/a:1", "x" * 600]


def values(node: Node, definitions: Node) -> st.SearchStrategy[Any]:
    """Give values that fit a schema."""
    if "$ref" in node:
        return values(definitions[node["$ref"].removeprefix("#/$defs/")], definitions)
    if "enum" in node:
        return st.sampled_from(node["enum"])
    match node.get("type"):
        case "object" if "properties" in node:
            fields = {
                name: values(child, definitions) for name, child in node["properties"].items() if "not" not in child
            }
            required = {name: fields.pop(name) for name in node.get("required", ()) if name in fields}
            return st.fixed_dictionaries(required, optional=fields)
        case "object":
            return st.dictionaries(st.sampled_from(["app", "a.b/c"]), values(node["additionalProperties"], definitions))
        case "array":
            return st.lists(values(node["items"], definitions), min_size=node.get("minItems", 0), max_size=2)
        case "boolean":
            return st.booleans()
        case "integer":
            return st.integers(node.get("minimum"), node.get("maximum"))
    return st.sampled_from(FITTING[node.get("format")])


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Give every place of a document as (container, key)."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in pairs:
        yield value, key
        yield from places(child)


def spoilt(value: Any) -> Iterator[tuple[str, Any]]:
    """Give an object with one thing wrong, for every place and what people do there: another value, a misspelling."""
    for number, (container, key) in enumerate(places(value)):
        for junk in JUNK:
            copy = json.loads(json.dumps(value))
            twin, _ = list(places(copy))[number]
            twin[key] = junk
            yield f"{key} is {junk!r:.20}", copy
        if isinstance(container, dict):
            yield from _without(value, number, key)


def _without(value: Any, number: int, key: str) -> Iterator[tuple[str, Any]]:
    for instead in ((), (f"{key}s",)):
        copy = json.loads(json.dumps(value))
        twin, _ = list(places(copy))[number]
        moved = twin.pop(key)
        twin.update(dict.fromkeys(instead, moved))
        yield f"{key} gives way to {instead}", copy


def full(node: Node, definitions: Node) -> Any:
    """Give a value with everything that a schema knows, each list with one entry."""
    if "$ref" in node:
        return full(definitions[node["$ref"].removeprefix("#/$defs/")], definitions)
    match node.get("type"):
        case "object" if "properties" in node:
            return {name: full(child, definitions) for name, child in node["properties"].items() if "not" not in child}
        case "object":
            return {"app": full(node["additionalProperties"], definitions)}
        case "array":
            return [full(node["items"], definitions)]
        case "boolean":
            return True
        case "integer":
            return 0
    return node["enum"][0] if "enum" in node else FITTING[node.get("format")][0]


def complaints(validator: Draft202012Validator, value: Any) -> list[str]:
    return [f"{error.json_path}: {error.message}" for error in validator.iter_errors(value)]


def openapi(name: str) -> Node:
    crd = schemas.crds()[schemas.KINDS.index(name)]
    node: Node = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return node


def both(name: str) -> tuple[Draft202012Validator, Draft202012Validator]:
    schema = schemas.load(name)
    return Draft202012Validator(judged_by_both(schema)), Draft202012Validator(strict(openapi(name)))


@pytest.mark.parametrize("name", schemas.KINDS)
@given(data=st.data())
def test_both_take_what_fits(name: str, data: st.DataObject) -> None:
    ours, theirs = both(name)
    value = data.draw(values(judged_by_both(schemas.load(name)), schemas.load(name)["$defs"]))

    assert ([], []) == (complaints(ours, value), complaints(theirs, value))


@pytest.mark.parametrize("name", schemas.KINDS)
def test_both_take_and_refuse_the_same_mistakes(name: str) -> None:
    ours, theirs = both(name)
    everything = full(judged_by_both(schemas.load(name)), schemas.load(name)["$defs"])
    refused = 0
    for what, value in spoilt(everything):
        taken = ours.is_valid(value)
        refused += not taken
        assert taken is theirs.is_valid(value), (what, complaints(ours, value), complaints(theirs, value))

    assert refused > 100
