"""What the port's tests need of either adapter: to change the surroundings from outside, and to look at them."""

from __future__ import annotations

import asyncio
import base64
import json
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Protocol

from compiler.duration import MILLISECOND, SECOND
from compiler.source import Text, read_documents
from runtime.cluster.api import Api, Call, open_api
from runtime.cluster.errors import NotFound
from runtime.cluster.follow import Pace
from runtime.cluster.kube import KubernetesCluster, open_cluster
from runtime.cluster.leadership import LeaseTimes
from runtime.cluster.local import LocalCluster, Sources
from runtime.cluster.port import Cluster, Observation
from tests.cluster.api_server import ApiServer

__all__ = ["IN_A_HURRY", "SHORT", "Kubernetes", "Local", "Surroundings", "eventually", "following", "manifest"]

Document = dict[str, Any]

SHORT = LeaseTimes(lease=SECOND, renew_deadline=700 * MILLISECOND, retry=100 * MILLISECOND)
IN_A_HURRY = Pace(first=20 * MILLISECOND, longest=SECOND, lasting=500 * MILLISECOND, silence=3 * SECOND)
_COLLECTIONS = {
    "ImageMonitor": "/apis/kuik.enix.io/v1alpha1/imagemonitors",
    "ImageMirror": "/apis/kuik.enix.io/v1alpha1/imagemirrors",
    "Namespace": "/api/v1/namespaces",
    "Node": "/api/v1/nodes",
    "Pod": "/api/v1/namespaces/{}/pods",
    "Secret": "/api/v1/namespaces/{}/secrets",
}


class Surroundings(Protocol):
    """A place for one test; ``name`` is unique in it and a namespace that exists."""

    name: str

    def cluster(self) -> AbstractAsyncContextManager[Cluster]: ...

    async def apply(self, document: Document) -> None: ...

    async def delete(self, document: Document) -> None: ...

    async def status(self, owner: str) -> Any: ...


class Local:
    """Manifests and state in folders."""

    name = "test"

    def __init__(self, folder: Path) -> None:
        self.manifests, self.state = folder / "manifests", folder / "state"
        self.manifests.mkdir(parents=True)

    @asynccontextmanager
    async def cluster(self) -> AsyncIterator[Cluster]:
        yield LocalCluster(Sources((str(self.manifests),)), self.state)

    async def apply(self, document: Document) -> None:
        # as an editor does it: a new file in the place of the old one
        temporary = self.manifests / ".new"
        temporary.write_text(json.dumps(document))
        temporary.rename(self._file(document))

    async def delete(self, document: Document) -> None:
        self._file(document).unlink()

    async def status(self, owner: str) -> Any:
        path = self.state / "status" / f"{owner}.yaml"
        if not path.exists():
            return None
        return read_documents(Text(str(path), path.read_text()))[0][0].value["status"]

    def _file(self, document: Document) -> Path:
        metadata = document["metadata"]
        return self.manifests / f"{document['kind']}-{metadata.get('namespace', '')}-{metadata['name']}.yaml"


class Kubernetes:
    """A namespace of a real API server; what is in no namespace is named after it."""

    def __init__(self, server: ApiServer, api: Api, kubeconfig: str | None = None, context: str = "admin") -> None:
        self.server, self.api, self.context = server, api, context
        self.kubeconfig = kubeconfig or server.kubeconfig
        self.name = f"test-{uuid.uuid4().hex[:12]}"
        self.applied = list[Document]()

    @asynccontextmanager
    async def cluster(self) -> AsyncIterator[KubernetesCluster]:
        async with open_cluster(self.name, self.kubeconfig, self.context, IN_A_HURRY) as cluster:
            yield cluster

    async def apply(self, document: Document) -> None:
        self.applied.append(document)
        status = document.get("status")
        await self._patch(self.path(document), {k: v for k, v in document.items() if k != "status"})
        if status is not None:
            await self._patch(f"{self.path(document)}/status", {k: v for k, v in document.items() if k != "spec"})

    async def _patch(self, path: str, body: Document) -> None:
        query = {"fieldManager": "test", "force": "true"}
        await self.api.send(Call(path, "PATCH", query, body, "application/apply-patch+yaml"))

    async def delete(self, document: Document) -> None:
        body = {"gracePeriodSeconds": 0}
        await self.api.send(Call(self.path(document), "DELETE", body=body))

    async def status(self, owner: str) -> Any:
        kind, _, name = owner.partition("/")
        try:
            return (await self.api.send(Call(f"{_COLLECTIONS[kind]}/{name}"))).get("status")
        except NotFound:
            return None

    def path(self, document: Document) -> str:
        metadata = document["metadata"]
        return f"{_COLLECTIONS[document['kind']].format(metadata.get('namespace', ''))}/{metadata['name']}"

    async def tidy(self) -> None:
        """Remove everything: other tests see it, and no controller of this server empties a namespace."""
        for pods_and_secrets in ("pods", "secrets"):
            path = f"/api/v1/namespaces/{self.name}/{pods_and_secrets}"
            await self.api.send(Call(path, "DELETE", {"gracePeriodSeconds": 0}))
        for document in self.applied:
            if document["kind"] not in {"Pod", "Secret"}:
                await self._try_to_delete(document)
        await self._try_to_delete(manifest("Namespace", self.name))

    async def _try_to_delete(self, document: Document) -> None:
        with suppress(NotFound):
            await self.delete(document)


@asynccontextmanager
async def kubernetes(server: ApiServer) -> AsyncIterator[Kubernetes]:
    """Make a place on a server."""
    async with open_api(server.kubeconfig, "admin") as api:
        place = Kubernetes(server, api)
        await place.apply(manifest("Namespace", place.name))
        try:
            yield place
        finally:
            await place.tidy()


def manifest(kind: str, name: str, namespace: str = "", **fields: Any) -> Document:
    """Make a manifest; labels and annotations go to its metadata."""
    group = "kuik.enix.io/v1alpha1" if kind.startswith("Image") else "v1"
    metadata: Document = {"name": name} | ({"namespace": namespace} if namespace else {})
    for key in ("labels", "annotations"):
        if key in fields:
            metadata[key] = fields.pop(key)
    return {"apiVersion": group, "kind": kind, "metadata": metadata, **fields}


def pod(name: str, namespace: str, *images: str, **fields: Any) -> Document:
    containers = [{"name": f"c{i}", "image": image} for i, image in enumerate(images)]
    return manifest("Pod", name, namespace, spec={"containers": containers}, **fields)


def docker_secret(name: str, namespace: str, config: str) -> Document:
    data = {".dockerconfigjson": base64.b64encode(config.encode()).decode()}
    return manifest("Secret", name, namespace, type="kubernetes.io/dockerconfigjson", data=data)


async def eventually(condition: Callable[[], Any], seconds: float = 20) -> Any:
    """Wait until something is true, which depends on other processes; give what it was."""
    async with asyncio.timeout(seconds):
        while not (result := condition()):  # noqa: ASYNC110  what is waited for has no event
            await asyncio.sleep(0.01)
        return result


@asynccontextmanager
async def following(observation: Observation) -> AsyncIterator[list[frozenset[str]]]:
    """Collect the changes of an observation while the context lasts."""
    changes = list[frozenset[str]]()

    async def collect() -> None:
        async for topics in observation.changes():
            changes.append(frozenset(topics))

    collecting = asyncio.create_task(collect())
    try:
        yield changes
    finally:
        collecting.cancel()
        await asyncio.gather(collecting, return_exceptions=True)
