"""Every field of the configuration and of the three kinds is in some golden case, and every value of a choice."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import schemas
from compiler.source import Text, flatten, read_documents

KINDS = ("ImageAlternative", "ImageMirror", "ImageMonitor")
DERIVED = {"plan.yaml", "plan.md", "plan.txt", "diagnostics.txt", "against.yaml"}


def resolved(node: Any, schema: Any, path: str) -> tuple[Any, str]:
    """Follow a reference; what is below it is named by the definition, for it is the same wherever it is used."""
    while "$ref" in node:
        path = node["$ref"].rsplit("/", 1)[-1]
        node = schema["$defs"][path]
    return node, path


def parts(node: Any) -> Iterator[tuple[str, Any]]:
    """Give what may stand below a node: fields by name, entries of a list and of a map."""
    yield from ((f".{name}", below) for name, below in node.get("properties", {}).items())
    if "items" in node:
        yield "[]", node["items"]
    if isinstance(node.get("additionalProperties"), dict):
        yield ".*", node["additionalProperties"]


def fields(node: Any, schema: Any, path: str) -> Iterator[str]:
    """Give the path of every field that can be written, and of every value of a choice."""
    if "x-not-built" in node or "x-unsupported" in node:
        return
    yield path
    node, path = resolved(node, schema, path)
    yield from (f"{path}={value}" for value in node.get("enum", ()))
    for step, below in parts(node):
        yield from fields(below, schema, path + step)


def used(value: Any, node: Any, schema: Any, path: str) -> Iterator[str]:
    """Give the same for what a document writes."""
    yield path
    node, path = resolved(node, schema, path)
    yield f"{path}={value}"
    for step, below in parts(node):
        if step == "[]" and isinstance(value, list):
            entries = value
        elif isinstance(value, dict):
            named = set(node.get("properties", {}))
            entries = [v for k, v in value.items() if f".{k}" == step or (step == ".*" and k not in named)]
        else:
            entries = []
        for entry in entries:
            yield from used(entry, below, schema, path + step)


@pytest.fixture(scope="module")
def written(root: Path) -> set[str]:
    """Give what all cases write; a mistake shows a field as well."""
    found = set[str]()
    for path in sorted((root / "golden").glob("*/**/*.*")):
        if path.suffix not in {".yaml", ".json"} or path.name in DERIVED:
            continue
        for document in read_documents(Text(path.name, path.read_text(encoding="utf-8")))[0]:
            if path.name == "config.yaml":
                found |= set(used(document.value, schemas.load("config"), schemas.load("config"), "config"))
            for item in flatten(document):
                if item.kind in KINDS:
                    schema = schemas.load(item.kind.lower())
                    spec = item.value.get("spec")
                    found |= set(used(spec, schema["properties"]["spec"], schema, item.kind))
    return found


def test_every_field_of_the_configuration_is_in_a_case(written: set[str]) -> None:
    schema = schemas.load("config")

    assert set() == set(fields(schema, schema, "config")) - written


@pytest.mark.parametrize("kind", KINDS)
def test_every_field_of_a_kind_is_in_a_case(kind: str, written: set[str]) -> None:
    schema = schemas.load(kind.lower())

    assert set() == set(fields(schema["properties"]["spec"], schema, kind)) - written
