"""A controller whose API server fails, restarts and loses a kind: nothing is lost, nothing asked in a hot loop."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from contextlib import AsyncExitStack
from itertools import cycle
from pathlib import Path

import pytest

from compiler.duration import SECOND
from runtime.cluster.api import Call
from runtime.cluster.errors import ClusterError
from tests.cluster.own_server import OwnServer
from tests.cluster.proxy import Answer, Proxy, proxied
from tests.cluster.surroundings import Kubernetes, eventually
from tests.endtoend.conftest import apply_base
from tests.endtoend.scene import cluster_of, configure, monitor_of, pod_of, replica, status_when
from tests.support.kuik_process import KuikProcess
from tests.support.recording_registry import recording_registry

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="finds its server in /proc")
# the leader is to outlive a restart of the server, however slow the machine
ELECTION = {"leaseDuration": "180s", "renewDeadline": "150s", "retryPeriod": "1s"}
FAILING_SECONDS = float(os.environ.get("KUIK_FAILING", "3"))
# Of seven watches, a lease and two statuses. A watch waits 0.8 s and twice as long each time, a status 5 ms and twice
# as long each time, and reads before it writes; a hot loop would ask thousands of times.
MOST_REQUESTS = 100 + 2 * int(FAILING_SECONDS)


class Scene:
    """A monitor of pods that come, and one of nothing, at a server that fails."""

    def __init__(self, own: OwnServer, place: Kubernetes, proxy: Proxy, host: str) -> None:
        self.own, self.place, self.proxy, self.host = own, place, proxy, host
        self.pods = 0

    @property
    def owner(self) -> str:
        return f"ImageMonitor/{self.place.name}"

    async def add_pod(self) -> None:
        self.pods += 1
        name = f"app-{self.pods}"
        await self.place.apply(pod_of(self.place, name, f"{self.host}/team/{name}:1"))

    async def all_seen(self) -> None:
        """Wait until the status has every pod, each of them checked."""
        await status_when(self.place, self.owner, lambda s: s["images"]["available"] == self.pods, 60)

    async def fails(self, *answers: Answer) -> None:
        """Let the server answer everything with errors for a while, in which a pod comes; watches are cut first."""
        turns = cycle(answers)
        self.proxy.answer = lambda _: next(turns)
        self.proxy.cut()
        asked, until = len(self.proxy.requests), asyncio.get_running_loop().time() + FAILING_SECONDS
        await self.add_pod()
        await eventually(lambda: asyncio.get_running_loop().time() > until, FAILING_SECONDS + 30)
        self.proxy.answer = lambda _: None
        assert len(self.proxy.requests) - asked < MOST_REQUESTS
        await self.all_seen()

    async def restarts(self) -> None:
        """Kill the server and start it again; a pod comes before kuik can have noticed."""
        asked = len(self.proxy.requests)
        self.own.stop()
        self.own.start()
        async with asyncio.timeout(60):
            while True:
                try:
                    await self.place.api.send(Call("/api/v1/namespaces", timeout=SECOND))
                    break
                except ClusterError:
                    await asyncio.sleep(0.05)
        await self.add_pod()
        assert len(self.proxy.requests) - asked < MOST_REQUESTS
        await self.all_seen()

    async def is_replaced(self) -> None:
        """Delete a monitor and create it again before anybody can have looked: its status is written anew."""
        nothing = monitor_of(self.place, f"{self.place.name}-empty", podSelector={"matchLabels": {"test": "of-nobody"}})
        owner = f"ImageMonitor/{self.place.name}-empty"
        await self.place.apply(nothing)
        await status_when(self.place, owner, lambda _: True)
        await self.place.delete(nothing)
        await self.place.apply(nothing)
        await status_when(self.place, owner, lambda _: True)

    async def loses_its_kinds(self, kuik: KuikProcess, root: Path) -> None:
        """Remove a CustomResourceDefinition and apply it again."""
        server, crd = self.own.server, "imagemonitors.kuik.enix.io"
        done = await asyncio.to_thread(server.kubectl, "delete", "crd", crd)
        assert done.returncode == 0, done.stderr
        await eventually(lambda: "team/app-1" not in kuik.get("/plan"))
        asked = len(self.proxy.requests)
        await asyncio.to_thread(apply_base, server, root)
        await self.place.apply(monitor_of(self.place))
        await self.all_seen()
        assert len(self.proxy.requests) - asked < 2 * MOST_REQUESTS


def test_nothing_is_lost_when_the_server_fails(own: OwnServer, tmp_path: Path, root: Path) -> None:
    async def scenario(host: str) -> None:
        async with AsyncExitStack() as stack:
            place = await stack.enter_async_context(cluster_of(own.server))
            proxy = await stack.enter_async_context(proxied(own.server, tmp_path, "kuik"))
            scene = Scene(own, place, proxy, host)
            await place.apply(monitor_of(place))
            await scene.add_pod()
            config = configure(tmp_path, {host: "1s"}, controller={"leaderElection": ELECTION})
            kuik = stack.enter_context(replica(proxy.kubeconfig, config))
            await scene.all_seen()

            await scene.is_replaced()
            await scene.fails((500, {}), (429, {"Retry-After": "1"}))
            await scene.restarts()
            await scene.loses_its_kinds(kuik, root)

            assert 1 == len(kuik.said("leading"))
            assert 0 == await asyncio.to_thread(kuik.end, signal.SIGTERM)
            assert [] == [line for line in kuik.log if line.get("level") == "error"]

    with recording_registry() as registry:
        asyncio.run(scenario(registry.host))
