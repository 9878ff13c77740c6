#!/usr/bin/env python3
"""What a cluster of 5,000 pods costs the controller: time to the first plan, memory, and how late a change is seen.

A real API server is filled and then observed by a process of its own, so that its memory is its own, while pods come
and go. Not part of a laptop without an API server: there it says so and ends.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final

from make_cluster import Cluster, make_pods
from measure import ROOT, print_table

sys.path.insert(0, str(ROOT))

from compiler.compilation import compile_state
from compiler.config import Config
from compiler.duration import MINUTE
from runtime.cluster.api import Api, Call, open_api
from runtime.cluster.kube import open_cluster
from runtime.cluster.port import Observation
from tests.cluster.api_server import start_api_server
from tests.cluster.binaries import Unavailable, find_or_build

NAMESPACES: Final = 50
AT_ONCE: Final = 16
PER_SECOND: Final = 20
CHURN_SECONDS: Final = 20
MONITOR: Final = {
    "apiVersion": "kuik.enix.io/v1alpha1",
    "kind": "ImageMonitor",
    "metadata": {"name": "all"},
    "spec": {},
}


async def fill(kubeconfig: str, pods: int) -> None:
    """Create namespaces, one monitor of everything, and pods."""
    async with open_api(kubeconfig) as api:
        for n in range(NAMESPACES):
            body: dict[str, Any] = {"metadata": {"name": f"ns-{n:03d}"}}
            await api.send(Call("/api/v1/namespaces", "POST", body=body))
        await api.send(Call("/apis/kuik.enix.io/v1alpha1/imagemonitors", "POST", body=MONITOR))
        places = asyncio.Semaphore(AT_ONCE)

        async def create(pod: dict[str, Any]) -> None:
            del pod["metadata"]["ownerReferences"]
            async with places:
                path = f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods"
                await api.send(Call(path, "POST", body=pod, timeout=MINUTE))

        cluster = Cluster(pods, images=1000, namespaces=NAMESPACES)
        await asyncio.gather(*(create(pod) for pod in make_pods(cluster)))


def images_of(observation: Observation) -> set[str]:
    """Compile what is there now, and give the images of the plan."""
    snapshot = observation.snapshot()
    compiled = compile_state(Config(), snapshot.resources, snapshot.workloads, snapshot.namespaces)
    assert compiled.plan is not None
    return {image for host in compiled.plan.hosts for ring in host.check.rings for image in ring.images}


async def come_and_go(api: Api, created: dict[str, float]) -> None:
    """Create a pod and delete another, so many times a second; note when each image became known to the server."""
    for n in range(PER_SECOND * CHURN_SECONDS):
        image = f"quay.io/churn/app:{n}"
        spec = {"containers": [{"name": "c", "image": image}]}
        path = f"/api/v1/namespaces/ns-{n % NAMESPACES:03d}/pods"
        await api.send(Call(path, "POST", body={"metadata": {"name": f"churn-{n}"}, "spec": spec}))
        created[image] = time.perf_counter()
        if n >= PER_SECOND:
            old = n - PER_SECOND
            path = f"/api/v1/namespaces/ns-{old % NAMESPACES:03d}/pods/churn-{old}"
            await api.send(Call(path, "DELETE", body={"gracePeriodSeconds": 0}))
        await asyncio.sleep(1 / PER_SECOND)


async def note_delays(observation: Observation, created: dict[str, float], delays: dict[str, float]) -> None:
    """Compile after each change, off the loop as the controller does it, and note how late each image is in a plan."""
    async for _ in observation.changes():
        planned = await asyncio.to_thread(images_of, observation)
        now = time.perf_counter()
        for image in planned & created.keys() - delays.keys():
            delays[image] = now - created[image]


async def note_blocking(longest: list[float]) -> None:
    """Note how late a timer goes off."""
    while True:
        began = time.perf_counter()
        await asyncio.sleep(0.005)
        longest.append(time.perf_counter() - began - 0.005)


def resident() -> float:
    """Give the memory of this process in MiB."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


async def observe(kubeconfig: str) -> dict[str, float]:
    """Measure, in a process that has nothing else in memory."""
    gc.collect()
    gc.freeze()
    before, began = resident(), time.perf_counter()
    async with (
        open_api(kubeconfig) as api,
        open_cluster("kuik-system", kubeconfig) as cluster,
        cluster.observe(frozenset()) as observation,
    ):
        listed = time.perf_counter() - began
        await asyncio.to_thread(images_of, observation)
        first = time.perf_counter() - began
        created, delays, late = dict[str, float](), dict[str, float](), list[float]()
        tasks = [
            asyncio.create_task(note_delays(observation, created, delays)),
            asyncio.create_task(note_blocking(late)),
        ]
        await come_and_go(api, created)
        await asyncio.sleep(1)
        for task in tasks:
            task.cancel()
        ordered = sorted(delays.values())
        return {
            "listed": listed,
            "first plan": first,
            "seen": len(ordered) / len(created),
            "p50": ordered[len(ordered) // 2],
            "p99": ordered[int(len(ordered) * 0.99) - 1],
            "late p99": sorted(late)[int(len(late) * 0.99) - 1],
            "late max": max(late),
            "memory before": before,
            "memory after": resident(),
        }


def main() -> None:
    """Print the table."""
    arguments = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    arguments.add_argument("--pods", type=int, default=5000)
    arguments.add_argument("--observe", metavar="KUBECONFIG", help=argparse.SUPPRESS)
    given = arguments.parse_args()
    if given.observe:
        print(json.dumps(asyncio.run(observe(given.observe))))
        return
    try:
        binaries = find_or_build()
    except Unavailable as reason:
        print(f"\ncluster: no API server here: {reason}")
        return
    with tempfile.TemporaryDirectory() as folder:
        server = start_api_server(binaries, Path(folder), os.getpid())
        try:
            crds = str(ROOT / "schemas" / "crds")
            server.kubectl("apply", "-f", crds)
            server.kubectl("wait", "--for=condition=Established", "--timeout=60s", "-f", crds)
            asyncio.run(fill(server.kubeconfig, given.pods))
            command = [sys.executable, __file__, "--observe", server.kubeconfig]
            said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        finally:
            os.kill(server.keeper, signal.SIGTERM)
    report(given.pods, json.loads(said))


def report(pods: int, found: dict[str, float]) -> None:
    """Print what was measured, beside its limits."""
    rows = [
        ("everything listed", f"{found['listed']:.2f} s", "", ""),
        ("first plan", f"{found['first plan']:.2f} s", "", ""),
        ("changes that reached a plan", f"{found['seen']:.1%}", "", ""),
        ("a pod to its plan, median", f"{found['p50']:.3f} s", "", ""),
        ("a pod to its plan, 99th percentile", f"{found['p99']:.3f} s", "1 s", is_met(found["p99"] < 1)),
        ("a timer is late, 99th percentile", f"{found['late p99'] * 1000:.1f} ms", "", ""),
        ("a timer is late, at most", f"{found['late max'] * 1000:.1f} ms", "50 ms", is_met(found["late max"] < 0.05)),
        ("memory before", f"{found['memory before']:.0f} MiB", "", ""),
        ("memory after", f"{found['memory after']:.0f} MiB", "", ""),
    ]
    title = f"{pods} pods in {NAMESPACES} namespaces on a real API server, {PER_SECOND} a second coming and going"
    print_table(title, ("", "measured", "limit", "met"), rows)


def is_met(met: bool) -> str:
    """Say it in a word."""
    return "yes" if met else "NO"


if __name__ == "__main__":
    main()
