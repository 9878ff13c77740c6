"""The order of turns, rings and queues (page 1, T1, T4, R1, C1, N1), for any cluster."""

from __future__ import annotations

import json
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compiler.compilation import compile_plan
from compiler.duration import MINUTE, SECOND
from compiler.plan import HostPlan, Plan
from compiler.source import Text

HOSTS = ["docker.io", "quay.io", "registry.lan:5000", "[::1]:5000", "10.0.0.7"]
DIGEST = f"sha256:{'0123456789abcdef' * 4}"
IMAGES = st.builds(
    "{}/{}{}".format,
    st.sampled_from(HOSTS),
    st.sampled_from(["app", "app-tools", "app/web", "app0", "library/nginx", "team/app"]),
    st.sampled_from(["", ":1.9", ":1.10", ":v1", ":V1", f"@{DIGEST}", f":1.9@{DIGEST}"]),
)
NAMES = st.from_regex(r"[a-z0-9]([a-z0-9-]{0,3}[a-z0-9])?(\.[a-z0-9]{1,2})?", fullmatch=True)


def planned(*objects: object, config: object = None) -> Plan:
    settings = Text("config.yaml", json.dumps(config)) if config is not None else None
    compilation = compile_plan(settings, [Text("all.json", "\n".join(map(json.dumps, objects)))])
    assert compilation.plan is not None, compilation.diagnostics
    return compilation.plan


def pod(images: Iterable[str]) -> object:
    containers = [{"name": f"c{n}", "image": image} for n, image in enumerate(images)]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": containers}}


def monitor(name: str, **spec: object) -> object:
    return resource("ImageMonitor", name, spec)


def mirror(name: str, **spec: object) -> object:
    return resource("ImageMirror", name, {"destination": {"path": f"registry.tld/to-{name}"}, **spec})


def resource(kind: str, name: str, spec: object, status: object = None) -> object:
    head = {"apiVersion": "kuik.enix.io/v1alpha1", "kind": kind, "metadata": {"name": name}, "spec": spec}
    return head if status is None else {**head, "status": status}


@pytest.mark.rule("T1")
@given(st.sets(NAMES, min_size=1, max_size=6), st.sets(NAMES, min_size=1, max_size=6))
def test_owners_take_turns_in_code_point_order_of_kind_and_name(mirrors: set[str], monitors: set[str]) -> None:
    owners = [*(mirror(name, driftPolicy="Warn") for name in mirrors), *map(monitor, monitors)]

    (host,) = planned(*owners, pod(["nginx:1.29"])).hosts

    expected = sorted([f"ImageMirror/{name}" for name in mirrors] + [f"ImageMonitor/{name}" for name in monitors])
    assert expected == [ring.owner for ring in host.check.rings]
    assert expected[: len(mirrors)] == [queue.owner for queue in host.copy.queues]


@pytest.mark.rule("R1")
@given(st.lists(IMAGES))
def test_a_ring_holds_each_image_of_its_host_once_in_code_point_order(images: list[str]) -> None:
    plan = planned(monitor("all"), pod(images))

    expected: dict[str, list[str]] = {}
    for image in sorted({canonical(image) for image in images}):
        expected.setdefault(image.partition("/")[0], []).append(image)
    rings = [(host.host, list(host.check.rings[0].images)) for host in plan.hosts]
    assert sorted(expected.items()) == rings


def canonical(image: str) -> str:
    """Complete a name as Docker does, by hand."""
    host, _, rest = image.partition("/")
    if host == "docker.io" and "/" not in rest.partition("@")[0].partition(":")[0]:
        rest = f"library/{rest}"
    tagged = "@" in rest or ":" in rest
    return f"{host}/{rest}{'' if tagged else ':latest'}"


@pytest.mark.rule("R1")
@given(st.lists(IMAGES, min_size=1), st.sampled_from(["Warn", "Sync"]))
def test_a_digest_is_in_no_mirrors_ring_and_in_its_queue(images: list[str], policy: str) -> None:
    plan = planned(mirror("prod", driftPolicy=policy), pod(images))

    queued = [copy.image for host in plan.hosts for queue in host.copy.queues for copy in queue.images]
    rings = [image for host in plan.hosts for ring in host.check.rings for image in ring.images]
    assert {canonical(image) for image in images} == set(queued)
    assert [image for image in queued if "@" not in image] == rings


@pytest.mark.rule("R1")
def test_an_origin_that_is_an_alternative_counts_once_and_is_read_with_its_credential() -> None:
    first, second = (
        resource("ImageAlternative", name, {"alternatives": [{"imagePrefix": "docker.io/library/"}, place(name)]})
        for name in ("a", "b")
    )

    plan = planned(second, first, monitor("all", monitorAlternatives=True), pod(["nginx:1", "lan.tld/hub/nginx:1"]))

    ring = host_of(plan, "lan.tld").check.rings[0]
    assert (("lan.tld/hub/nginx:1",), (("lan.tld/hub/nginx:1", "of-a"),)) == (ring.images, ring.auth)


def place(secret: str) -> object:
    return {"imagePrefix": "lan.tld/hub/", "auth": {"secretRef": {"name": f"of-{secret}"}}}


def host_of(plan: Plan, name: str) -> HostPlan:
    found = plan.host(name)
    assert found is not None
    return found


@pytest.mark.rule("R1")
def test_retained_images_and_their_alternatives_are_in_the_ring() -> None:
    status = {"retainedImages": [{"ref": "docker.io/library/nginx:0.9", "unusedSince": "2026-03-01T08:00:00Z"}]}
    places = {"alternatives": [{"imagePrefix": "docker.io/library/"}, {"imagePrefix": "lan.tld/hub/"}]}

    plan = planned(
        resource("ImageMonitor", "all", {"monitorAlternatives": True}, status),
        resource("ImageAlternative", "hub", places),
    )

    assert [("docker.io/library/nginx:0.9",), ("lan.tld/hub/nginx:0.9",)] == [
        ring.images for host in plan.hosts for ring in host.check.rings
    ]


@pytest.mark.rule("C1")
@given(st.lists(IMAGES, min_size=1))
def test_first_copies_are_queued_in_code_point_order_each_once(images: list[str]) -> None:
    plan = planned(mirror("prod"), pod(images))

    queues = [copy.image for host in plan.hosts for copy in host.copy.queues[0].images]
    assert sorted({canonical(image) for image in images}, key=lambda i: (i.partition("/")[0], i)) == queues


@pytest.mark.rule("N1")
@given(st.integers(1, 50), st.integers(1, 600))
def test_clusters_multiply_both_intervals_and_no_timeout(clusters: int, seconds: int) -> None:
    written = {"check": {"interval": f"{seconds}s", "timeout": "7s"}, "clusters": clusters}

    host = host_of(planned(config={"registries": {"docker.io": written}}), "docker.io")

    assert (clusters * seconds * SECOND, 7 * SECOND) == (host.check.interval, host.check.timeout)
    assert (clusters * 3 * MINUTE, 0) == (host.copy.interval, host.copy.timeout)


@pytest.mark.rule("T4")
def test_what_is_suspended_keeps_its_rings_and_queues() -> None:
    owners = [monitor("all", suspend=True), mirror("prod", driftPolicy="Warn", suspend=True)]

    (host,) = planned(*owners, pod(["nginx:1"]), config={"registries": {"docker.io": {"suspend": True}}}).hosts

    assert host.suspended
    assert [(True, 1), (True, 1)] == [(ring.suspended, len(ring.images)) for ring in host.check.rings]
    assert [(True, 1)] == [(queue.suspended, len(queue.images)) for queue in host.copy.queues]
