"""The cluster adapter: resources, pods, namespaces, nodes and secrets of a Kubernetes API server.

What kuik may do there, and no more; its ClusterRole and its Role in its own namespace:

    cluster-wide   kuik.enix.io  imagealternatives, imagemirrors, imagemonitors   get list watch patch
                   kuik.enix.io  the same with /status                            patch
                   core          pods, namespaces, nodes                          list watch
    namespace      core          secrets                                          list watch
                   coordination.k8s.io  leases                                    create
                   coordination.k8s.io  leases named kuik-reconciler              get update
                   core          events (there and in default)                    create patch

``patch`` of the resources themselves is for the finalizer alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from compiler.diagnostics import Diagnostic
from compiler.duration import SECOND, Nanoseconds
from compiler.resources import GROUP, KINDS
from compiler.source import Object
from compiler.workloads import ImageComplaints
from runtime.clock import Clock, boot_clock
from runtime.cluster.api import Api, Call, open_api
from runtime.cluster.errors import Conflict, NotFound
from runtime.cluster.events import Events
from runtime.cluster.feed import COALESCED_FOR, Feed
from runtime.cluster.follow import Collection, Follower, Pace
from runtime.cluster.leadership import Leadership, LeaseTimes
from runtime.cluster.lease import lead
from runtime.cluster.port import Observation, Report, Sighting, Snapshot, Topic
from runtime.cluster.reading import labels_of, object_of, read_docker_config, read_platform, read_sighting
from schemas.names import NAMES

__all__ = ["FIELD_MANAGER", "FINALIZER", "KubernetesCluster", "open_cluster", "read_cluster"]

_V = TypeVar("_V")

FIELD_MANAGER: Final = "kuik"
FINALIZER: Final = f"{GROUP}/cleanup"
_API_VERSION: Final = f"{GROUP}/v1alpha1"


@asynccontextmanager
async def open_cluster(
    namespace: str,
    kubeconfig: str | None = None,
    context: str | None = None,
    pace: Pace = Pace(),  # noqa: B008  a frozen value
    clock: Clock = boot_clock,
) -> AsyncIterator[KubernetesCluster]:
    """Open the cluster that a kubeconfig names, or the one that this process runs in.

    Args:
        namespace: kuik's own, of its lease and of its secrets.
        kubeconfig: a path; None looks where ``open_api`` says.
        context: of the kubeconfig.
        pace: how the server is treated; tests are in a hurry.
        clock: of the lease.

    Raises:
        ClusterError: there is no way to a cluster; that it doesn't answer shows later.
    """
    async with open_api(kubeconfig, context) as api:
        yield KubernetesCluster(api, namespace, pace, clock)


async def read_cluster(insecure: frozenset[str], kubeconfig: str | None = None, context: str | None = None) -> Snapshot:
    """Read resources, pods and namespaces once, for a plan; whoever asks needs no rights on secrets and nodes.

    Args:
        insecure: the canonical hosts that are read over plain HTTP.
        kubeconfig: a path; None looks where ``open_api`` says.
        context: of the kubeconfig.

    Raises:
        ClusterError: there is no way to a cluster, or it doesn't answer.
    """
    async with open_api(kubeconfig, context) as api:
        resources = [await _once(api, _resources(kind)) for kind in sorted(KINDS)]
        pods = (await _once(api, _pods(insecure))).values()
        namespaces = await _once(api, _NAMESPACES)
    return Snapshot(
        tuple(found[key] for found in resources for key in sorted(found)),
        tuple(pod.sighting for pod in pods),
        {key.removeprefix("/"): labels for key, labels in namespaces.items()},
        diagnostics=tuple(diagnostic for pod in pods for diagnostic in pod.odd),
    )


async def _once(api: Api, collection: Collection[_V]) -> Mapping[str, _V]:
    return await Follower(api, collection, lambda: None, Pace()).read_once()


class KubernetesCluster:
    """A cluster, behind the port of the controller."""

    status_spacing: Nanoseconds = 5 * SECOND

    def __init__(self, api: Api, namespace: str, pace: Pace, clock: Clock) -> None:
        self._api, self._namespace, self._pace, self._clock = api, namespace, pace, clock
        self._events = Events(api, namespace, clock)
        self._observation: _ClusterObserved | None = None
        self._versions = dict[str, str]()

    def lead(self, times: LeaseTimes) -> AbstractAsyncContextManager[Leadership]:
        """Wait for the lease and keep it."""
        return lead(self._api, self._namespace, times, self._clock)

    @asynccontextmanager
    async def observe(self, insecure: frozenset[str]) -> AsyncIterator[Observation]:
        """List everything and watch it."""
        observation = _ClusterObserved(self._api, self._namespace, self._pace, insecure)
        following = asyncio.gather(*(follower.run() for follower in observation.followers))
        observation.depend_on(following)
        try:
            await observation.begin()
            self._observation = observation
            yield observation
        finally:
            self._observation = None
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)

    async def write_status(self, owner: str, status: Mapping[str, Any]) -> bool:
        """Apply the whole status; fields that others put there under our names become ours.

        It is written to the version that is known, so that the status of a resource that was deleted never ends up in
        its successor. After a conflict the next attempt reads first.
        """
        version = self._versions.pop(owner, None)
        if self._observation is not None and self._observation.uid(owner) is None:
            return False
        try:
            self._versions[owner] = await self._apply(owner, status, version)
        except NotFound:
            return False
        return True

    async def _apply(self, owner: str, status: Mapping[str, Any], version: str | None) -> str:
        kind, _, name = owner.partition("/")
        metadata = {"name": name, "resourceVersion": version or await self._read_version(owner)}
        call = Call(
            f"{_path(owner)}/status",
            "PATCH",
            {"fieldManager": FIELD_MANAGER, "force": "true"},
            {"apiVersion": _API_VERSION, "kind": kind, "metadata": metadata, "status": status},
            "application/apply-patch+yaml",
        )
        return str((await self._api.send(call))["metadata"]["resourceVersion"])

    async def _read_version(self, owner: str) -> str:
        metadata = (await self._api.send(Call(_path(owner))))["metadata"]
        if self._observation is not None and metadata["uid"] != self._observation.uid(owner):
            raise Conflict(f"{owner} is another one by now")
        return str(metadata["resourceVersion"])

    async def set_finalizer(self, owner: str, *, wanted: bool) -> bool:
        """Add or remove kuik's finalizer, if nobody changed the resource since it was read."""
        try:
            metadata = (await self._api.send(Call(_path(owner))))["metadata"]
            present = metadata.get("finalizers") or []
            if (FINALIZER in present) is not wanted:
                finalizers = [*present, FINALIZER] if wanted else [f for f in present if f != FINALIZER]
                change = {"resourceVersion": metadata["resourceVersion"], "finalizers": finalizers}
                query, body = {"fieldManager": FIELD_MANAGER}, {"metadata": change}
                await self._api.send(Call(_path(owner), "PATCH", query, body, "application/merge-patch+json"))
        except NotFound:
            return False
        return True

    async def report(self, report: Report) -> None:
        """Post an event."""
        await self._events.post(report, self._uid(report.about))

    def _uid(self, owner: str) -> str | None:
        return None if self._observation is None else self._observation.uid(owner)


