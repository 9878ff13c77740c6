"""Nothing is lost and nothing is asked in a hot loop, whatever the network and the server do."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path

import pytest

from compiler.duration import MILLISECOND, SECOND
from runtime.cluster.api import Call, open_api
from runtime.cluster.follow import Pace
from runtime.cluster.kube import KubernetesCluster, open_cluster
from runtime.cluster.port import Observation
from tests.cluster.api_server import ApiServer
from tests.cluster.proxy import Answer, Proxy, Request, proxied
from tests.cluster.surroundings import Kubernetes, eventually, kubernetes, manifest, pod

pytestmark = pytest.mark.usefixtures("crds")
NOTHING = frozenset[str]()
PACE = Pace(first=20 * MILLISECOND, longest=500 * MILLISECOND, lasting=300 * MILLISECOND, silence=3 * SECOND)


class Scene:
    """An observation through a proxy, and the place that it looks at."""

    def __init__(self, place: Kubernetes, proxy: Proxy, cluster: KubernetesCluster, seen: Observation) -> None:
        self.place, self.proxy, self.cluster, self.seen = place, proxy, cluster, seen

    def images(self) -> set[str]:
        workloads = (w for w in self.seen.snapshot().workloads if w.namespace == self.place.name)
        return {str(image) for workload in workloads for image in workload.images}

    async def add_pod(self, name: str) -> str:
        await self.place.apply(pod(name, self.place.name, f"quay.io/test/{name}:1"))
        return f"quay.io/test/{name}:1"


@asynccontextmanager
async def scene(server: ApiServer, folder: Path, pace: Pace = PACE) -> AsyncIterator[Scene]:
    async with (
        asyncio.timeout(60),
        kubernetes(server) as place,
        proxied(server, folder) as proxy,
        open_cluster(place.name, proxy.kubeconfig, None, pace) as cluster,
        cluster.observe(NOTHING) as observation,
    ):
        yield Scene(place, proxy, cluster, observation)


def test_watches_cut_again_and_again_lose_nothing(api_server: ApiServer, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with scene(api_server, tmp_path) as at:
            expected = set()
            for n in range(10):
                at.proxy.cut()
                expected.add(await at.add_pod(f"p{n}"))
                if n % 3 == 2:
                    await at.place.delete(pod(f"p{n - 1}", at.place.name))
                    expected.discard(f"quay.io/test/p{n - 1}:1")
            await eventually(lambda: at.images() == expected)

            assert 1 == len(at.proxy.lists("/pods")), "it went on from where it was"

    asyncio.run(scenario())


def test_watch_that_is_cut_at_once_is_not_asked_for_in_a_hot_loop(api_server: ApiServer, tmp_path: Path) -> None:
    async def scenario() -> int:
        async with scene(api_server, tmp_path) as at:
            before = len(at.proxy.watches("/pods"))
            async with asyncio.TaskGroup() as group:
                cutting = group.create_task(at.proxy.keep_cutting())
                await asyncio.sleep(2)
                cutting.cancel()
            attempts = len(at.proxy.watches("/pods")) - before
            image = await at.add_pod("after")
            await eventually(lambda: image in at.images())
            return attempts

    # 20 ms doubling to 500 ms: 6 in the first second, then 2 a second; each twice, as aiohttp tries a cut one again
    assert asyncio.run(scenario()) <= 20


@pytest.mark.parametrize("status,headers", [(429, {"Retry-After": "1"}), (500, {}), (503, {})])
def test_server_that_refuses_for_a_while_is_left_alone(
    api_server: ApiServer, tmp_path: Path, status: int, headers: dict[str, str]
) -> None:
    async def scenario() -> tuple[int, float]:
        async with scene(api_server, tmp_path) as at:
            start = len(at.proxy.requests)
            at.proxy.answer = lambda _: (status, headers)
            at.proxy.cut()
            image = await at.add_pod("meanwhile")
            await asyncio.sleep(2.5)
            refused = at.proxy.requests[start:]
            at.proxy.answer = lambda _: None
            await eventually(lambda: image in at.images())
            times = [r.at for r in refused if r.path.endswith("/pods")]
            return len(times), min((b - a for a, b in pairwise(times)), default=99)

    requests, shortest = asyncio.run(scenario())

    if "Retry-After" in headers:
        assert 1 <= requests <= 3
        assert shortest >= 1
    else:
        assert 3 <= requests <= 12


def test_server_that_does_not_answer_is_noticed(api_server: ApiServer, tmp_path: Path) -> None:
    async def scenario() -> None:
        pace = Pace(first=20 * MILLISECOND, longest=SECOND, lasting=300 * MILLISECOND, silence=SECOND)
        async with scene(api_server, tmp_path, pace) as at:
            at.proxy.is_mute = True
            image = await at.add_pod("unseen")
            before = len(at.proxy.watches("/pods"))
            # the silence ends the dead watch, the next one gets through
            await eventually(lambda: len(at.proxy.watches("/pods")) > before)
            at.proxy.is_mute = False
            at.proxy.cut()
            await eventually(lambda: image in at.images())

    asyncio.run(scenario())


def test_kind_that_is_not_there_is_a_kind_without_objects(api_server: ApiServer, tmp_path: Path) -> None:
    def gone(request: Request) -> Answer | None:
        return (404, {}) if request.path.endswith("/imagemirrors") else None

    async def scenario() -> None:
        async with scene(api_server, tmp_path) as at:
            name = at.place.name
            await at.place.apply(manifest("ImageMirror", name, spec={"destination": {"path": "r.example.com/m"}}))
            await eventually(lambda: named(at.seen, name))
            at.proxy.answer = gone
            at.proxy.cut()
            # a watch of a kind that is gone ends with 404; the fresh list says so too
            await eventually(lambda: not named(at.seen, name))
            image = await at.add_pod("others-go-on")
            await eventually(lambda: image in at.images())
            at.proxy.answer = lambda _: None
            await eventually(lambda: named(at.seen, name))

    asyncio.run(scenario())


def named(seen: Observation, name: str) -> list[object]:
    return [r for r in seen.snapshot().resources if r.value["metadata"]["name"] == name]


def test_objects_that_are_many_come_in_pages(api_server: ApiServer, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with kubernetes(api_server) as place, open_api(api_server.kubeconfig, "admin") as api:
            names = [f"p{n:03}" for n in range(110)]
            collection = f"/api/v1/namespaces/{place.name}/pods"
            for name in names:
                await api.send(Call(collection, "POST", body=pod(name, place.name, f"quay.io/test/{name}:1")))
            async with (
                proxied(api_server, tmp_path) as proxy,
                open_cluster(place.name, proxy.kubeconfig, None, PACE) as cluster,
                cluster.observe(NOTHING) as seen,
            ):
                found = {str(i) for w in seen.snapshot().workloads if w.namespace == place.name for i in w.images}

                assert {f"quay.io/test/{name}:1" for name in names} == found
                assert any("continue=" in request.target for request in proxy.requests)

    asyncio.run(scenario())
