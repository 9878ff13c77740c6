#!/usr/bin/env python3
"""What a cluster of 5,000 pods costs the controller: time to the first plan, memory, and how late a change is seen.

A real API server is filled, and then a controller leads in a process of its own, so that its memory is its own, while
pods come and go. No window opens meanwhile. Not part of a laptop without an API server: there it says so and ends.
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

from compiler.duration import MINUTE
from compiler.plan import Plan
from runtime.cluster.api import Api, Call, open_api
from runtime.cluster.kube import open_cluster
from runtime.controller import Controller, Instruments, Settings
from tests.cluster.api_server import start_api_server
from tests.cluster.binaries import Unavailable, find_or_build

NAMESPACES: Final = 50
AT_ONCE: Final = 16
PER_SECOND: Final = 20
CHURN_SECONDS: Final = 20
LOOK_SECONDS: Final = 0.005
PACE: Final = "registries: {default: {check: {interval: 24h}, copy: {interval: 24h}}}"
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


def images_of(plan: Plan | None) -> set[str]:
    """Give the images of a plan."""
    hosts = plan.hosts if plan is not None else ()
    return {image for host in hosts for ring in host.check.rings for image in ring.images}


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


async def note_delays(controller: Controller, created: dict[str, float], delays: dict[str, float]) -> None:
    """Look at each plan that comes into force, off the loop, and note how late each image is in one."""
    before = controller.plan
    while True:
        await asyncio.sleep(LOOK_SECONDS)
        if (plan := controller.plan) is before:
            continue
        now, before = time.perf_counter(), plan
        for image in await asyncio.to_thread(lambda plan=plan: images_of(plan) & created.keys()) - delays.keys():
            delays[image] = now - created[image]


async def note_blocking(late: list[tuple[float, float]]) -> None:
    """Note how late a timer goes off, and how much of that the process itself has worked: the rest is the machine's."""
    while True:
        began, worked = time.perf_counter(), time.process_time()
        await asyncio.sleep(LOOK_SECONDS)
        lateness = time.perf_counter() - began - LOOK_SECONDS
        late.append((lateness, min(lateness, time.process_time() - worked)))


def resident() -> float:
    """Give the memory of this process in MiB."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


async def observe(kubeconfig: str, config: str) -> dict[str, float]:
    """Measure a controller, in a process that has nothing else in memory."""
    gc.collect()
    gc.freeze()
    before, began = resident(), time.perf_counter()
    async with open_api(kubeconfig) as api, open_cluster("default", kubeconfig) as cluster:
        controller = Controller(Settings(config), cluster, Instruments())
        late = list[tuple[float, float]]()
        watching = asyncio.create_task(note_blocking(late))
        leading = asyncio.create_task(controller.run())
        while controller.plan is None:  # noqa: ASYNC110  a plan has no event
            await asyncio.sleep(LOOK_SECONDS)
        at_first = {"first plan": time.perf_counter() - began, "late at first": max(own for _, own in late)}
        late.clear()
        created, delays = dict[str, float](), dict[str, float]()
        looking = asyncio.create_task(note_delays(controller, created, delays))
        await come_and_go(api, created)
        await asyncio.sleep(1)
        looking.cancel()
        watching.cancel()
        memory = {"memory before": before, "memory after": resident()}
        controller.stop()
        await leading
    return {**at_first, **figures(created, delays, late), **memory}


def figures(created: dict[str, float], delays: dict[str, float], late: list[tuple[float, float]]) -> dict[str, float]:
    """Give what counts of many measurements, in seconds."""
    ordered = sorted(delays.values())
    return {
        "seen": len(ordered) / len(created),
        "p50": ordered[len(ordered) // 2],
        "p99": ordered[int(len(ordered) * 0.99) - 1],
        "late max": max(late)[0],
        "own max": max(own for _, own in late),
        "own p99": sorted(own for _, own in late)[int(len(late) * 0.99) - 1],
    }


def main() -> None:
    """Print the table."""
    arguments = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    arguments.add_argument("--pods", type=int, default=5000)
    arguments.add_argument("--observe", nargs=2, metavar=("KUBECONFIG", "CONFIG"), help=argparse.SUPPRESS)
    given = arguments.parse_args()
    if given.observe:
        print(json.dumps(asyncio.run(observe(*given.observe))))
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
            config = Path(folder, "config.yaml")
            config.write_text(PACE, encoding="utf-8")
            command = [sys.executable, __file__, "--observe", server.kubeconfig, str(config)]
            said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        finally:
            os.kill(server.keeper, signal.SIGTERM)
    report(given.pods, json.loads(said))


def report(pods: int, found: dict[str, float]) -> None:
    """Print what was measured, beside its limits."""
    rows = [
        ("first plan, from the start", f"{found['first plan']:.2f} s", "", ""),
        ("a timer is late by its own work until then, at most", f"{found['late at first'] * 1000:.1f} ms", "", ""),
        ("changes that reached a plan", f"{found['seen']:.1%}", "", ""),
        ("a pod to its plan, median", f"{found['p50']:.3f} s", "", ""),
        ("a pod to its plan, 99th percentile", f"{found['p99']:.3f} s", "1 s", is_met(found["p99"] < 1)),
        ("a timer is late by its own work, 99th percentile", f"{found['own p99'] * 1000:.1f} ms", "", ""),
        ("by its own work, at most", f"{found['own max'] * 1000:.1f} ms", "50 ms", is_met(found["own max"] < 0.05)),
        ("by whatever else the machine does, at most", f"{found['late max'] * 1000:.1f} ms", "", ""),
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
