"""The reference tables of the pages are made from the schemas: nothing is missing, and no default is out of date.

A page marks the place of a table by the two lines ``<!-- fields NAME AT -->``, AT being a path in the schema,
``<!-- conditions NAME -->``, ``<!-- changes NAME LIST -->`` or ``<!-- facts NAME LIST -->``, and ``<!-- end -->``.
``make golden`` rewrites what stands between them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import schemas
from compiler.compilation import Compilation, compile_plan
from compiler.diagnostics import Severity
from compiler.diff import diff
from compiler.plan_document import to_document
from compiler.reading import read_plan
from compiler.render import yaml
from compiler.source import Text
from runtime.simulation import forecast

Node = Mapping[str, Any]

PAGES = {
    "config": "configuration.md",
    **{name: f"{name}.md" for name in schemas.KINDS},
    "plan": "plan.md",
    "plandiff": "plan.md",
}
TABLE = re.compile(r"(<!-- (fields|conditions|changes|facts) (\w+) ?(\S*) -->\n).*?(<!-- end -->)", re.DOTALL)

# what has a table of its own, once a page; everything else is written out where it stands
APART = {
    "labelSelector": "[label selector](#label-selectors)",
    "auth": "[credential](#credentials)",
    "limiter": "[limiter](#limiters)",
    "registryChange": "[change](#what-changes-for-a-registry)",
    "resourceChange": "[change](#what-changes-for-a-resource)",
    "cost": "[change](#what-it-costs)",
    "plan.schema.json": "[plan](#all-fields)",
}
COMMON = ("change", "host", "operation", "owner", "reason")  # what every change says where it applies
TYPES = {
    "go-duration": "duration",
    "go-duration-positive": "duration",
    "go-delay": "duration",
    "go-interval": "duration",
    "image-glob": "glob",
    "date-time": "time",
}


def resolved(node: Node, schema: Node) -> Node:
    if "$ref" not in node:
        return node
    target = node["$ref"].removeprefix("#/$defs/").removesuffix(".schema.json")
    return {**resolved(schema["$defs"][target], schema), **node}


def apart(node: Node) -> str:
    return APART.get(node.get("$ref", "").removeprefix("#/$defs/"), "")


def type_of(node: Node, schema: Node) -> str:
    if apart(node):
        return apart(node)
    node = resolved(node, schema)
    if "not" in node:
        return "refused"
    if "items" in node:
        return f"list of {type_of(node['items'], schema)}s".replace("copys", "copies")
    if choices := node.get("enum") or ([node["const"]] if "const" in node else ()):
        return "text" if len(choices) > 3 else ", ".join(f"`{choice}`" for choice in choices)
    if isinstance(node.get("additionalProperties"), Mapping) and "properties" not in node:
        return "map"
    if node.get("format") in TYPES:
        return TYPES[node["format"]]
    return {"string": "text", "integer": "number", "boolean": "boolean"}.get(str(node["type"]), "object")


def fields(node: Node, schema: Node, path: str = "") -> Iterator[tuple[str, Node, bool]]:
    """Give every field below a node: its path, its schema, and whether it must be there."""
    node = resolved(node, schema)
    for name, child in node.get("properties", {}).items():
        at = f"{path}.{name}" if path else name
        yield at, child, name in node.get("required", ())
        yield from below(child, schema, at)
    if isinstance(others := node.get("additionalProperties"), Mapping):
        key = "host" if "properties" in node else "key"
        yield f"{path}.<{key}>", others, False
        yield from below(others, schema, f"{path}.<{key}>")


def below(node: Node, schema: Node, path: str) -> Iterator[tuple[str, Node, bool]]:
    if apart(node):
        return
    node = resolved(node, schema)
    if "items" in node:
        yield from below(node["items"], schema, f"{path}[]")
    else:
        yield from fields(node, schema, path)


def field_table(name: str, at: str) -> str:
    schema = schemas.load(name)
    node: Any = schema
    for step in filter(None, at.split("/")):
        node = node[step] if step == "$defs" or node is schema["$defs"] else node["properties"][step]
    lines = ["| field | type | default | meaning |", "| --- | --- | --- | --- |"]
    for path, child, required in fields(node, schema):
        full = resolved(child, schema)
        default = "*required*" if required else ""
        if not isinstance(full.get("default", {}), dict):
            default = f"`{str(full['default']).lower() if isinstance(full['default'], bool) else full['default']}`"
        lines.append(f"| `{path}` | {type_of(child, schema)} | {default} | {full['description']} |")
    return "\n".join(lines) + "\n"


def condition_table(name: str, _: str) -> str:
    conditions = schemas.load(name)["properties"]["status"]["properties"]["conditions"]["x-conditions"]
    lines = ["| condition | status | reason | meaning |", "| --- | --- | --- | --- |"]
    for condition, statuses in conditions.items():
        for status, reasons in statuses.items():
            lines += [f"| `{condition}` | {status} | `{reason}` | {text} |" for reason, text in reasons.items()]
    return "\n".join(lines) + "\n"


def kinds_of_change(name: str, group: str) -> dict[str, Node]:
    """Give the schemas of the changes that a list of the document may hold, by the name of the change."""
    schema = schemas.load(name)
    of_group = resolved(schema["properties"][group]["items"], schema)["oneOf"]
    return {node["properties"]["change"]["const"]: node for node in (resolved(one, schema) for one in of_group)}


def change_table(name: str, group: str) -> str:
    lines = ["| `change` | what differs | what it does to the windows |", "| --- | --- | --- |"]
    for kind, node in kinds_of_change(name, group).items():
        lines.append(f"| `{kind}` | {node['description']} | {node['x-windows']} |")
    return "\n".join(lines) + "\n"


def fact_table(name: str, group: str) -> str:
    """Tell what changes of a list say besides what all of them say; kinds that say the same share a line."""
    schema = schemas.load(name)
    facts: dict[tuple[str, str, str], list[str]] = {}
    for kind, node in kinds_of_change(name, group).items():
        for path, child, _ in fields(node, schema):
            if path not in COMMON:
                fact = (path, type_of(child, schema), resolved(child, schema)["description"])
                facts.setdefault(fact, []).append(f"`{kind}`")
    lines = ["| field | of | type | meaning |", "| --- | --- | --- | --- |"]
    lines += [f"| `{path}` | {', '.join(of)} | {form} | {text} |" for (path, form, text), of in facts.items()]
    return "\n".join(lines) + "\n"


def rewritten(page: str) -> str:
    def table(found: re.Match[str]) -> str:
        opening, what, name, at, end = found.groups()
        return opening + TABLES[what](name, at) + end

    return TABLE.sub(table, page)


TABLES = {"fields": field_table, "conditions": condition_table, "changes": change_table, "facts": fact_table}


@pytest.fixture(params=schemas.NAMES)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def page(name: str, root: Path) -> Path:
    path = root / "docs" / PAGES[name]
    if os.environ.get("KUIK_GOLDEN") == "rewrite":
        new = path.with_suffix(f".{os.getpid()}")
        new.write_text(rewritten(path.read_text(encoding="utf-8")), encoding="utf-8")
        new.replace(path)  # at once: other tests read the page at the same time
    return path


def test_the_tables_are_those_of_the_schema(page: Path) -> None:
    text = page.read_text(encoding="utf-8")

    assert rewritten(text) == text


def leaves(
    node: Node, schema: Node, path: tuple[str, ...] = (), inside: frozenset[str] = frozenset()
) -> Iterator[tuple[str, ...]]:
    """Give the names on the way to every field, by another reading of the schema than that of the tables.

    Args:
        inside: the definitions that the node is in; one may hold itself, as a limiter of limiters does.
    """
    definition = node.get("$ref", "").rpartition("/")[2]
    if definition in inside:
        return
    if definition in APART:
        path, inside = (), inside | {definition}
    node = {**schema["$defs"].get(definition, {}), **node}
    for name, child in node.get("properties", {}).items():
        yield (*path, name)
        yield from leaves(child, schema, (*path, name), inside)
    for keyword in ("items", "additionalProperties"):
        if isinstance(child := node.get(keyword), Mapping):
            yield from leaves(child, schema, path, inside)


def test_the_page_mentions_every_field(name: str, page: Path) -> None:
    schema = schemas.load(name)
    parts = [schema["properties"][part] for part in ("spec", "status")] if name in schemas.KINDS else [schema]
    spans = re.findall(r"`([^`\n]+)`", page.read_text(encoding="utf-8"))
    mentioned = {tuple(re.findall(r"[A-Za-z]\w*", re.sub(r"<\w+>", "", span))) for span in spans}

    assert set() == {path for part in parts for path in leaves(part, schema)} - mentioned


@pytest.mark.parametrize("group", ["registries", "resources", "costs"])
def test_the_page_mentions_every_kind_of_change_and_its_facts(group: str, root: Path) -> None:
    schema, text = schemas.load("plandiff"), (root / "docs" / "plan.md").read_text(encoding="utf-8")
    kinds = kinds_of_change("plandiff", group)
    facts = {path for node in kinds.values() for path, _, _ in fields(node, schema)}

    assert set() == {word for word in {*kinds, *facts} if f"`{word}`" not in text}


def test_the_page_names_every_condition_and_reason(name: str, page: Path) -> None:
    if name not in schemas.KINDS:
        return
    conditions = schemas.load(name)["properties"]["status"]["properties"]["conditions"]["x-conditions"]
    text = page.read_text(encoding="utf-8")
    words = {w for c, s in conditions.items() for w in (c, *(reason for reasons in s.values() for reason in reasons))}

    assert set() == {word for word in words if f"`{word}`" not in text}


def test_a_reason_says_one_thing_within_a_kind() -> None:
    for name in schemas.KINDS:
        conditions = schemas.load(name)["properties"]["status"]["properties"]["conditions"]["x-conditions"]
        for statuses in conditions.values():
            reasons = [reason for meanings in statuses.values() for reason in meanings]
            assert sorted(set(reasons)) == sorted(reasons)


def examples(name: str, root: Path) -> list[str]:
    page = (root / "docs" / PAGES[name]).read_text(encoding="utf-8")
    return re.findall(r"^```yaml\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)


def errors(compilation: Compilation) -> list[str]:
    return [d.message for d in compilation.diagnostics if d.severity is Severity.ERROR]


@pytest.mark.parametrize("kind", schemas.KINDS)
def test_the_example_of_a_kind_compiles(kind: str, root: Path) -> None:
    for example in examples(kind, root):
        compilation = compile_plan(None, [Text("example.yaml", example)])

        assert (1, []) == (compilation.counts.resources, errors(compilation))


def test_the_example_of_the_configuration_compiles(root: Path) -> None:
    for example in examples("config", root):
        assert [] == errors(compile_plan(Text("config.yaml", example), []))


def test_the_example_of_a_plan_is_what_kuik_writes(root: Path) -> None:
    example, _ = examples("plan", root)
    plan, complaints = read_plan(Text("plan.yaml", example))

    assert plan is not None, complaints
    assert example == yaml.dump(to_document(forecast(plan)))


def test_the_example_of_differences_is_what_kuik_writes(root: Path) -> None:
    plan, differences = examples("plan", root)
    new, _ = read_plan(Text("plan.yaml", plan))
    before = plan.replace("interval: 1m0s", "interval: 2m0s").replace("      - docker.io/library/redis:8\n", "")
    old, _ = read_plan(Text("before.yaml", before))
    assert old is not None
    assert new is not None

    assert differences == yaml.dump(diff(forecast(old), new).to_document())
