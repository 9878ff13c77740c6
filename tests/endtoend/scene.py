"""``kuik run`` for a cluster as a process, with the rights of the manifests, and what a test asks of the server."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from tests.cluster.api_server import ApiServer
from tests.cluster.surroundings import Kubernetes, kubernetes, manifest, pod
from tests.support.kuik_process import KuikProcess, end_with_parent
from tests.support.stage import assert_fits_its_schema

__all__ = [
    "SECOND",
    "cluster_of",
    "configure",
    "kuik_command",
    "monitor_of",
    "pod_of",
    "replica",
    "status_when",
    "to_boot",
]

ROOT = Path(__file__).resolve().parents[2]
SECOND = 10**9
NAMESPACE = "kuik-system"


def configure(folder: Path, hosts: Mapping[str, str], **more: Any) -> Path:
    """Write a configuration in which hosts are checked at intervals; JSON is YAML."""
    registries = {host: {"insecure": True, "check": {"interval": interval}} for host, interval in hosts.items()}
    path = folder / "config.yaml"
    path.write_text(json.dumps({"registries": registries, **more}))
    return path


@contextmanager
def replica(kubeconfig: str, config: Path, *options: str) -> Iterator[KuikProcess]:
    """Run a replica as the context ``kuik`` of a kubeconfig; it is killed at the end of the context."""
    arguments = ["--kubeconfig", kubeconfig, "--context", "kuik", "--namespace", NAMESPACE, "--listen", "127.0.0.1:0"]
    process = subprocess.Popen(
        [sys.executable, "-m", "runtime.cli.main", "run", "-c", str(config), *arguments, *options],
        env=_environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=end_with_parent,  # noqa: PLW1509  it calls nothing of Python's
    )
    running = KuikProcess(process)
    try:
        yield running
    finally:
        process.kill()
        # pytest shows it with a failure
        print(*running.wait(), sep="\n")


def kuik_command(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run another command of kuik to its end."""
    command = [sys.executable, "-m", "runtime.cli.main", *arguments]
    return subprocess.run(command, env=_environment(), capture_output=True, text=True, timeout=60)


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), "NO_PROXY": "*"}


@asynccontextmanager
async def cluster_of(server: ApiServer) -> AsyncIterator[Kubernetes]:
    """Make a namespace for a test, in which nothing of an earlier one is left, and no lease either."""
    async with kubernetes(server) as place:
        server.kubectl("delete", "lease", "kuik-reconciler", "-n", NAMESPACE, "--ignore-not-found")
        yield place


def monitor_of(place: Kubernetes, name: str = "", **spec: Any) -> dict[str, Any]:
    """Make a monitor of all pods of a test, named after it."""
    return manifest("ImageMonitor", name or place.name, spec={"podSelector": {"matchLabels": labels(place)}, **spec})


def pod_of(place: Kubernetes, name: str, *images: str, **fields: Any) -> dict[str, Any]:
    """Make a pod that the test's monitors select."""
    return pod(name, place.name, *images, labels=labels(place), **fields)


def labels(place: Kubernetes) -> dict[str, str]:
    return {"test": place.name}


async def status_when(
    place: Kubernetes, owner: str, happened: Callable[[dict[str, Any]], object], within: float = 30
) -> dict[str, Any]:
    """Wait until the status of an owner is as a test wants it, and give it; it fits its schema."""
    status = dict[str, Any]()
    deadline = time.monotonic() + within
    while not (status and happened(status)):
        assert time.monotonic() < deadline, f"not so after {within} s: {json.dumps(status)}"
        await asyncio.sleep(0.05)
        status = await place.status(owner) or {}
    assert_fits_its_schema(owner.partition("/")[0], status)
    return status


def to_boot(text: str) -> int:
    """Say where on CLOCK_BOOTTIME a time of day is, in nanoseconds."""
    ahead = time.time_ns() - time.clock_gettime_ns(time.CLOCK_BOOTTIME)
    return round(datetime.fromisoformat(text).timestamp() * SECOND) - ahead
