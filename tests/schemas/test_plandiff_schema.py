"""The schema of differences: exactly what the compiler writes, change by change, and what the command prints."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import schemas
from compiler import changes
from compiler.changes import Change, Cost, Pace, RegistryChange, ResourceChange, Setting
from compiler.diff import Diff
from compiler.duration import MINUTE, SECOND
from compiler.plan import DefaultPace, LapForecast, Operation
from compiler.render import yaml
from compiler.source.parse import parse
from runtime.cli.main import main

Refused = Callable[[str, Any], list[str]]

CHECK, COPY = Operation.CHECK, Operation.COPY
MONITOR, MIRROR = "ImageMonitor/all", "ImageMirror/prod"
A, B = "quay.io/team/a:1", "quay.io/team/b:1"
OWN, DEFAULT = "registries.quay.io.check.interval", "registries.default.check.interval"

CHANGES: list[Change] = [
    changes.SupersetChanges("", superset=True),
    changes.HostAppears("quay.io", SECOND, MINUTE),
    changes.HostGoes("quay.io"),
    changes.SeriesRestarts("quay.io", CHECK, Pace(SECOND, DEFAULT, clusters=2), Pace(3 * SECOND, OWN, clusters=3)),
    changes.TimeoutChanges("quay.io", COPY, 0, MINUTE),
    changes.OriginMoves("quay.io", CHECK, DEFAULT, OWN),
    *(changes.SettingChanges("quay.io", setting, "none", "/a.pem") for setting in Setting),
    changes.DefaultChanges("", DefaultPace(), DefaultPace(check_interval=MINUTE)),
    changes.OwnerJoins("quay.io", CHECK, MONITOR, (A, B), shared=1, suspended=True),
    changes.OwnerJoins("quay.io", COPY, MIRROR, (A,)),
    changes.OwnerLeaves("quay.io", CHECK, MONITOR, (A,)),
    changes.ImagesChange("quay.io", CHECK, MONITOR, (A,), (B,), (), 1, 1),
    changes.ImagesChange("quay.io", COPY, MIRROR, (), (), (A,), 1, 1),
    changes.OrderChanges("quay.io", COPY, MIRROR),
    changes.OwnerSuspends("quay.io", CHECK, MONITOR, suspended=False),
    changes.AccessChanges("quay.io", CHECK, MONITOR, (A,), (B,)),
    changes.AccessChanges("quay.io", CHECK, MONITOR, (A,), ()),
    changes.WindowsChange("quay.io", 0, 1440),
    changes.LapChanges("quay.io", LapForecast(MONITOR, SECOND, MINUTE), LapForecast(MONITOR, SECOND, 2 * MINUTE)),
    changes.DrainChanges("quay.io", MINUTE, None),
    changes.DrainChanges("quay.io", None, MINUTE),
]


def kinds_of_code(base: type[Change]) -> set[str]:
    """Give the names of the kinds of change below a type, whether or not anything exports them."""
    own = {base.kind} if "kind" in vars(base) else set()
    return own.union(*map(kinds_of_code, base.__subclasses__()))


def of(base: type[Change]) -> list[Any]:
    return [change for change in CHANGES if isinstance(change, base)]


def document(found: Change | None = None) -> dict[str, Any]:
    """Give the document of one change, or that of all."""
    groups = [of(base) if found is None else [found] * isinstance(found, base) for base in BASES.values()]
    return Diff(*map(tuple, groups), unchanged=(("quay.io", COPY),)).to_document()


BASES = {"registries": RegistryChange, "resources": ResourceChange, "costs": Cost}
DEFINITIONS = {"registries": "registryChange", "resources": "resourceChange", "costs": "cost"}


def kinds(group: str) -> dict[str, Mapping[str, Any]]:
    """Give the schemas of a group's changes by the name of the change."""
    defs = schemas.load("plandiff")["$defs"]
    nodes = [defs[one["$ref"].removeprefix("#/$defs/")] for one in defs[DEFINITIONS[group]]["oneOf"]]
    return {node["properties"]["change"]["const"]: node for node in nodes}


@pytest.mark.parametrize("group", BASES)
def test_the_schema_knows_every_kind_of_change(group: str) -> None:
    assert kinds_of_code(BASES[group]) == set(kinds(group))


def test_every_kind_of_change_is_shown_here() -> None:
    assert kinds_of_code(Change) == {change.kind for change in CHANGES}


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.kind)
def test_what_is_written_is_accepted(change: Change, refused: Refused) -> None:
    assert [] == refused("plandiff", document(change))


