"""The CustomResourceDefinitions: computed from the JSON Schemas, committed, and what an API server asks for."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

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
