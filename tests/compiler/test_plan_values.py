"""The plan as a document: what is written reads back equal, and the digests say what they are for."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compiler.compilation import compile_plan
from compiler.duration import HOUR, MINUTE, SECOND
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
    Operation,
    Plan,
    Queue,
    Ring,
    without_forecasts,
)
from compiler.plan_document import digests, from_document, to_document
from compiler.source import Text

DURATIONS = st.integers(0, 2**63 - 1)
NAMES = st.text("abz-.é", min_size=1, max_size=6)
OWNERS = NAMES.map("ImageMonitor/{}".format)
IMAGES = NAMES.map("quay.io/team/{}:1".format)
RINGS = st.builds(
    Ring,
    owner=OWNERS,
    images=st.lists(IMAGES, unique=True, max_size=3).map(tuple),
    suspended=st.booleans(),
    auth=st.dictionaries(IMAGES, NAMES, max_size=2).map(lambda d: tuple(d.items())),
    insecure=st.lists(IMAGES, unique=True, max_size=2).map(tuple),
)
QUEUES = st.builds(
    Queue,
    owner=OWNERS,
    images=st.lists(st.builds(Copy, image=IMAGES, to=IMAGES, anchor=st.none() | NAMES), max_size=3).map(tuple),
    suspended=st.booleans(),
)
LAPS = st.builds(LapForecast, owner=OWNERS, best_case=DURATIONS, expected=DURATIONS)
HOSTS = st.builds(
    HostPlan,
    host=NAMES,
    clusters=st.integers(1, 9),
    suspended=st.booleans(),
    insecure=st.booleans(),
    ca_file=st.none() | st.text(max_size=5),
    auth=st.lists(st.builds(FallbackAuth, prefix=NAMES.map("/{}".format), secret=NAMES), max_size=2).map(tuple),
    check=st.builds(
        CheckSeries,
        interval=DURATIONS,
        timeout=DURATIONS,
        origin=NAMES,
        rings=st.lists(RINGS, max_size=2).map(tuple),
        forecast=st.none()
        | st.builds(
            CheckForecast,
            windows_per_day=st.integers(0, 86400),
            requests=st.integers(0, 10**6),
            laps=st.lists(LAPS, max_size=2).map(tuple),
        ),
    ),
    copy=st.builds(
        CopySeries,
        interval=DURATIONS,
        timeout=DURATIONS,
        origin=NAMES,
        queues=st.lists(QUEUES, max_size=2).map(tuple),
        forecast=st.none() | st.builds(CopyForecast, drain=st.none() | DURATIONS),
    ),
)
PLANS = st.builds(
    Plan, hosts=st.lists(HOSTS, max_size=2, unique_by=lambda h: h.host).map(tuple), superset=st.booleans()
)

HOST = HostPlan(
    host="quay.io",
    check=CheckSeries(MINUTE, 10 * SECOND, "registries.default.check.interval"),
    copy=CopySeries(3 * MINUTE, 0, "registries.default.copy.interval"),
)
FORECAST = CheckForecast(windows_per_day=1440, requests=2, laps=(LapForecast("ImageMonitor/a", MINUTE, 2 * MINUTE),))


@given(PLANS)
def test_a_plan_reads_back_from_its_document(plan: Plan) -> None:
    assert plan == from_document(to_document(plan))


@given(PLANS)
def test_a_plan_reads_back_from_its_text(plan: Plan) -> None:
    assert plan == from_document(json.loads(json.dumps(to_document(plan))))


@given(PLANS)
def test_the_same_plan_gives_the_same_bytes(plan: Plan) -> None:
    again = from_document(to_document(plan))
    assert json.dumps(to_document(plan)) == json.dumps(to_document(again))


@given(PLANS)
def test_forecasts_are_no_part_of_what_plans_are_compared_by(plan: Plan) -> None:
    bare = without_forecasts(plan)
    assert digests(plan) == digests(bare)
    assert bare == without_forecasts(bare)
    assert all(h.check.forecast is None and h.copy.forecast is None for h in bare.hosts)


def test_the_document_is_that_of_page_2() -> None:
    ring = Ring("ImageMonitor/all", ("docker.io/library/nginx:1.27", "docker.io/library/redis:7"))
    mirror = "registry.tld/mirror/docker.io/library/nginx:1.27_cluster-a"
    queue = Queue("ImageMirror/prod", (Copy("docker.io/library/nginx:1.27", mirror),))
    host = HostPlan(
        host="docker.io",
        check=CheckSeries(MINUTE, 10 * SECOND, "registries.docker.io.check.interval", (ring,), FORECAST),
        copy=CopySeries(10 * MINUTE, 0, "registries.docker.io.copy.interval", (queue,), CopyForecast(10 * MINUTE)),
    )
    document = to_document(Plan((host,)))
    assert ("kuik.enix.io/v1alpha1", "WindowPlan") == (document["apiVersion"], document["kind"])
    assert [
        {
            "host": "docker.io",
            "check": {
                "interval": "1m0s",
                "timeout": "10s",
                "from": "registries.docker.io.check.interval",
                "rings": [
                    {
                        "owner": "ImageMonitor/all",
                        "images": ["docker.io/library/nginx:1.27", "docker.io/library/redis:7"],
                    }
                ],
                "forecast": {
                    "windowsPerDay": 1440,
                    "requests": 2,
                    "laps": [{"owner": "ImageMonitor/a", "bestCase": "1m0s", "expected": "2m0s"}],
                },
            },
            "copy": {
                "interval": "10m0s",
                "timeout": "0s",
                "from": "registries.docker.io.copy.interval",
                "queues": [
                    {"owner": "ImageMirror/prod", "images": [{"image": "docker.io/library/nginx:1.27", "to": mirror}]}
                ],
                "forecast": {"drain": "10m0s"},
            },
        }
    ] == document["hosts"]


def test_the_digest_of_the_pace_ignores_who_reads_what() -> None:
    plain = Plan((HOST,))
    read = Plan((replace(HOST, check=replace(HOST.check, rings=(Ring("ImageMonitor/a", ("quay.io/a:1",)),))),))
    assert digests(plain)["pace"] == digests(read)["pace"]
    assert digests(plain)["plan"] != digests(read)["plan"]


@pytest.mark.parametrize(
    "host",
    [
        replace(HOST, host="ghcr.io"),
        replace(HOST, clusters=2),
        replace(HOST, check=replace(HOST.check, interval=SECOND)),
        replace(HOST, check=replace(HOST.check, timeout=SECOND)),
        replace(HOST, copy=replace(HOST.copy, interval=SECOND)),
        replace(HOST, copy=replace(HOST.copy, timeout=SECOND)),
    ],
)
def test_the_digest_of_the_pace_changes_with_the_pace(host: HostPlan) -> None:
    assert digests(Plan((HOST,)))["pace"] != digests(Plan((host,)))["pace"]


def test_a_host_is_found_by_its_name() -> None:
    plan = Plan((HOST,))
    assert HOST == plan.host("quay.io")
    assert plan.host("ghcr.io") is None


@given(PLANS)
def test_the_series_of_a_host_are_its_checks_and_then_its_copies(plan: Plan) -> None:
    series = [(host, operation) for host, operation, _ in plan.series()]
    assert [(h.host, o) for h in plan.hosts for o in (Operation.CHECK, Operation.COPY)] == series
    assert [Operation.CHECK, Operation.COPY] == sorted(Operation)


@pytest.mark.parametrize(
    "repository,secret",
    [
        ("library/nginx", "all"),
        ("team", "team"),
        ("team/app", "team"),
        ("team-b/app", "all"),
        ("team/deep", "team"),
        ("team/deep/app", "deep"),
        ("team/deep/a/b", "deep"),
    ],
)
def test_the_longest_prefix_decides_which_secret_reads(repository: str, secret: str) -> None:
    auth = (FallbackAuth("/", "all"), FallbackAuth("/team/deep/", "deep"), FallbackAuth("/team", "team"))
    assert secret == replace(HOST, auth=auth).secret_for(repository)


def test_without_a_prefix_a_host_is_read_anonymously() -> None:
    assert HOST.secret_for("library/nginx") is None
    assert replace(HOST, auth=(FallbackAuth("/team", "team"),)).secret_for("library/nginx") is None


def test_the_pace_is_the_same_whatever_is_read() -> None:
    """In CI a plan is made of templates, in a cluster of pods: other hosts are read, at the same pace."""
    config = Text("config.yaml", "registries: {default: {check: {interval: 1m}}, quay.io: {clusters: 2}}")
    pod = "apiVersion: v1\nkind: Pod\nmetadata: {{name: p}}\nspec: {{containers: [{{image: {}}}]}}\n"
    monitor = "apiVersion: kuik.enix.io/v1alpha1\nkind: ImageMonitor\nmetadata: {name: all}\n"

    def pace(image: str) -> str:
        plan = compile_plan(config, [Text("all.yaml", f"{monitor}---\n{pod.format(image)}")]).plan
        assert plan is not None
        return digests(plan)["pace"]

    assert pace("nginx") == pace("ghcr.io/a/b") == pace("quay.io/a/b")


def test_the_pace_tells_a_default_that_no_host_uses_yet() -> None:
    assert digests(Plan())["pace"] != digests(Plan(default=DefaultPace(copy_interval=HOUR)))["pace"]
