"""With the least rights everything works; and what the server says to writes of status, finalizers and events."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from runtime.cluster.api import Call
from runtime.cluster.errors import Conflict, Rejected
from runtime.cluster.kube import FINALIZER, KubernetesCluster, open_cluster
from runtime.cluster.port import Report, Severity
from tests.cluster.api_server import ApiServer
from tests.cluster.proxy import proxied
from tests.cluster.surroundings import (
    IN_A_HURRY,
    SHORT,
    Kubernetes,
    docker_secret,
    eventually,
    kubernetes,
    manifest,
    pod,
)

pytestmark = pytest.mark.usefixtures("crds")
NOTHING = frozenset[str]()
GROUP, RBAC = "kuik.enix.io", "/apis/rbac.authorization.k8s.io/v1"
KINDS = ["imagealternatives", "imagemirrors", "imagemonitors"]
CLUSTER_WIDE = [
    {"apiGroups": [GROUP], "resources": KINDS, "verbs": ["get", "list", "watch", "patch"]},
    {"apiGroups": [GROUP], "resources": [f"{kind}/status" for kind in KINDS], "verbs": ["patch"]},
    {"apiGroups": [""], "resources": ["pods", "namespaces", "nodes"], "verbs": ["list", "watch"]},
]
IN_ITS_NAMESPACE = [
    {"apiGroups": [""], "resources": ["secrets"], "verbs": ["list", "watch"]},
    {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["create"]},
    {
        "apiGroups": ["coordination.k8s.io"],
        "resources": ["leases"],
        "resourceNames": ["kuik-reconciler"],
        "verbs": ["get", "update"],
    },
    {"apiGroups": [""], "resources": ["events"], "verbs": ["create", "patch"]},
]


async def grant(place: Kubernetes) -> None:
    """Give the service account of kuik what it needs, under names of this test's own."""
    user = {"kind": "ServiceAccount", "name": "kuik", "namespace": "kuik-system"}
    for kind, binding, rules, namespace in (
        ("ClusterRole", "ClusterRoleBinding", CLUSTER_WIDE, None),
        ("Role", "RoleBinding", IN_ITS_NAMESPACE, place.name),
        ("Role", "RoleBinding", IN_ITS_NAMESPACE[-1:], "default"),
    ):
        base = f"{RBAC}/namespaces/{namespace}" if namespace else RBAC
        metadata = {"name": place.name}
        role = {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": place.name}
        await place.api.send(Call(f"{base}/{kind.lower()}s", "POST", body={"metadata": metadata, "rules": rules}))
        body = {"metadata": metadata, "roleRef": role, "subjects": [user]}
        await place.api.send(Call(f"{base}/{binding.lower()}s", "POST", body=body))


async def events_about(place: Kubernetes, kind: str, namespace: str, name: str) -> list[dict[str, Any]]:
    query = {"fieldSelector": f"involvedObject.kind={kind},involvedObject.name={name}"}
    return list((await place.api.send(Call(f"/api/v1/namespaces/{namespace}/events", query=query)))["items"])


def test_least_rights_are_enough_for_everything(api_server: ApiServer, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with asyncio.timeout(60), kubernetes(api_server) as place, proxied(api_server, tmp_path, "kuik") as proxy:
            name = place.name
            await grant(place)
            await place.apply(manifest("ImageMonitor", name, spec={}))
            await place.apply(docker_secret("hub", name, "{}"))
            await place.apply(pod("web", name, "nginx:1"))
            async with (
                open_cluster(name, proxy.kubeconfig, None, IN_A_HURRY) as cluster,
                cluster.lead(SHORT) as leadership,
                cluster.observe(NOTHING) as seen,
            ):
                before = leadership.runs_out_at
                await eventually(lambda: leadership.runs_out_at > before)
                assert "{}" == seen.docker_config("hub")
                assert await cluster.write_status(f"ImageMonitor/{name}", {"images": {"tracked": 1}})
                assert await cluster.set_finalizer(f"ImageMonitor/{name}", wanted=True)
                assert await cluster.set_finalizer(f"ImageMonitor/{name}", wanted=False)
                await cluster.report(Report(Severity.WARNING, "ReloadFailed", "no"))
                await cluster.report(Report(Severity.NORMAL, "Copied", "yes", f"ImageMonitor/{name}"))

            assert 1 == len(await events_about(place, "Lease", name, "kuik-reconciler"))
            assert 1 == len(await events_about(place, "ImageMonitor", "default", name))

    asyncio.run(scenario())


def test_status_is_ours_whoever_wrote_it_before(api_server: ApiServer) -> None:
    async def scenario() -> None:
        async with asyncio.timeout(60), kubernetes(api_server) as place, place.cluster() as cluster:
            foreign = {"images": {"tracked": 99, "drifted": 7}}
            await place.apply(manifest("ImageMonitor", place.name, spec={}, status=foreign))
            async with cluster.observe(NOTHING):
                assert await cluster.write_status(f"ImageMonitor/{place.name}", {"images": {"tracked": 1}})

            status = await place.status(f"ImageMonitor/{place.name}")
            assert 1 == status["images"]["tracked"]

    asyncio.run(scenario())


def test_status_never_ends_up_in_a_successor_of_the_same_name(api_server: ApiServer, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with (
            asyncio.timeout(60),
            kubernetes(api_server) as place,
            proxied(api_server, tmp_path) as proxy,
            open_cluster(place.name, proxy.kubeconfig, None, IN_A_HURRY) as cluster,
        ):
            monitor, owner = manifest("ImageMonitor", place.name, spec={}), f"ImageMonitor/{place.name}"
            await place.apply(monitor)
            async with cluster.observe(NOTHING):
                # the watch doesn't get through, so kuik still knows the first one
                await cluster.write_status(owner, {"images": {"tracked": 0}})
                proxy.answer = lambda request: (503, {}) if request.is_watch else None
                proxy.cut()
                await place.delete(monitor)
                await place.apply(monitor)
                for _ in range(3):
                    with pytest.raises(Conflict):
                        await cluster.write_status(owner, {"images": {"tracked": 1}})
                assert await place.status(owner) is None

                proxy.answer = lambda _: None
                async with asyncio.timeout(20):
                    while not await written(cluster, owner):  # noqa: ASYNC110  as the loop does it, later
                        await asyncio.sleep(0.02)
                assert {"images": {"tracked": 1}} == await place.status(owner)

    asyncio.run(scenario())


async def written(cluster: KubernetesCluster, owner: str) -> bool:
    try:
        return await cluster.write_status(owner, {"images": {"tracked": 1}})
    except Conflict:
        return False


def test_status_written_after_somebody_changed_the_spec_is_a_conflict_once(api_server: ApiServer) -> None:
    async def scenario() -> None:
        async with asyncio.timeout(60), kubernetes(api_server) as place, place.cluster() as cluster:
            owner = f"ImageMonitor/{place.name}"
            await place.apply(manifest("ImageMonitor", place.name, spec={}))
            async with cluster.observe(NOTHING):
                assert await written(cluster, owner)
                await place.apply(manifest("ImageMonitor", place.name, spec={"suspend": True}))

                assert [False, True, True] == [await written(cluster, owner) for _ in range(3)]

    asyncio.run(scenario())


def test_status_that_the_schema_refuses_says_so(api_server: ApiServer) -> None:
    async def scenario() -> None:
        async with asyncio.timeout(60), kubernetes(api_server) as place, place.cluster() as cluster:
            await place.apply(manifest("ImageMonitor", place.name, spec={}))
            async with cluster.observe(NOTHING):
                with pytest.raises(Rejected, match="tracked"):
                    await cluster.write_status(f"ImageMonitor/{place.name}", {"images": {"tracked": "many"}})

    asyncio.run(scenario())


def test_finalizer_lets_a_deletion_wait_and_leaves_those_of_others(api_server: ApiServer) -> None:
    async def scenario() -> None:
        async with asyncio.timeout(60), kubernetes(api_server) as place, place.cluster() as cluster:
            owner, other = f"ImageMirror/{place.name}", "example.com/other"
            mirror = manifest("ImageMirror", place.name, spec={"destination": {"path": "r.example.com/m"}})
            mirror["metadata"]["finalizers"] = [other]
            await place.apply(mirror)
            for _ in range(2):
                assert await cluster.set_finalizer(owner, wanted=True)
            async with cluster.observe(NOTHING) as seen:
                await place.delete(mirror)
                metadata = await eventually(lambda: deleted(seen, place.name))
                assert [other, FINALIZER] == metadata["finalizers"]
                assert await cluster.set_finalizer(owner, wanted=False)
                found = await place.api.send(Call(place.path(mirror)))
                assert [other] == found["metadata"]["finalizers"]
            body = {"metadata": {"finalizers": None}}
            await place.api.send(
                Call(place.path(mirror), "PATCH", body=body, content_type="application/merge-patch+json")
            )
            assert not await cluster.set_finalizer(owner, wanted=True)
            place.applied.clear()

    asyncio.run(scenario())


def deleted(seen: Any, name: str) -> Any:
    found = [r.value["metadata"] for r in seen.snapshot().resources if r.value["metadata"]["name"] == name]
    return found[0] if found and "deletionTimestamp" in found[0] else None


def test_same_event_again_is_counted_and_a_flood_is_dropped(api_server: ApiServer, tmp_path: Path) -> None:
    now = 0

    async def scenario() -> tuple[list[int], int]:
        nonlocal now
        async with (
            asyncio.timeout(60),
            kubernetes(api_server) as place,
            proxied(api_server, tmp_path) as proxy,
            open_cluster(place.name, proxy.kubeconfig, None, IN_A_HURRY, clock=lambda: now) as cluster,
        ):
            report = Report(Severity.WARNING, "ReloadFailed", "config.yaml:3")
            for _ in range(10):
                await cluster.report(report)
            now += 61 * 10**9
            await cluster.report(report)
            counts = [e["count"] for e in await events_about(place, "Lease", place.name, "kuik-reconciler")]
            before = len(proxy.requests)
            for n in range(100):
                await cluster.report(Report(Severity.WARNING, "Flood", f"number {n}"))
            return counts, len(proxy.requests) - before

    assert ([11], 23) == asyncio.run(scenario())