def _path(owner: str) -> str:
    kind, _, name = owner.partition("/")
    return f"/apis/{_API_VERSION}/{NAMES[kind].plural}/{name}"


@dataclass(frozen=True, slots=True)
class _Pod:
    sighting: Sighting
    odd: tuple[Diagnostic, ...]


class _ClusterObserved:
    """Followers of everything that the compiler looks at."""

    def __init__(self, api: Api, namespace: str, pace: Pace, insecure: frozenset[str]) -> None:
        self._feed = Feed(COALESCED_FOR)
        self._insecure = insecure

        def follow(collection: Collection[Any], topic: Topic) -> Follower[Any]:
            return Follower(api, collection, lambda: self._feed.note(topic), pace)

        self._resources = {kind: follow(_resources(kind), Topic.RESOURCES) for kind in KINDS}
        self._pods: Follower[_Pod] = follow(_pods(insecure), Topic.WORKLOADS)
        self._namespaces: Follower[Mapping[str, str]] = follow(_NAMESPACES, Topic.WORKLOADS)
        self._nodes: Follower[str] = follow(_NODES, Topic.PLATFORMS)
        self._secrets: Follower[str] = follow(_secrets(namespace), Topic.SECRETS)
        self._namespace = namespace

    @property
    def followers(self) -> tuple[Follower[Any], ...]:
        return (*self._resources.values(), self._pods, self._namespaces, self._nodes, self._secrets)

    def depend_on(self, work: asyncio.Future[Any]) -> None:
        """Let ``changes`` end with the error of the followers, should they end."""
        self._feed.follow(work)

    async def begin(self) -> None:
        """Wait until everything was listed."""
        for follower in self.followers:
            await follower.synced()
        self._feed.clear()

    def snapshot(self) -> Snapshot:
        """Give what the followers hold."""
        pods = self._pods.values.values()
        return Snapshot(
            tuple(f.values[key] for _, f in sorted(self._resources.items()) for key in sorted(f.values)),
            tuple(pod.sighting for pod in pods),
            {key.removeprefix("/"): labels for key, labels in self._namespaces.values.items()},
            frozenset(self._nodes.values.values()),
            tuple(diagnostic for pod in pods for diagnostic in pod.odd),
        )

    def changes(self) -> AsyncIterator[frozenset[Topic]]:
        """Give what changed."""
        return self._feed.changes()

    def docker_config(self, secret: str) -> str | None:
        """Give the config.json in a secret; one that has changed is there as soon as the server has told."""
        return self._secrets.values.get(f"{self._namespace}/{secret}")

    async def read_with(self, insecure: frozenset[str]) -> None:
        """List the pods anew: references are canonical for one set of insecure hosts."""
        if insecure != self._insecure:
            self._insecure = insecure
            await self._pods.list_again(_pods(insecure))

    def uid(self, owner: str) -> str | None:
        kind, _, name = owner.partition("/")
        found = self._resources[kind].values.get(f"/{name}") if kind in self._resources else None
        return None if found is None else found.value["metadata"].get("uid")


