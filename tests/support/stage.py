"""A stage for the controller: the local adapter, registries on loopback, and time that nobody has to wait for."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

import schemas
from compiler.duration import SECOND
from compiler.source import Text, read_documents
from runtime.cluster.local import LocalCluster, Sources
from runtime.controller import Clocks, Controller, Instruments, Settings
from runtime.metrics import Metrics
from runtime.pace import publish_into
from tests.support.hostile import Hostile, Reply, Seen
from tests.support.virtual_time import VirtualTimeLoop

__all__ = [
    "Stage",
    "assert_fits_its_schema",
    "condition",
    "digest_of",
    "has_everything",
    "mirror",
    "monitor",
    "pod",
    "running",
]

# of the wall clock when the virtual one stands at 0
NOON = 1_764_504_000 * SECOND


def digest_of(text: str) -> str:
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def has_everything(seen: Seen) -> Reply:
    """Answer as a registry that has every image; the digest is made of the path."""
    headers = {
        "Docker-Content-Digest": digest_of(seen.path),
        "Content-Type": "application/vnd.oci.image.manifest.v1+json",
    }
    return Reply(200, headers)


@dataclass
class Stage:
    """One state folder, one folder of manifests and one configuration; processes come and go on it.

    Attributes:
        clock: of the loop that runs the test.
        registry: answers every read.
    """

    folder: Path
    clock: VirtualTimeLoop
    registry: Hostile
    metrics: Metrics = field(default_factory=Metrics)
    controller: Controller | None = None
    running: asyncio.Task[int] | None = None

    @property
    def host(self) -> str:
        return self.registry.host

    @property
    def state(self) -> Path:
        return self.folder / "state"

    def configure(self, config: Any) -> None:
        """Write the configuration; JSON is YAML."""
        (self.folder / "config.yaml").write_text(config if isinstance(config, str) else json.dumps(config))

    def pace(self, check: str = "10s", copy: str = "30s", **more: Any) -> dict[str, Any]:
        """Give a configuration in which the registry is read at a pace."""
        entry = {"insecure": True, "check": {"interval": check}, "copy": {"interval": copy}}
        return {"registries": {self.host: entry}, **more}

    def write(self, *documents: Any, name: str = "manifests") -> None:
        """Write manifests, in place of what was there."""
        place = self.folder / "manifests"
        place.mkdir(exist_ok=True)
        (place / f"{name}.yaml").write_text("\n---\n".join(json.dumps(d) for d in documents))

    def image(self, name: str) -> str:
        return f"{self.host}/{name}"

    @asynccontextmanager
    async def process(self, **settings: Any) -> AsyncIterator[Controller]:
        """Run a controller while the context lasts; it is killed at the end unless it has ended."""
        boot = self.clock.nanoseconds
        clocks = Clocks(boot, lambda: NOON + boot())
        sources = Sources((str(self.folder / "manifests"),))
        cluster = LocalCluster(sources, self.state, boot)
        self.metrics = Metrics()
        chosen = Settings(str(self.folder / "config.yaml"), **settings)
        self.controller = Controller(chosen, cluster, Instruments(self.metrics, clocks, publish_into(self.state)))
        self.running = asyncio.create_task(self.controller.run())
        try:
            yield self.controller
        finally:
            self.running.cancel()
            await asyncio.gather(self.running, return_exceptions=True)

    async def until(self, happened: Callable[[], bool]) -> None:
        """Let time pass until something has happened; a process that ends by itself never lets it."""
        for _ in range(20_000):
            if happened():
                return
            if self.running is not None and self.running.done():
                self.running.result()
                raise AssertionError("the process has ended")
            await asyncio.sleep(0.2)
        raise AssertionError("it never happened")

    async def leads(self) -> None:
        """Wait for the first plan."""
        await self.until(lambda: self.controller is not None and self.controller.plan is not None)

    async def asked(self, count: int) -> list[str]:
        """Wait until the registry has been asked so often, and give the paths."""
        await self.until(lambda: len(self.registry.requests) >= count)
        return [seen.path for seen in self.registry.requests]

    async def stop(self) -> int:
        """Stop cleanly and give the exit code."""
        assert self.controller is not None
        assert self.running is not None
        self.controller.stop()
        return await self.running

    def status(self, owner: str) -> dict[str, Any]:
        """Read the status of an owner as it is on disk."""
        path = self.state / "status" / f"{owner}.yaml"
        document: Any = read_documents(Text(str(path), path.read_text()))[0][0].value
        status: dict[str, Any] = document["status"]
        assert_fits_its_schema(owner.partition("/")[0], status)
        return status

    def has_status(self, owner: str) -> bool:
        return (self.state / "status" / f"{owner}.yaml").exists()

    def metric(self, name: str, /, **labels: str) -> float | None:
        """Give a sample of the metrics, None where there is none; labels that aren't named don't count."""
        self.metrics.collect()
        for line in self.metrics.render().decode().splitlines():
            found, _, rest = line.partition("{") if "{" in line else line.partition(" ")
            if found == name and all(f'{key}="{value}"' in rest for key, value in labels.items()):
                return float(line.rpartition(" ")[2])
        return None


def assert_fits_its_schema(kind: str, status: dict[str, Any]) -> None:
    """Hold a status against the schema of its kind: every field, every condition and every reason is one it lists."""
    schema: Any = schemas.load(kind.lower())
    node = schema["properties"]["status"]
    assert [] == [e.message for e in Draft202012Validator({**node, "$defs": schema["$defs"]}).iter_errors(status)]
    assert set() == status.keys() - node["properties"].keys()
    listed = node["properties"]["conditions"]["x-conditions"]
    for one in status["conditions"]:
        assert one["reason"] in listed[one["type"]][one["status"]]


def condition(status: dict[str, Any], kind: str) -> tuple[str, str]:
    """Give status and reason of a condition."""
    found = next(c for c in status["conditions"] if c["type"] == kind)
    return found["status"], found["reason"]


def pod(name: str, *images: str, labels: dict[str, str] | None = None, **status: Any) -> dict[str, Any]:
    containers = [{"name": f"c{i}", "image": image} for i, image in enumerate(images)]
    metadata = {"name": name, "namespace": "default", "labels": labels or {}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": containers}, **status}


def running(*digests: str) -> dict[str, Any]:
    """Give the status of a pod whose containers run these digests."""
    statuses = [{"name": f"c{i}", "imageID": f"x@{digest}"} for i, digest in enumerate(digests)]
    return {"status": {"phase": "Running", "containerStatuses": statuses}}


def monitor(name: str = "all", **spec: Any) -> dict[str, Any]:
    return {"apiVersion": "kuik.enix.io/v1alpha1", "kind": "ImageMonitor", "metadata": {"name": name}, "spec": spec}


def mirror(path: str, name: str = "all", **spec: Any) -> dict[str, Any]:
    whole = {"destination": {"path": path, "insecure": True}, **spec}
    return {"apiVersion": "kuik.enix.io/v1alpha1", "kind": "ImageMirror", "metadata": {"name": name}, "spec": whole}
