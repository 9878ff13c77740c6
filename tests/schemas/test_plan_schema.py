"""The schema of the plan: exactly what the compiler writes, and page 2's example."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest

import schemas
from compiler.duration import MINUTE, SECOND
from compiler.plan import (
    CheckForecast,
    CheckSeries,
    Copy,
    CopyForecast,
    CopySeries,
    DefaultPace,
    FallbackAuth,
    HostPlan,
    LapForecast,
    Plan,
    Queue,
    Ring,
    without_forecasts,
)
from compiler.plan_document import from_document, to_document

Refused = Callable[[str, Any], list[str]]

PAGE_2: dict[str, Any] = {
    "apiVersion": "kuik.enix.io/v1alpha1",
    "kind": "WindowPlan",
    "hosts": [
        {
            "host": "docker.io",
            "check": {
                "interval": "1m0s",
                "timeout": "10s",
                "from": "registries.docker.io.check.interval",
                "rings": [
                    {"owner": "ImageMirror/prod", "images": ["docker.io/library/nginx:1.27"]},
                    {
                        "owner": "ImageMonitor/all",
                        "images": ["docker.io/library/nginx:1.27", "docker.io/library/redis:7"],
                    },
                ],
                "forecast": {
                    "windowsPerDay": 1440,
                    "requests": 2,
                    "laps": [
                        {"owner": "ImageMirror/prod", "bestCase": "1m0s", "expected": "2m0s"},
                        {"owner": "ImageMonitor/all", "bestCase": "2m0s", "expected": "2m0s"},
                    ],
                },
            },
            "copy": {
                "interval": "10m0s",
                "timeout": "0s",
                "from": "registries.docker.io.copy.interval",
                "queues": [
                    {
                        "owner": "ImageMirror/prod",
                        "images": [
                            {
                                "image": "docker.io/library/nginx:1.27",
                                "to": "registry.tld/mirror/docker.io/library/nginx:1.27_cluster-a",
                            }
                        ],
                    }
                ],
                "forecast": {"drain": "10m0s"},
            },
        }
    ],
}


RING = Ring(
    "ImageMonitor/all", ("quay.io/a/b:1",), suspended=True, auth=(("quay.io/a/b:1", "s"),), insecure=("quay.io/a/b:1",)
)
QUEUE = Queue("ImageMirror/prod", (Copy("quay.io/a/b:1", "r.tld/m/quay.io/a/b:1", "kuik-sha256-a"),), suspended=True)
EVERYTHING = Plan(
    superset=True,
    default=DefaultPace(check_interval=MINUTE),
    hosts=(
        HostPlan(
            host="quay.io",
            check=CheckSeries(
                interval=SECOND,
                timeout=SECOND,
                origin="registries.default.check.interval",
                rings=(RING,),
                forecast=CheckForecast(86400, 1, (LapForecast("ImageMonitor/all", SECOND, SECOND),)),
            ),
            copy=CopySeries(SECOND, 0, "built-in default", (QUEUE,), CopyForecast(SECOND)),
            clusters=2,
            suspended=True,
            insecure=True,
            ca_file="/etc/ca.pem",
            auth=(FallbackAuth("/", "s"),),
        ),
    ),
)
NEVER_DRAINS = replace(EVERYTHING.hosts[0].copy, forecast=CopyForecast(None))
PLANS = [Plan(), EVERYTHING, without_forecasts(EVERYTHING), Plan((replace(EVERYTHING.hosts[0], copy=NEVER_DRAINS),))]


def test_the_plan_of_page_2_is_accepted(refused: Refused) -> None:
    assert [] == refused("plan", PAGE_2)


@pytest.mark.parametrize("plan", PLANS, ids=["empty", "everything", "no forecast", "never drains"])
def test_what_is_written_is_accepted_and_reads_back(plan: Plan, refused: Refused) -> None:
    document = to_document(plan)

    assert [] == refused("plan", document)
    assert plan == from_document(document)


def fields_of_schema(node: Mapping[str, Any], path: str = "") -> Iterator[str]:
    if "$ref" in node:
        node = schemas.load("plan")["$defs"][node["$ref"].rpartition("/")[2]]
    for key, child in node.get("properties", {}).items():
        yield f"{path}.{key}"
        yield from fields_of_schema(child, f"{path}.{key}")
    if "items" in node:
        yield from fields_of_schema(node["items"], path)


def fields_of_document(value: Any, path: str = "") -> Iterator[str]:
    if isinstance(value, list):
        for item in value:
            yield from fields_of_document(item, path)
    elif isinstance(value, dict) and path != ".hosts.check.rings.auth":  # a map by image
        for key, item in value.items():
            yield f"{path}.{key}"
            yield from fields_of_document(item, f"{path}.{key}")


def test_the_schema_names_exactly_the_fields_that_are_written() -> None:
    assert set(fields_of_schema(schemas.load("plan"))) == set(fields_of_document(to_document(EVERYTHING)))


@pytest.mark.parametrize(
    "path, value",
    [
        (("kind",), "Plan"),
        (("apiVersion",), "v1"),
        (("hosts",), {}),
        (("generated",), "2026-01-01T00:00:00Z"),
        (("digests",), {"pace": "sha256:0"}),
        (("hosts", 0, "check", "interval"), 60),
        (("hosts", 0, "check", "interval"), "1 minute"),
        (("hosts", 0, "check", "rings", 0, "owner"), "ImageAlternative/a"),
        (("hosts", 0, "copy", "queues", 0, "images", 0, "from"), "a"),
        (("hosts", 0, "copy", "forecast", "drain"), 600),
    ],
    ids=str,
)
def test_another_document_is_refused(path: tuple[Any, ...], value: Any, refused: Refused) -> None:
    document = json.loads(json.dumps(PAGE_2))
    parent = document
    for step in path[:-1]:
        parent = parent[step]
    parent[path[-1]] = value

    assert refused("plan", document) != []
