"""The alerts: each fires when it should and keeps quiet when it should not, says what it means, and has a page."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.debian import Tool

Document = dict[str, Any]

SCENARIOS = Path(__file__).with_name("alerts.test.yaml")


@pytest.fixture(scope="session")
def spec(deploy: Path) -> Document:
    """The rules as Prometheus takes them."""
    path = deploy / "overlays" / "monitoring" / "prometheus-rule.yaml"
    rules: Document = yaml.safe_load(path.read_text(encoding="utf-8"))["spec"]
    return rules


@pytest.fixture(scope="session")
def rules(spec: Document) -> list[Document]:
    return [rule for group in spec["groups"] for rule in group["rules"]]


@pytest.fixture(scope="session")
def scenarios() -> list[Document]:
    tests: list[Document] = yaml.safe_load(SCENARIOS.read_text(encoding="utf-8"))["tests"]
    return tests


def without_annotations(spec: Document) -> Document:
    """Give the rules without their texts, which a scenario would have to repeat."""
    groups = [
        {**group, "rules": [{k: v for k, v in rule.items() if k != "annotations"} for rule in group["rules"]]}
        for group in spec["groups"]
    ]
    return {**spec, "groups": groups}


def test_prometheus_takes_the_rules(promtool: Tool, spec: Document, tmp_path: Path) -> None:
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump(spec))

    assert "10 rules found" in promtool.run("check", "rules", "--lint-fatal", str(tmp_path / "rules.yaml"))


def test_every_alert_fires_and_keeps_quiet_as_the_scenarios_say(promtool: Tool, spec: Document, tmp_path: Path) -> None:
    shutil.copy(SCENARIOS, tmp_path)
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump(without_annotations(spec)))

    assert "SUCCESS" in promtool.run("test", "rules", str(tmp_path / SCENARIOS.name))


def test_every_alert_has_scenarios_of_both_kinds(rules: list[Document], scenarios: list[Document]) -> None:
    outcomes = {
        (test["alertname"], bool(test["exp_alerts"]))
        for scenario in scenarios
        for test in scenario.get("alert_rule_test", ())
    }

    assert {(rule["alert"], fires) for rule in rules for fires in (True, False)} == outcomes


def test_every_scenario_scrapes_more_often_than_prometheus_forgets(scenarios: list[Document]) -> None:
    assert {"1m", "3m", "4m"} == {scenario["interval"] for scenario in scenarios}


def test_every_text_can_be_written(
    promtool: Tool, spec: Document, scenarios: list[Document], rules: list[Document], tmp_path: Path
) -> None:
    """Expect no alert where there is one: what promtool complains about is what somebody would be sent."""
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump(spec))
    firing = [
        {
            **scenario,
            "alert_rule_test": [{**t, "exp_alerts": []} for t in scenario["alert_rule_test"] if t["exp_alerts"]],
        }
        for scenario in scenarios
    ]
    for scenario in firing:
        scenario.pop("promql_expr_test", None)
    tests = {"rule_files": ["rules.yaml"], "evaluation_interval": "1m", "tests": firing}
    (tmp_path / "texts.yaml").write_text(yaml.safe_dump(tests))

    with pytest.raises(AssertionError) as failure:
        promtool.run("test", "rules", str(tmp_path / "texts.yaml"))

    sent = str(failure.value)
    assert {rule["alert"] for rule in rules} == set(re.findall(r'alertname="(\w+)"', sent))
    assert "error expanding" not in sent
    assert "<no value>" not in sent
    assert 'summary="2 images of all on docker.io are unavailable: NotFound"' in sent
    assert "docker.io/library/a:1 docker.io/library/b:1" in sent
    assert "took 2.0 times as long" in sent
    assert "10% of the windows" in sent
    assert "until 1970-01-01 06:00:00 +0000 UTC" in sent


def test_every_alert_says_what_to_do(rules: list[Document], root: Path) -> None:
    page = (root / "docs" / "alerts.md").read_text(encoding="utf-8")
    headings = re.findall(r"(?m)^## (\w+)$", page)

    assert [rule["alert"] for rule in rules] == headings
    for rule in rules:
        assert f"docs/alerts.md#{rule['alert'].lower()}" == rule["annotations"]["runbook"]
        assert {"summary", "description", "runbook"} == rule["annotations"].keys()
        assert rule["labels"]["severity"] in {"critical", "warning", "info"}


def test_the_page_gives_severity_and_delay_of_every_alert(rules: list[Document], root: Path) -> None:
    page = (root / "docs" / "alerts.md").read_text(encoding="utf-8")
    expected = [f"| [{r['alert']}](#{r['alert'].lower()}) | {r['labels']['severity']} | {r['for']} |" for r in rules]

    assert expected == re.findall(r"(?m)^(\| \[\w+\]\(#\w+\) \| \w+ \| \w+ \|)", page)
