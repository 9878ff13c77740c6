"""What monitors find of the pods of a real API server, as their statuses tell it, while resources come and go."""

from __future__ import annotations

import asyncio
import signal
from contextlib import AsyncExitStack
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.api_server import ApiServer
from tests.cluster.proxy import Proxy, proxied
from tests.cluster.surroundings import Kubernetes
from tests.endtoend.scene import cluster_of, configure, monitor_of, pod_of, replica, status_when
from tests.support.hostile import hostile
from tests.support.images import Content, image, index, layer
from tests.support.small_registry import SmallRegistry
from tests.support.stage import condition, running

PLAIN, MOVED, OLD = (image([layer(seed)]) for seed in range(3))
AMD, ARM = (image([layer(seed)], platform=f"linux/{name}") for seed, name in ((3, "amd64"), (4, "arm64")))
MULTI = index([AMD, ARM])
TAGS = {"plain": PLAIN, "moved": MOVED, "multi": MULTI}
# what runs in which pod; of the pods "gone" the registry has no image any more
PODS: dict[str, tuple[str, Content]] = {
    "plain": ("plain", PLAIN),
    "multi-index": ("multi", MULTI),
    "multi-platform": ("multi", ARM),
    "moved": ("moved", OLD),
    "gone-1": ("gone", PLAIN),
    "gone-2": ("gone", PLAIN),
}


class Scene:
    """Pods that run, monitors of them, and a controller of a cluster whose requests are counted."""

    def __init__(self, place: Kubernetes, host: str, proxy: Proxy) -> None:
        self.place, self.host, self.proxy = place, host, proxy

    def image(self, name: str) -> str:
        return f"{self.host}/app/{name}:1"

    def pod(self, name: str) -> dict[str, Any]:
        tag, content = PODS[name]
        return pod_of(self.place, name, self.image(tag), **running(content.digest))

    async def monitor(self, name: str, **spec: Any) -> str:
        """Create a monitor and give its owner."""
        await self.place.apply(monitor_of(self.place, f"{self.place.name}-{name}", **spec))
        return f"ImageMonitor/{self.place.name}-{name}"

    def writes(self, owner: str) -> list[float]:
        """Give when the status of an owner was written, in seconds."""
        end = f"/{owner.partition('/')[2]}/status"
        return [r.at for r in self.proxy.requests if r.method == "PATCH" and r.path.endswith(end)]


async def everything_found(scene: Scene, owner: str) -> None:
    """The state of the world before anything goes."""
    status = await status_when(scene.place, owner, lambda s: s["images"]["unknown"] == 0)

    counts = {"tracked": 4, "inUse": 4, "retained": 0, "available": 3, "unavailable": 1, "unknown": 0, "drifted": 1}
    assert counts == status["images"]
    (gone,), (drift,) = status["unavailableImages"], status["driftedImages"]
    assert (scene.image("gone"), "NotFound", 2) == (gone["ref"], gone["reason"], gone["referencedBy"])
    assert {
        "ref": scene.image("moved"),
        "runningDigest": OLD.digest,
        "upstreamDigest": MOVED.digest,
        "referencedBy": 1,
    } == drift
    assert ("True", "Reconciled") == condition(status, "Ready")
    assert ("False", "ImagesUnavailable") == condition(status, "AllImagesAvailable")
    assert ("False", "ImagesDrifted") == condition(status, "NoImageDrift")


async def unused_is_retained(scene: Scene, owner: str) -> None:
    status = await status_when(scene.place, owner, lambda s: s["images"]["retained"] == 2)

    counts = {"tracked": 4, "inUse": 2, "retained": 2, "available": 3, "unavailable": 1, "unknown": 0, "drifted": 0}
    assert counts == status["images"]
    kept = {r["ref"]: r.get("digest") for r in status["retainedImages"]}
    assert {scene.image("gone"): None, scene.image("moved"): MOVED.digest} == kept
    assert [0] == [u["referencedBy"] for u in status["unavailableImages"]]
    assert ("True", "NoDrift") == condition(status, "NoImageDrift")


async def story(server: ApiServer, folder: Path) -> dict[str, list[float]]:
    """Let pods and monitors come and go; give the times at which each status was written while the controller ran."""
    registry = SmallRegistry()
    for name, content in TAGS.items():
        registry.put(f"app/{name}", "1", content)
    async with AsyncExitStack() as stack:
        place = await stack.enter_async_context(cluster_of(server))
        host = await stack.enter_async_context(hostile({}))
        host.otherwise = registry
        scene = Scene(place, host.host, await stack.enter_async_context(proxied(server, folder, "kuik")))
        for name in PODS:
            await place.apply(scene.pod(name))
        keeps = await scene.monitor("keeps", unusedImageRetention="1h", driftDetection=True)
        twin = await scene.monitor("twin", unusedImageRetention="1h", driftDetection=True)
        empty = await scene.monitor("empty", podSelector={"matchLabels": {"test": "of-nobody"}})
        kuik = stack.enter_context(replica(scene.proxy.kubeconfig, configure(folder, {host.host: "1s"})))
        for owner in (keeps, twin):
            await everything_found(scene, owner)

        for name in ("moved", "gone-1", "gone-2"):
            await place.delete(scene.pod(name))
        # renamed: the one that goes takes what it retained with it, its twin and the new one don't care
        await unused_is_retained(scene, keeps)
        await place.delete(monitor_of(place, keeps.partition("/")[2]))
        renamed = await scene.monitor("renamed", unusedImageRetention="1h", driftDetection=True)
        status = await status_when(place, renamed, lambda s: s["images"]["available"] == 2)
        assert (2, 0) == (status["images"]["tracked"], status["images"]["retained"])
        await unused_is_retained(scene, twin)
        assert await place.status(keeps) is None

        writes = {owner: scene.writes(owner) for owner in (twin, empty)}
        assert 0 == await asyncio.to_thread(kuik.end, signal.SIGTERM)
        (ring,) = (await place.status(twin))["checks"]["registries"]
        assert {"registry": host.host, "images": 4} == {k: ring[k] for k in ("registry", "images")}
        assert [] == [line for line in kuik.log if line.get("level") == "error"]
        return writes


@pytest.mark.rule("H6")
def test_statuses_tell_of_retained_and_drifted_images_and_are_written_seldom(
    stage_server: ApiServer, tmp_path: Path
) -> None:
    changing, constant = asyncio.run(story(stage_server, tmp_path)).values()

    # a ring moves every second
    assert len(changing) >= 3
    assert min(later - earlier for earlier, later in pairwise(changing)) > 4.9
    assert len(constant) == 1
