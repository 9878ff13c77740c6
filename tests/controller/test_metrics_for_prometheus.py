"""What Prometheus' own tools say of the metrics, and what they come to: ``promtool`` is Debian's."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from tests.controller.conftest import Play
from tests.support.debian import Tool, Unavailable, find_tool, give_up
from tests.support.hostile import Reply
from tests.support.stage import Stage, digest_of, has_everything, mirror, monitor, pod, running

pytestmark = pytest.mark.slow

FORMULA = (
    "kuik_check_cycle_duration_seconds / (kuik_check_ring_images * on(registry) group_left"
    ' kuik_registry_interval_seconds{operation="Check"})'
)
USED = ("kuik_check_cycle_duration_seconds", "kuik_check_ring_images", "kuik_registry_interval_seconds")
SAMPLE = re.compile(r"(\w+)(\{.*\})? (\S+)")


@pytest.fixture(scope="session")
def promtool() -> Tool:
    try:
        return find_tool("promtool", ("prometheus",))
    except Unavailable as reason:
        give_up(reason)


@pytest.fixture
def metrics(play: Play) -> str:
    """The metrics of a process in which everything that has one has happened."""
    found: list[str] = []

    async def act(stage: Stage) -> None:
        answers = {
            "/v2/x/gone/manifests/1": Reply(404),
            "/v2/x/late/manifests/1": Reply(429, {"Retry-After": "30", "RateLimit-Limit": "100;w=21600"}),
        }
        stage.registry.otherwise = lambda seen: answers.get(seen.path) or has_everything(seen)
        stage.configure(stage.pace("10s", "10s"))
        names = ("x/a:1", "x/b:1", "x/gone:1", "x/late:1")
        drifted = running(digest_of("old"), *(digest_of(f"/v2/x/{n}/manifests/1") for n in ("b", "gone", "late")))
        stage.write(
            monitor("one"),
            monitor("two"),
            mirror(f"{stage.host}/m", driftPolicy="Warn"),
            pod("p", *map(stage.image, names), **drifted),
        )
        async with stage.process():
            await stage.until(lambda: all(stage.metric(USED[0], name=name) is not None for name in ("one", "two")))
            await stage.until(lambda: stage.metric("kuik_image_drifted") is not None)
            await stage.until(lambda: stage.metric("kuik_registry_held_until_timestamp_seconds") is not None)
            stage.metrics.collect()
            found.append(stage.metrics.render().decode())

    play(act)
    return found[0]


def samples(metrics: str) -> dict[str, dict[str, str]]:
    """Give values by labels, by name."""
    found: dict[str, dict[str, str]] = {}
    for match in map(SAMPLE.fullmatch, metrics.splitlines()):
        if match:
            found.setdefault(match[1], {})[match[2] or "{}"] = match[3]
    return found


def test_promtool_is_content_with_the_metrics(promtool: Tool, metrics: str) -> None:
    done = subprocess.run(
        [promtool.path, "check", "metrics"],
        input=metrics,
        env=promtool.environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert (0, "", "") == (done.returncode, done.stdout, done.stderr)


def test_every_metric_of_the_page_is_there(root: Path, metrics: str) -> None:
    page = (root / "docs" / "metrics.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"^\| `(\w+_\w+)`", page, re.MULTILINE))
    exported = {m for m in re.findall(r"^# TYPE (\w+) ", metrics, re.MULTILINE) if not m.endswith("_created")}

    assert listed == exported


def test_the_formula_gives_one_sample_a_ring(promtool: Tool, metrics: str, tmp_path: Path) -> None:
    found = samples(metrics)
    intervals = {re.findall(r'registry="([^"]+)"', k)[0]: v for k, v in found[USED[2]].items() if '"Check"' in k}
    laps = found[USED[0]]
    expected = [
        {
            "labels": labels,
            "value": float(lap) / (float(found[USED[1]][labels]) * float(intervals[registry_of(labels)])),
        }
        for labels, lap in laps.items()
    ]
    series = [{"series": f"{n}{labels}", "values": value} for n in USED for labels, value in found[n].items()]
    case = {
        "evaluation_interval": "1m",
        "tests": [
            {
                "interval": "1m",
                "input_series": series,
                "promql_expr_test": [{"expr": FORMULA, "eval_time": "0m", "exp_samples": expected}],
            }
        ],
    }
    (tmp_path / "case.json").write_text(json.dumps(case))

    assert {'kind="ImageMonitor",name="one"', 'kind="ImageMonitor",name="two"'} <= {
        k[1:].rpartition(",")[0] for k in laps
    }
    assert "SUCCESS" in promtool.run("test", "rules", str(tmp_path / "case.json"))


def registry_of(labels: str) -> str:
    return re.findall(r'registry="([^"]+)"', labels)[0]