def _resources(kind: str) -> Collection[Object]:
    def read(value: Mapping[str, Any]) -> Object:
        metadata = {k: v for k, v in value["metadata"].items() if k != "managedFields"}
        return object_of({**value, "metadata": metadata}, kind, _API_VERSION)

    def face(found: Object) -> tuple[Any, ...]:
        """What work comes of: not kuik's own status, not labels."""
        metadata = found.value["metadata"]
        return metadata.get("uid"), metadata.get("generation"), metadata.get("deletionTimestamp")

    path = f"/apis/{_API_VERSION}/{NAMES[kind].plural}"
    return Collection(path, read, lambda a, b: face(a) == face(b), may_be_missing=True)


def _pods(insecure: frozenset[str]) -> Collection[_Pod]:
    def read(value: Mapping[str, Any]) -> _Pod | None:
        complaints = ImageComplaints()
        sighting, odd = read_sighting(object_of(value, "Pod", "v1"), insecure, complaints)
        return None if sighting is None else _Pod(sighting, (*odd, *complaints.diagnostics()))

    # a pod that has ended uses nothing: the server tells of its end as of a deletion
    return Collection("/api/v1/pods", read, query={"fieldSelector": "status.phase!=Succeeded,status.phase!=Failed"})


def _secrets(namespace: str) -> Collection[str]:
    query = {"fieldSelector": "type=kubernetes.io/dockerconfigjson"}
    return Collection(f"/api/v1/namespaces/{namespace}/secrets", read_docker_config, query=query)


_NAMESPACES: Final[Collection[Mapping[str, str]]] = Collection("/api/v1/namespaces", labels_of)
_NODES: Final[Collection[str]] = Collection("/api/v1/nodes", read_platform)
