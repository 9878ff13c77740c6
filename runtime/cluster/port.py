"""What the controller needs of its surroundings, whether they are a cluster or a folder.

The order is that of page 3: be elected, then observe, so that a new leader sees what its predecessor wrote last.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from compiler.diagnostics import Diagnostic
from compiler.duration import Nanoseconds
from compiler.reference import Reference
from compiler.source import Object
from compiler.workloads import Workload
from runtime.cluster.leadership import Leadership, LeaseTimes

__all__ = ["Cluster", "Observation", "Report", "Severity", "Sighting", "Snapshot", "Topic"]


class Topic(StrEnum):
    """What a change is about."""

    RESOURCES = "resources"
    WORKLOADS = "workloads"
    PLATFORMS = "platforms"
    SECRETS = "secrets"


@dataclass(frozen=True, slots=True)
class Sighting:
    """A workload as it was seen.

    Attributes:
        running: (image, digest) of the containers whose image the node has told, each once; empty for a template.
    """

    workload: Workload
    running: tuple[tuple[Reference, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The whole present state, as the compiler takes it; safe to hand to another thread.

    Attributes:
        resources: kuik's own kinds with their status, unchecked, by owner.
        namespaces: the labels of each known namespace.
        platforms: ``os/architecture`` of the nodes; empty when there are none to ask.
        diagnostics: what is odd about files and workloads. Resources are for the compiler to judge.
    """

    resources: tuple[Object, ...] = ()
    sightings: tuple[Sighting, ...] = ()
    namespaces: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    platforms: frozenset[str] = frozenset()
    diagnostics: tuple[Diagnostic, ...] = ()

    @property
    def workloads(self) -> tuple[Workload, ...]:
        """The workloads without what they run."""
        return tuple(s.workload for s in self.sightings)


class Severity(StrEnum):
    """How an event is shown."""

    NORMAL = "Normal"
    WARNING = "Warning"


@dataclass(frozen=True, slots=True)
class Report:
    """Something for people to see beside an object: an event, in a cluster.

    Attributes:
        reason: one word in camel case, such as ``ReloadFailed``.
        about: an owner, ``Kind/name``; empty for kuik itself.
    """

    severity: Severity
    reason: str
    message: str
    about: str = ""


class Observation(Protocol):
    """A state that is kept up to date."""

    def snapshot(self) -> Snapshot:
        """Give the present state; the same values as before where nothing changed."""
        ...

    def changes(self) -> AsyncIterator[frozenset[Topic]]:
        """Give what changed since the last time, coalesced for 200 ms; for one reader.

        kuik's own status writes are no change, nor is anything that the compiler doesn't look at.
        """
        ...

    def docker_config(self, secret: str) -> str | None:
        """Give the text of the config.json in a secret of kuik's own namespace; None when there is no such secret."""
        ...

    async def read_with(self, insecure: frozenset[str]) -> None:
        """Read references anew, with other hosts that are read over plain HTTP; the old state stands meanwhile."""
        ...


class Cluster(Protocol):
    """The port: what both adapters are."""

    @property
    def status_spacing(self) -> Nanoseconds:
        """The least time between two writes of one resource's status."""
        ...

    def lead(self, times: LeaseTimes) -> AbstractAsyncContextManager[Leadership]:
        """Wait for leadership and keep it while the context lasts; released at its end, unless it was lost (W9)."""
        ...

    def observe(self, insecure: frozenset[str]) -> AbstractAsyncContextManager[Observation]:
        """Read everything, at least as new as the call, and keep it up to date while the context lasts.

        Args:
            insecure: the canonical hosts that are read over plain HTTP, whose references have another default port.
        """
        ...

    async def write_status(self, owner: str, status: Mapping[str, Any]) -> bool:
        """Write the whole status of a resource; False when the resource is gone.

        Raises:
            ClusterError: it was not written; ``Conflict`` when the resource is another one of the same name by now.
        """
        ...

    async def set_finalizer(self, owner: str, *, wanted: bool) -> bool:
        """Let a resource's deletion wait for kuik, or no longer; False when the resource is gone.

        Raises:
            ClusterError: nothing changed; ``Conflict`` when somebody else changed the resource meanwhile.
        """
        ...

    async def report(self, report: Report) -> None:
        """Show people something; the same again is counted, not repeated. Never fails: the log has it in any case."""
        ...
