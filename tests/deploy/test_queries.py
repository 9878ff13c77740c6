"""Alerts and dashboard ask for nothing but metrics and labels that kuik has, in queries that Prometheus takes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from runtime.metrics import Metrics
from runtime.reconcile.measures import QueueMeasures, ReconcileMeasures
from tests.support.debian import Tool

Document = dict[str, Any]

METRIC = re.compile(r"\b(?:kuik|workqueue|controller_runtime)_\w+")
LABELS = re.compile(r"\b(?:by|on|without|ignoring) \(([\w, ]*)\)|(?<=[{,])\s*(\w+)\s*(?:=~|!~|!=|=)\"")
# what Prometheus adds when it scrapes a pod
OF_THE_TARGET = {"instance", "job", "namespace", "pod"}
ENDINGS = {"counter": ("_total",), "histogram": ("_bucket", "_sum", "_count"), "gauge": ("",)}


def exposed() -> set[str]:
    """Give the name of every sample that kuik may expose."""
    metrics = Metrics()
    metrics.leads(leading=True)
    metrics.collect()
    found = {f.name + e for f in text_string_to_metric_families(metrics.render().decode()) for e in ENDINGS[f.type]}
    families = (*QueueMeasures().families("", 0, 0, 0), *ReconcileMeasures().families())
    return found | {f.name.removesuffix("_total") + e for f in families for e in ENDINGS[f.type]}


def labels_known(root: Path) -> set[str]:
    """Give every label of the metrics, from the code that makes them."""
    sources = [*(root / "runtime").glob("*.py"), root / "runtime" / "reconcile" / "measures.py"]
    quoted = re.findall(r'"([a-z]+)"', "".join(path.read_text(encoding="utf-8") for path in sources))
    return {*quoted, *OF_THE_TARGET, "le"}


@pytest.fixture(scope="session")
def dashboard(deploy: Path) -> Document:
    found: Document = json.loads((deploy / "overlays" / "monitoring" / "kuik.json").read_text(encoding="utf-8"))
    return found


@pytest.fixture(scope="session")
def queries(deploy: Path, dashboard: Document) -> list[str]:
    """Every query of the dashboard, with Grafana's variables filled in, and of the alerts."""
    rules = yaml.safe_load((deploy / "overlays" / "monitoring" / "prometheus-rule.yaml").read_text(encoding="utf-8"))
    alerts = [rule["expr"] for group in rules["spec"]["groups"] for rule in group["rules"]]
    panels = [target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", ())]
    marks = [mark["expr"] for mark in dashboard["annotations"]["list"]]
    return [*alerts, *(fill_in(query) for query in (*panels, *marks))]


def fill_in(query: str) -> str:
    return query.replace("$__rate_interval", "5m").replace("$registry", ".*")


def test_every_metric_exists(queries: list[str]) -> None:
    assert set() == {name for query in queries for name in METRIC.findall(query)} - exposed()


def test_every_metric_of_ours_is_asked_for(queries: list[str]) -> None:
    """What nobody looks at is not worth its series; the time of the last reload is for people who ask."""
    asked = {re.sub(r"_(bucket|sum|count)$", "", name) for query in queries for name in METRIC.findall(query)}
    ours = {re.sub(r"_(bucket|sum|count)$", "", name) for name in exposed() if name.startswith("kuik_")}

    assert {"kuik_config_last_reload_success_timestamp_seconds"} == ours - asked


def test_every_label_exists(queries: list[str], root: Path) -> None:
    used = {name for query in queries for name in labels_in(query)}

    assert set() == used - labels_known(root)
    assert {"registry", "operation", "outcome", "kind", "name", "image", "reason", "result"} <= used


def labels_in(query: str) -> Iterator[str]:
    for listed, matched in LABELS.findall(query):
        yield from (name for name in (*re.split(r", ?", listed), matched) if name)


def test_prometheus_takes_every_query(promtool: Tool, queries: list[str], tmp_path: Path) -> None:
    rules = [{"record": f"query:number_{n}:of_them", "expr": query} for n, query in enumerate(queries)]
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump({"groups": [{"name": "queries", "rules": rules}]}))

    assert f"{len(queries)} rules found" in promtool.run("check", "rules", str(tmp_path / "rules.yaml"))


# the dashboard itself


def test_every_panel_has_a_number_and_a_place_of_its_own(dashboard: Document) -> None:
    panels = dashboard["panels"]
    taken = [
        (x, y)
        for place in (panel["gridPos"] for panel in panels)
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]

    assert len(panels) == len({panel["id"] for panel in panels})
    assert len(taken) == len(set(taken))
    assert 24 == 1 + max(x for x, _ in taken)


def test_every_panel_says_what_it_shows_and_asks_the_chosen_source(dashboard: Document) -> None:
    chosen = {"type": "prometheus", "uid": "${datasource}"}
    panels = [panel for panel in dashboard["panels"] if panel["type"] != "row"]

    assert [] == [panel["title"] for panel in panels if not panel["description"] or not panel["targets"]]
    assert [chosen] * len(panels) == [panel["datasource"] for panel in panels]
    assert {"datasource", "registry"} == {variable["name"] for variable in dashboard["templating"]["list"]}


def test_nothing_of_one_grafana_is_in_it(dashboard: Document) -> None:
    assert "id" not in dashboard
    assert "kuik" == dashboard["uid"]
    assert "__inputs" not in dashboard
