"""The CustomResourceDefinitions: computed from the JSON Schemas, structural, and of one mind with them."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

import schemas
from compiler.render import yaml

Node = Mapping[str, Any]
CRDS = {crd["spec"]["names"]["kind"]: crd for crd in schemas.crds()}
KINDS = {schemas.load(name)["title"]: name for name in schemas.KINDS}


def openapi(kind: str) -> dict[str, Any]:
    schema: dict[str, Any] = CRDS[kind]["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return schema


def nodes(node: Node, path: str = "") -> Iterator[tuple[str, Node]]:
    yield path, node
    for name, child in node.get("properties", {}).items():
        yield from nodes(child, f"{path}.{name}")
    for keyword in ("items", "additionalProperties"):
        if isinstance(child := node.get(keyword), Mapping):
            yield from nodes(child, f"{path}[]")


@pytest.fixture(params=sorted(KINDS))
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


# what is committed


def test_the_committed_definition_is_the_computed_one(kind: str, root: Path) -> None:
    path = root / "schemas" / "crds" / f"kuik.enix.io_{CRDS[kind]['spec']['names']['plural']}.yaml"
    expected = yaml.dump(CRDS[kind])
    if os.environ.get("KUIK_GOLDEN") == "rewrite":
        path.write_text(expected, encoding="utf-8")

    assert expected == path.read_text(encoding="utf-8")


def test_no_other_definition_is_committed(root: Path) -> None:
    files = {path.name for path in (root / "schemas" / "crds").iterdir()}

    assert {f"kuik.enix.io_{crd['spec']['names']['plural']}.yaml" for crd in CRDS.values()} == files


def test_whoever_changes_a_definition_changes_no_schema() -> None:
    before = json.dumps(schemas.load("imagemonitor"))
    for _, node in nodes(schemas.crds()[0]["spec"]["versions"][0]["schema"]["openAPIV3Schema"]):
        for value in node.values():
            if isinstance(value, list):
                value.clear()

    assert before == json.dumps(schemas.load("imagemonitor"))


# what an API server asks of a definition


def test_it_is_named_as_the_api_server_asks(kind: str) -> None:
    crd = CRDS[kind]
    names = crd["spec"]["names"]

    assert f"{names['plural']}.kuik.enix.io" == crd["metadata"]["name"]
    assert kind.lower() == names["singular"]
    assert "Cluster" == crd["spec"]["scope"]


def test_no_two_kinds_share_a_name() -> None:
    taken = [n for crd in CRDS.values() for n in (crd["spec"]["names"]["plural"], *crd["spec"]["names"]["shortNames"])]

    assert sorted(set(taken)) == sorted(taken)


def test_it_is_structural(kind: str) -> None:
    for path, node in nodes(openapi(kind)):
        assert isinstance(node.get("type", "absent"), str), path
        assert ("type" in node) != node.get("x-kubernetes-int-or-string", False), path
        assert not {"$ref", "$defs", "const", "propertyNames", "not", "x-kubernetes-validations"} & node.keys(), path
        assert not {"properties", "additionalProperties"} <= node.keys(), path
        assert "items" in node or node.get("type") != "array", path


def test_metadata_is_left_to_the_api_server(kind: str) -> None:
    assert {"type": "object"} == openapi(kind)["properties"]["metadata"]


def test_status_keeps_what_a_newer_version_wrote_and_spec_keeps_nothing_unknown(kind: str) -> None:
    for path, node in nodes(openapi(kind)):
        if "properties" in node and path:
            assert path.startswith(".status") == node.get("x-kubernetes-preserve-unknown-fields", False), path


def test_every_field_is_described_for_kubectl_explain(kind: str) -> None:
    assert [".metadata"] == [path for path, node in nodes(openapi(kind)) if "description" not in node]


def test_every_column_shows_something_that_exists(kind: str) -> None:
    columns = CRDS[kind]["spec"]["versions"][0]["additionalPrinterColumns"]
    known = {path: node.get("type") for path, node in nodes(openapi(kind))}
    conditions = schemas.load(KINDS[kind])["properties"]["status"]["properties"]["conditions"]["x-conditions"]
    for column in columns:
        condition = re.fullmatch(r'\.status\.conditions\[\?\(@\.type=="(\w+)"\)\]\.status', column["jsonPath"])
        if condition:
            assert condition[1] in conditions
        elif column["jsonPath"] != ".metadata.creationTimestamp":
            assert column["type"] == known[column["jsonPath"]], column["name"]


# one mind: what the JSON Schema takes, the definition takes, and the other way round


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


TEXTS = [
    "",
    "0",
    "24h",
    "-1h",
    "quay.io/a/",
    "quay.io/a:1",
    "a b",
    "linux/arm64",
    "Team/x",
    "stage",
    "x" * 64,
    "2026-01-01T00:00:00Z",
]
JUNK = st.sampled_from([None, True, 0, 30, -1, 1.5, [], {}, [None], {"a": 1}, {"unknown": {}}, *TEXTS])


def values(node: Node, definitions: Node) -> st.SearchStrategy[Any]:
    """Give values that mostly fit a schema; a text need not fit its pattern."""
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
            return st.lists(values(node["items"], definitions), max_size=2)
        case "boolean":
            return st.booleans()
        case "integer":
            return st.integers(-1, 2)
    return st.sampled_from([*TEXTS, 0, 1] if isinstance(node.get("type"), list) else TEXTS)


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Give every place of a document as (container, key)."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in pairs:
        yield value, key
        yield from places(child)


@st.composite
def objects(draw: st.DrawFn, schema: Node) -> Any:
    """Draw an object that fits, and then do to it what people do: another type, a misspelt field, a field left out."""
    value = draw(values(judged_by_both(schema), schema["$defs"]))
    for _ in range(draw(st.integers(0, 2))):
        found = list(places(value))
        if found:
            container, key = draw(st.sampled_from(found))
            if draw(st.booleans()):
                container[key] = draw(JUNK)
            elif isinstance(container, dict):
                container.pop(key)
    return value


def complaints(schema: Node, value: Any) -> list[str]:
    return [f"{error.json_path}: {error.message}" for error in Draft202012Validator(schema).iter_errors(value)]


@pytest.mark.parametrize("name", schemas.KINDS)
@given(data=st.data())
def test_both_take_and_refuse_the_same(name: str, data: st.DataObject) -> None:
    schema = schemas.load(name)
    value = data.draw(objects(schema))
    ours = complaints(judged_by_both(schema), value)
    theirs = complaints(strict(openapi(schema["title"])), value)

    assert bool(ours) is bool(theirs), f"JSON Schema: {ours}, definition: {theirs}"


@pytest.mark.parametrize("name", schemas.KINDS)
def test_both_have_the_same_defaults(name: str) -> None:
    """A default that is persisted must be the one that the compiler takes when the field is left out."""
    schema = schemas.load(name)

    def defaults(node: Node, path: str = "") -> Iterator[tuple[str, Any]]:
        target = schema["$defs"][node["$ref"].removeprefix("#/$defs/")] if "$ref" in node else {}
        node = {**target, **node}
        if "default" in node:
            yield path, node["default"]
        for key, child in node.get("properties", {}).items():
            yield from defaults(child, f"{path}.{key}")
        if "items" in node:
            yield from defaults(node["items"], f"{path}[]")

    theirs = {path: node["default"] for path, node in nodes(openapi(schema["title"])) if "default" in node}
    assert dict(defaults(schema)) == theirs
