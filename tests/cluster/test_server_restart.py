"""A server that is killed, forgets, and is alone with us: what a shared one can't show."""

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from compiler.duration import MILLISECOND, SECOND
from runtime.clock import boot_clock
from runtime.cluster.api import Call
from runtime.cluster.errors import ClusterError
from runtime.cluster.follow import Pace
from runtime.cluster.kube import open_cluster
from runtime.cluster.leadership import LeaseTimes
from runtime.cluster.port import Observation, Topic
from tests.cluster.api_server import NotStarted
from tests.cluster.binaries import Unavailable, find_or_build
from tests.cluster.conftest import ENVIRONMENT, give_up
from tests.cluster.own_server import OwnServer, own_server
from tests.cluster.proxy import proxied
from tests.cluster.surroundings import Kubernetes, eventually, following, kubernetes, manifest, pod

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="finds its server in /proc")]
NOTHING = frozenset[str]()
PACE = Pace(first=20 * MILLISECOND, longest=SECOND, lasting=300 * MILLISECOND, silence=3 * SECOND)


@pytest.fixture
def own(tmp_path: Path, root: Path) -> Iterator[OwnServer]:
    try:
        with own_server(find_or_build(ENVIRONMENT), tmp_path, "--etcd-compaction-interval=1s") as server:
            applied = server.server.kubectl("apply", "-f", str(root / "schemas" / "crds"))
            assert applied.returncode == 0, applied.stderr
            server.server.kubectl(
                "wait", "--for=condition=Established", "--timeout=60s", "-f", str(root / "schemas" / "crds")
            )
            yield server
    except (Unavailable, NotStarted) as reason:
        give_up(reason)


async def answering(place: Kubernetes) -> None:
    """Wait until the server answers again."""
    async with asyncio.timeout(60):
        while True:
            try:
                await place.api.send(Call("/api/v1/namespaces", timeout=SECOND))
            except ClusterError:
                await asyncio.sleep(0.05)
            else:
                return


def images(seen: Observation) -> set[str]:
    return {str(image) for workload in seen.snapshot().workloads for image in workload.images}


def test_server_that_restarts_and_has_forgotten_is_listed_afresh(own: OwnServer, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with (
            asyncio.timeout(100),
            kubernetes(own.server) as place,
            proxied(own.server, tmp_path) as proxy,
            open_cluster(place.name, proxy.kubeconfig, None, PACE) as cluster,
        ):
            for name in ("stays", "goes"):
                await place.apply(pod(name, place.name, f"quay.io/test/{name}:1"))
            async with cluster.observe(NOTHING) as seen:
                proxy.is_down = True
                proxy.cut()
                # what happens while nobody watches, before a restart that forgets it
                await place.delete(pod("goes", place.name))
                await place.apply(pod("comes", place.name, "quay.io/test/comes:1"))
                own.stop()
                own.start()
                await answering(place)
                proxy.is_down = False
                await eventually(lambda: images(seen) == {"quay.io/test/stays:1", "quay.io/test/comes:1"})

                assert 2 == len(proxy.lists("/pods")), "one at the start, one after 410"

    asyncio.run(scenario())


def test_leader_survives_a_server_that_is_away_for_less_than_its_deadline(own: OwnServer) -> None:
    times = LeaseTimes(lease=60 * SECOND, renew_deadline=40 * SECOND, retry=100 * MILLISECOND)

    async def scenario() -> None:
        async with (
            asyncio.timeout(100),
            kubernetes(own.server) as place,
            place.cluster() as cluster,
            cluster.lead(times) as leadership,
            cluster.observe(NOTHING) as seen,
        ):
            own.stop()
            await asyncio.sleep(0.5)
            own.start()
            before = leadership.runs_out_at
            await eventually(lambda: leadership.runs_out_at > before, 60)
            await place.apply(pod("after", place.name, "quay.io/test/after:1"))
            await eventually(lambda: images(seen) == {"quay.io/test/after:1"}, 60)

            assert leadership.may_send(boot_clock())
            assert not leadership.is_lost

    asyncio.run(scenario())


def test_own_status_writes_and_labels_are_no_change(own: OwnServer) -> None:
    async def scenario() -> None:
        async with asyncio.timeout(60), kubernetes(own.server) as place, place.cluster() as cluster:
            await place.apply(manifest("ImageMonitor", place.name, spec={}))
            async with cluster.observe(NOTHING) as seen, following(seen) as changes:
                for n in range(20):
                    await cluster.write_status(f"ImageMonitor/{place.name}", {"images": {"tracked": n}})
                await cluster.set_finalizer(f"ImageMonitor/{place.name}", wanted=True)
                await cluster.set_finalizer(f"ImageMonitor/{place.name}", wanted=False)
                await place.apply(manifest("ImageMonitor", place.name, spec={}, labels={"a": "b"}))
                await eventually(lambda: seen.snapshot().resources[0].value["metadata"].get("labels"))

                assert {"tracked": 19} == seen.snapshot().resources[0].value["status"]["images"]
                assert [] == changes
                await place.apply(manifest("ImageMonitor", place.name, spec={"suspend": True}))
                await eventually(lambda: changes == [{Topic.RESOURCES}])

    asyncio.run(scenario())


def test_kind_that_is_removed_takes_its_objects_along_and_comes_back(own: OwnServer, root: Path) -> None:
    mirrors = str(root / "schemas" / "crds" / "kuik.enix.io_imagemirrors.yaml")

    def kinds(seen: Observation) -> list[str]:
        return [resource.kind for resource in seen.snapshot().resources]

    async def scenario() -> None:
        async with asyncio.timeout(100), kubernetes(own.server) as place, place.cluster() as cluster:
            mirror = manifest("ImageMirror", place.name, spec={"destination": {"path": "r.example.com/m"}})
            await place.apply(mirror)
            await place.apply(manifest("ImageMonitor", place.name, spec={}))
            async with cluster.observe(NOTHING) as seen:
                assert ["ImageMirror", "ImageMonitor"] == kinds(seen)
                await asyncio.to_thread(own.server.kubectl, "delete", "--wait=false", "-f", mirrors)
                await eventually(lambda: kinds(seen) == ["ImageMonitor"])
                assert not await cluster.write_status(f"ImageMirror/{place.name}", {"images": {"desired": 1}})
                assert await cluster.write_status(f"ImageMonitor/{place.name}", {"images": {"tracked": 1}})
                await asyncio.to_thread(own.server.kubectl, "apply", "-f", mirrors)
                await asyncio.to_thread(
                    own.server.kubectl, "wait", "--for=condition=Established", "--timeout=60s", "-f", mirrors
                )
                await created_again(place, mirror)
                await eventually(lambda: kinds(seen) == ["ImageMirror", "ImageMonitor"])

    asyncio.run(scenario())


async def created_again(place: Kubernetes, document: dict[str, object]) -> None:
    """Apply an object of a kind that has just been defined: the server may need a moment to serve it."""
    async with asyncio.timeout(30):
        while True:
            try:
                await place.apply(document)
            except ClusterError:
                await asyncio.sleep(0.1)
            else:
                return