def test_no_difference_is_accepted(refused: Refused) -> None:
    assert [] == refused("plandiff", Diff().to_document())


def fields(value: Any, path: str = "") -> Iterator[str]:
    for key, item in value.items() if isinstance(value, dict) else ():
        yield f"{path}.{key}"
        yield from fields(item, f"{path}.{key}")


def fields_of_schema(node: Mapping[str, Any], path: str = "") -> Iterator[str]:
    node = {**schemas.load("plandiff")["$defs"].get(node.get("$ref", "").removeprefix("#/$defs/"), {}), **node}
    for key, child in node.get("properties", {}).items():
        yield f"{path}.{key}"
        yield from fields_of_schema(child, f"{path}.{key}")


@pytest.mark.parametrize("group, kind", [(group, kind) for group in BASES for kind in kinds(group)])
def test_the_schema_names_exactly_the_fields_that_are_written(group: str, kind: str) -> None:
    written = {field for change in CHANGES if change.kind == kind for field in fields(change.to_document())}

    assert set(fields_of_schema(kinds(group)[kind])) == written


def test_every_setting_is_in_the_schema() -> None:
    assert [*Setting] == kinds("registries")["setting-changes"]["properties"]["setting"]["enum"]


@pytest.mark.parametrize("group, kind", [(group, kind) for group in BASES for kind in kinds(group)])
def test_every_kind_says_what_it_does_to_the_windows(group: str, kind: str) -> None:
    assert kinds(group)[kind]["x-windows"].endswith(".")


@pytest.mark.rule("H3")
@pytest.mark.rule("H6")
def test_h3_h6_only_a_restart_moves_windows_of_a_host_that_stays() -> None:
    of_windows = {**kinds("registries"), **kinds("resources")}
    others = {kind for kind, node in of_windows.items() if not node["x-windows"].startswith("None moves")}

    assert {"series-restarts", "host-appears", "host-goes"} == others


@pytest.mark.parametrize(
    "path, value",
    [
        (("kind",), "WindowPlan"),
        (("apiVersion",), "v1"),
        (("summary",), ""),
        (("generated",), "2026-01-01T00:00:00Z"),
        (("registries", 0, "change"), "owner-joins"),
        (("registries", 0, "host"), "quay.io"),
        (("registries", 1, "check"), 60),
        (("registries", 3, "after", "from"), None),
        (("registries", 3, "operation"), "Read"),
        (("registries", 6, "setting"), "colour"),
        (("resources", 0, "owner"), "ImageAlternative/a"),
        (("resources", 3, "gained"), []),
        (("resources", 7, "operation"), "Copy"),
        (("resources", 7), {}),
        (("costs", 0, "after"), -1),
        (("costs", 1, "before"), "1m0s"),
        (("unchanged", 0, "operation"), "Both"),
        (("plan",), {"kind": "WindowPlan"}),
    ],
    ids=str,
)
def test_another_document_is_refused(path: tuple[Any, ...], value: Any, refused: Refused) -> None:
    changed = copy.deepcopy(document())
    parent: Any = changed
    for step in path[:-1]:
        parent = parent[step]
    parent[path[-1]] = value

    assert [] == refused("plandiff", document())
    assert refused("plandiff", changed) != []


def test_images_that_change_must_come_go_or_move(refused: Refused) -> None:
    change = {**changes.ImagesChange("quay.io", CHECK, MONITOR, (A,), (), (), 0, 1).to_document()}
    del change["gained"]

    assert refused("plandiff", {**Diff().to_document(), "resources": [change]}) != []


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_what_the_command_prints_is_accepted(
    form: str, root: Path, capsys: pytest.CaptureFixture[str], refused: Refused
) -> None:
    folder = root / "golden" / "against-a-team-that-joins"
    inputs = [word for file in ("team-a.yaml", "team-b.yaml") for word in ("-f", str(folder / file))]
    arguments = ["plan", "-c", str(folder / "config.yaml"), *inputs, "--against", str(folder / "against.yaml")]
    assert main([*arguments, "-o", form]) == 0
    printed = capsys.readouterr().out
    (piece,) = parse(printed)

    assert {"summary", "plan"} <= set(piece.value)
    assert [] == refused("plandiff", piece.value)


def test_the_schema_stands_alone_when_it_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema", "plandiff"]) == 0
    assert schemas.load("plan") == json.loads(capsys.readouterr().out)["$defs"]["plan"]


def test_a_written_document_reads_the_same_as_yaml() -> None:
    (piece,) = parse(yaml.dump(document()))

    assert document() == piece.value
