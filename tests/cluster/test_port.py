"""What the controller relies on, on both adapters."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import wraps
from pathlib import Path
from typing import Any

import pytest

from compiler.compilation import compile_state
from compiler.config import Config
from compiler.duration import SECOND
from compiler.reference import parse_reference
from runtime.clock import boot_clock
from runtime.cluster.leadership import Leadership
from runtime.cluster.port import Cluster, Observation, Report, Severity, Topic
from tests.cluster.surroundings import (
    SHORT,
    Kubernetes,
    Local,
    Surroundings,
    docker_secret,
    eventually,
    following,
    kubernetes,
    manifest,
    pod,
)

NOTHING = frozenset[str]()
DIGEST = f"sha256:{'a' * 64}"
Opener = Callable[[], Any]


@pytest.fixture(params=["local", pytest.param("kubernetes", marks=pytest.mark.slow)])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Opener:
    """Give what opens a place for the test."""
    if request.param == "kubernetes":
        request.getfixturevalue("crds")
        server = request.getfixturevalue("api_server")
        return lambda: kubernetes(server)

    @asynccontextmanager
    async def local() -> AsyncIterator[Local]:
        yield Local(tmp_path)

    return local


def on_a_place(test: Callable[[Surroundings], Awaitable[None]]) -> Callable[[Opener], None]:
    """Run an asynchronous test on a place of its own."""

    @wraps(test)
    def run(place: Opener) -> None:
        async def scenario() -> None:
            async with asyncio.timeout(60), place() as surroundings:
                await test(surroundings)

        asyncio.run(scenario())

    del run.__wrapped__  # type: ignore[attr-defined]
    return run


def images(observation: Observation, namespace: str) -> set[str]:
    workloads = [w for w in observation.snapshot().workloads if w.namespace == namespace]
    return {str(image) for workload in workloads for image in workload.images}


def resources(observation: Observation, name: str) -> dict[str, Any]:
    found = observation.snapshot().resources
    return {r.kind: r.value for r in found if r.value["metadata"]["name"].startswith(name)}


@on_a_place
async def test_snapshot_holds_what_is_there(surroundings: Surroundings) -> None:
    name = surroundings.name
    await surroundings.apply(manifest("Namespace", name, labels={"team": "a"}))
    await surroundings.apply(manifest("ImageMonitor", name, spec={"unusedImageRetention": "1h"}))
    await surroundings.apply(pod("web", name, "nginx:1.27", "quay.io/a/b", labels={"app": "web"}))
    info = {"operatingSystem": "linux", "architecture": "riscv64"}
    await surroundings.apply(manifest("Node", name, status={"nodeInfo": info}))

    async with surroundings.cluster() as cluster, cluster.observe(NOTHING) as observation:
        snapshot = observation.snapshot()

        assert "1h" == resources(observation, name)["ImageMonitor"]["spec"]["unusedImageRetention"]
        assert {"docker.io/library/nginx:1.27", "quay.io/a/b:latest"} == images(observation, name)
        assert [{"app": "web"}] == [w.labels for w in snapshot.workloads if w.namespace == name]
        assert "a" == snapshot.namespaces[name]["team"]
        assert () == snapshot.diagnostics


@on_a_place
async def test_snapshot_is_what_the_compiler_takes(surroundings: Surroundings) -> None:
    name = surroundings.name
    selector = {"matchLabels": {"kubernetes.io/metadata.name": name}}
    await surroundings.apply(manifest("ImageMonitor", name, spec={"namespaceSelector": selector}))
    await surroundings.apply(pod("web", name, "quay.io/a/b:1"))
    async with surroundings.cluster() as cluster, cluster.observe(NOTHING) as observation:
        await cluster.write_status(
            f"ImageMonitor/{name}", {"checks": {"registries": [ring("quay.io", "quay.io/a/b:0")]}}
        )
        await eventually(lambda: "status" in resources(observation, name)["ImageMonitor"])
        snapshot = observation.snapshot()

        compiled = compile_state(Config(), snapshot.resources, snapshot.workloads, snapshot.namespaces)

        assert f"ImageMonitor/{name}" not in compiled.refused
        assert compiled.plan is not None
        host = compiled.plan.host("quay.io")
        assert host is not None
        assert [("quay.io/a/b:1",)] == [r.images for r in host.check.rings if r.owner == f"ImageMonitor/{name}"]
        monitor = next(m for m in compiled.model.monitors if m.name == name)
        assert (("quay.io", "quay.io/a/b:0"),) == monitor.cursors


@on_a_place
async def test_changes_are_told_and_seen(surroundings: Surroundings) -> None:
    name = surroundings.name
    web, monitor = pod("web", name, "nginx:1"), manifest("ImageMonitor", name, spec={})
    async with (
        surroundings.cluster() as cluster,
        cluster.observe(NOTHING) as observation,
        following(observation) as changes,
    ):
        await surroundings.apply(web)
        await eventually(lambda: {"docker.io/library/nginx:1"} == images(observation, name))
        await eventually(lambda: any(Topic.WORKLOADS in topics for topics in changes))
        await surroundings.apply(monitor)
        await eventually(lambda: "ImageMonitor" in resources(observation, name))
        await eventually(lambda: any(Topic.RESOURCES in topics for topics in changes))
        await surroundings.apply(monitor | {"spec": {"suspend": True}})
        await eventually(lambda: resources(observation, name)["ImageMonitor"]["spec"].get("suspend"))
        await surroundings.delete(web)
        await surroundings.delete(monitor)
        await eventually(lambda: not images(observation, name) and not resources(observation, name))


@on_a_place
async def test_status_is_written_whole_and_read_again(surroundings: Surroundings) -> None:
    name = surroundings.name
    owner = f"ImageMonitor/{name}"
    await surroundings.apply(manifest("ImageMonitor", name, spec={}))
    first = {"images": {"tracked": 1, "inUse": 1}, "checks": {"registries": [ring("docker.io", "a")]}}
    second = {"images": {"tracked": 2}, "checks": {"registries": [ring("quay.io", "b")]}}
    async with surroundings.cluster() as cluster, cluster.observe(NOTHING):
        assert await cluster.write_status(owner, first)
        assert await cluster.write_status(owner, second)

    assert second == await surroundings.status(owner)
    async with surroundings.cluster() as cluster, cluster.observe(NOTHING) as observation:
        assert second == resources(observation, name)["ImageMonitor"]["status"]


def ring(registry: str, cursor: str) -> dict[str, Any]:
    return {"registry": registry, "images": 1, "cursor": cursor, "checked": 1, "cycleStarted": "2026-11-30T12:00:00Z"}


@on_a_place
async def test_own_status_write_is_no_change(surroundings: Surroundings) -> None:
    name = surroundings.name
    await surroundings.apply(manifest("ImageMonitor", name, spec={}))
    async with (
        surroundings.cluster() as cluster,
        cluster.observe(NOTHING) as observation,
        following(observation) as changes,
    ):
        for n in range(5):
            await cluster.write_status(f"ImageMonitor/{name}", {"images": {"tracked": n}})
        await eventually(
            lambda: {"tracked": 4} == resources(observation, name)["ImageMonitor"].get("status", {}).get("images")
        )
        # a change that is told stands behind the writes: had they been told, they would be there too
        await surroundings.apply(pod("web", name, "nginx:1"))
        await eventually(lambda: any(Topic.WORKLOADS in topics for topics in changes))

        mine = [topics for topics in changes if Topic.RESOURCES in topics]
        assert [] == mine or isinstance(surroundings, Kubernetes), "another test's resources are told too"


@on_a_place
async def test_status_of_a_resource_that_is_gone_is_no_error(surroundings: Surroundings) -> None:
    name = surroundings.name
    monitor = manifest("ImageMonitor", name, spec={})
    await surroundings.apply(monitor)
    async with surroundings.cluster() as cluster, cluster.observe(NOTHING) as observation:
        assert await cluster.write_status(f"ImageMonitor/{name}", {"images": {"tracked": 1}})
        await surroundings.delete(monitor)
        await eventually(lambda: not resources(observation, name))

        assert not await cluster.write_status(f"ImageMonitor/{name}", {"images": {"tracked": 2}})
        assert not await cluster.set_finalizer(f"ImageMonitor/{name}", wanted=False)


@on_a_place
async def test_secret_is_found_by_name_and_a_change_counts_at_once(surroundings: Surroundings) -> None:
    name = surroundings.name
    await surroundings.apply(docker_secret("hub", name, '{"auths": {}}'))
    async with surroundings.cluster() as cluster, cluster.observe(NOTHING) as observation:
        assert '{"auths": {}}' == observation.docker_config("hub")
        assert observation.docker_config("other") is None
        await surroundings.apply(docker_secret("hub", name, '{"auths": {"quay.io": {}}}'))
        await eventually(lambda: observation.docker_config("hub") == '{"auths": {"quay.io": {}}}')
        await surroundings.delete(docker_secret("hub", name, ""))
        await eventually(lambda: observation.docker_config("hub") is None)


@on_a_place
async def test_references_are_read_with_the_insecure_hosts_in_force(surroundings: Surroundings) -> None:
    name = surroundings.name
    await surroundings.apply(pod("web", name, "r.example.com:80/a:1"))
    async with surroundings.cluster() as cluster, cluster.observe(NOTHING) as observation:
        assert {"r.example.com:80/a:1"} == images(observation, name)
        await observation.read_with(frozenset({"r.example.com"}))
        assert {"r.example.com/a:1"} == images(observation, name)
        await surroundings.apply(pod("other", name, "r.example.com:80/b:1"))
        await eventually(lambda: {"r.example.com/a:1", "r.example.com/b:1"} == images(observation, name))


@on_a_place
async def test_what_containers_run_is_seen_by_its_origin(surroundings: Surroundings) -> None:
    name = surroundings.name
    original = {"kuik.enix.io/original-images": '{"c1": "quay.io/a/b:2"}'}
    document = pod("web", name, "nginx:1", "mirror.example.com/quay.io/a/b:2", "busybox", annotations=original)
    ids = [f"docker.io/library/nginx@{DIGEST}", f"docker-pullable://mirror.example.com/a@{DIGEST}", DIGEST]
    statuses = [
        {"name": f"c{i}", "image": "x", "imageID": image, "ready": True, "restartCount": 0}
        for i, image in enumerate(ids)
    ]
    await surroundings.apply(document | {"status": {"phase": "Running", "containerStatuses": statuses}})
    async with surroundings.cluster() as cluster, cluster.observe(NOTHING) as observation:
        sighting = next(s for s in observation.snapshot().sightings if s.workload.namespace == name)

        expected = {(parse_reference("nginx:1"), DIGEST), (parse_reference("quay.io/a/b:2"), DIGEST)}
        assert expected == set(sighting.running)


@on_a_place
async def test_pod_that_has_ended_uses_nothing(surroundings: Surroundings) -> None:
    name = surroundings.name
    await surroundings.apply(pod("job", name, "nginx:1"))
    async with surroundings.cluster() as cluster, cluster.observe(NOTHING) as observation:
        assert {"docker.io/library/nginx:1"} == images(observation, name)
        await surroundings.apply(pod("job", name, "nginx:1") | {"status": {"phase": "Succeeded"}})
        await eventually(lambda: not images(observation, name))


@on_a_place
async def test_w9_one_leads_and_the_other_waits_until_it_is_released(surroundings: Surroundings) -> None:
    async with surroundings.cluster() as one, surroundings.cluster() as other:
        second: asyncio.Task[Leadership]
        async with one.lead(SHORT) as leadership:
            second = asyncio.create_task(entered(other))
            # several retries of the other, and more than a lease: it is kept by renewing
            await asyncio.sleep(1.5)
            assert not second.done()
            assert leadership.may_send(boot_clock())
        released_at = boot_clock()
        taken = await second

        assert leadership.transitions + 1 == taken.transitions
        assert taken.taken_at >= released_at
        assert boot_clock() - released_at < SECOND, "a released lease is taken at the next try"


async def entered(cluster: Cluster) -> Leadership:
    async with cluster.lead(SHORT) as leadership:
        return leadership


@pytest.mark.rule("T3")
@on_a_place
async def test_t3_transitions_count_the_starts(surroundings: Surroundings) -> None:
    counts = []
    for _ in range(4):
        async with surroundings.cluster() as cluster, cluster.lead(SHORT) as leadership:
            counts.append(leadership.transitions)

    assert [0, 1, 2, 3] == counts


@on_a_place
async def test_report_never_fails(surroundings: Surroundings) -> None:
    async with surroundings.cluster() as cluster:
        for about in ("", "ImageMonitor/nobody"):
            await cluster.report(Report(Severity.WARNING, "ReloadFailed", "config.yaml:3:1: error[x]: no", about))
