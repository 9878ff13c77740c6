"""The JSON Schemas: well formed, described throughout, and the same wherever they say the same."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

import schemas
from compiler.duration import InvalidDuration, parse_duration
from compiler.formats import FORMATS, InvalidFormat

Node = Mapping[str, Any]


def nodes(node: Node, path: str = "") -> Iterator[tuple[str, Node]]:
    """Give every part of a schema that values are held against, with a path for people."""
    yield path, node
    for keyword in ("properties", "$defs"):
        for name, child in node.get(keyword, {}).items():
            yield from nodes(child, f"{path}/{name}")
    for keyword in ("items", "additionalProperties", "propertyNames"):
        if isinstance(child := node.get(keyword), Mapping):
            yield from nodes(child, f"{path}/{keyword}")


@pytest.fixture(params=schemas.NAMES)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


# the files


def test_there_is_one_file_for_each_name(root: Path) -> None:
    files = {path.name for path in (root / "schemas").glob("*.json")}

    assert {f"{name}.schema.json" for name in schemas.NAMES} == files


def test_a_schema_is_read_once() -> None:
    assert schemas.load("plan") is schemas.load("plan")


def test_another_name_is_a_key_error() -> None:
    with pytest.raises(KeyError, match="secrets"):
        schemas.load("secrets")


def test_it_is_of_draft_2020_12(name: str) -> None:
    schema = schemas.load(name)
    Draft202012Validator.check_schema(schema)

    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["$id"].endswith(f"/v1alpha1/{name}.schema.json")


def test_every_property_is_described_by_a_sentence(name: str) -> None:
    def has_sentence(node: Node) -> bool:
        return str(node.get("description", "")).endswith(".") or "$ref" in node

    bare = [
        f"{path}/{key}"
        for path, node in nodes(schemas.load(name))
        for key, child in node.get("properties", {}).items()
        if not has_sentence(child)
    ]

    assert [] == bare


def test_every_definition_is_used(name: str) -> None:
    text = json.dumps(schemas.load(name))

    def is_used(definition: str) -> bool:
        # another file's schema is referred to by that file's name
        return any(f'"$ref": "{ref}"' in text for ref in (f"#/$defs/{definition}", f"{definition}.schema.json"))

    assert [] == [d for d in schemas.load(name).get("$defs", {}) if not is_used(d)]


def test_a_definition_is_the_same_in_every_file() -> None:
    seen: dict[str, Node] = {}
    for file, (definition, node) in ((f, d) for f in schemas.NAMES for d in schemas.load(f).get("$defs", {}).items()):
        assert node == seen.setdefault(definition, node), f"{definition} of {file}"


def test_objects_are_closed_but_for_metadata_maps_and_status(name: str) -> None:
    open_ones = {
        path
        for path, node in nodes(schemas.load(name))
        if "properties" in node and node.get("additionalProperties") is not False
    }
    # a limiter is closed by the rule of its type, which says which fields are its own
    allowed = ("/metadata", "/status", "/$defs/checks", "/checks", "/condition", "/registries", "/limiter")

    assert set() == {path for path in open_ones if not path.startswith(allowed)}


def test_every_default_fits_its_own_schema(name: str) -> None:
    schema = schemas.load(name)
    for path, node in nodes(schema):
        if "default" in node:
            probe = {**node, "$defs": schema.get("$defs", {})}
            assert [] == list(Draft202012Validator(probe).iter_errors(node["default"])), path


def test_what_stands_in_place_of_a_field_is_refused_and_that_field_is_not(name: str) -> None:
    for path, node in nodes(schemas.load(name)):
        for key, child in node.get("properties", {}).items():
            if "x-in-place-of" in child:
                assert child["not"] == {}, f"{path}/{key}"
                assert "not" not in node["properties"][child["x-in-place-of"]], f"{path}/{key}"


# formats


def test_every_format_is_one_that_the_compiler_checks(name: str) -> None:
    named = {node["format"] for _, node in nodes(schemas.load(name)) if "format" in node}

    assert set() == named - set(FORMATS) - {"date-time"}


GOOD = {
    "go-duration": ["0", "0s", "+1h", "1h30m", "500ms", "1.5s", ".5s", "1.s", "1µs", "1μs", "2562047h47m16s"],
    "go-duration-positive": ["1ns", "10s"],
    "go-delay": ["5ms", "1000s"],
    "go-interval": ["1s", "1000ms", "24h"],
    "registry-host": [
        "default",
        "docker.io",
        "Quay.IO",
        "localhost",
        "r.local:5000",
        "[::1]:5000",
        "10.0.0.1",
        "r-1.a.b:443",
    ],
    "image-prefix": [
        "nginx",
        "quay.io/a/b",
        "quay.io/a/",
        "r.local:5000/a__b/c--d.e",
        "[::1]:5000/a/",
        "docker.io/library/",
    ],
    "repository-path": ["registry.tld/mirror", "registry.tld/mirror/", "r.local:5000/m", "[::1]:5000/a/b"],
    "image-glob": ["quay.io/**", "docker.io/library/*:*-debug", "**", "[::1]:5000/**", "r.local:5000/a*b"],
    "label-key": ["app", "app.kubernetes.io/name", "A_b.c-D", "x" * 63, "9"],
    "label-value": ["", "a", "A_b.c-D", "x" * 63],
    "dns-subdomain": ["a", "dockerhub-creds", "a.b.c", "0"],
    "platform": ["linux/amd64", "linux/arm/v7", "windows/amd64", "linux/s390x"],
    "auth-prefix": ["/", "/team", "/team/", "/a/b-c/d_e"],
}


def test_the_table_of_good_values_has_every_format() -> None:
    assert set(FORMATS) == set(GOOD)


def formatted(name: str) -> Iterator[tuple[str, Node]]:
    return ((node["format"], node) for _, node in nodes(schemas.load(name)) if node.get("format") in FORMATS)


def test_a_pattern_lets_through_whatever_its_format_allows(name: str) -> None:
    for form, node in formatted(name):
        for text in GOOD[form]:
            FORMATS[form](text)
            assert [] == [*Draft202012Validator({**node, "type": ["string", "integer"]}).iter_errors(text)], form


@given(st.sampled_from(sorted(set(FORMATS) - {"go-duration"})), st.text("aA0.-_/:[]*@1smh", min_size=1, max_size=9))
def test_a_pattern_lets_through_whatever_else_its_format_allows(form: str, text: str) -> None:
    try:
        FORMATS[form](text)
    except InvalidFormat:
        return
    for node in (node for name in schemas.NAMES for known, node in formatted(name) if known == form):
        assert Draft202012Validator({"pattern": node["pattern"]}).is_valid(text)


PATTERN = schemas.load("config")["$defs"]["duration"]["pattern"]


@given(st.one_of(st.text("0123456789.+-hmsuµnx ", max_size=12), st.from_regex(PATTERN, fullmatch=True)))
def test_the_pattern_of_a_duration_is_what_go_reads(text: str) -> None:
    """Go bounds it to 64 bits and takes -0; the pattern can't and needn't."""
    try:
        read = parse_duration(text) >= 0 and not text.startswith("-")
    except InvalidDuration as error:
        read = "longer than" in str(error)

    assert read == Draft202012Validator({"pattern": PATTERN}).is_valid(text)


@pytest.mark.parametrize("form", ["go-duration", "go-duration-positive", "go-interval"])
def test_a_number_other_than_0_is_no_duration(form: str) -> None:
    for number in (30, -1, 1):
        with pytest.raises(InvalidFormat):
            FORMATS[form](number)
