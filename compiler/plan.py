"""The window plan: every series of every host, who takes its windows in which order, and what for.

The plan is a versioned document (``schemas/plan.schema.json``) and the only thing that views are rendered from and that
the runtime executes. These are its values; they are frozen, and equal plans are equal values. ``plan_document`` writes
and reads them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from compiler.duration import MINUTE, SECOND, Nanoseconds

__all__ = [
    "API_VERSION",
    "CheckForecast",
    "CheckSeries",
    "Copy",
    "CopyForecast",
    "CopySeries",
    "DefaultPace",
    "FallbackAuth",
    "HostPlan",
    "LapForecast",
    "Operation",
    "Plan",
    "Queue",
    "Ring",
    "without_forecasts",
]

API_VERSION: Final = "kuik.enix.io/v1alpha1"


class Operation(StrEnum):
    """What a series of windows is for; the values are those of the metrics' label. Check sorts before Copy."""

    CHECK = "Check"
    COPY = "Copy"


@dataclass(frozen=True, slots=True)
class Ring:
    """What one owner checks on one host.

    Attributes:
        owner: ``Kind/name``.
        images: canonical references in code-point order, each once (R1).
        suspended: the ring is kept and takes no turn (T4).
        auth: (image, name of a secret) in order of images, where not the host's own ``auth`` decides.
        insecure: the images that are read over plain HTTP although the host is not.
    """

    owner: str
    images: tuple[str, ...]
    suspended: bool = False
    auth: tuple[tuple[str, str], ...] = ()
    insecure: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Copy:
    """One copy that a mirror owes.

    Attributes:
        image: the canonical reference that is read.
        to: the reference that is written.
        anchor: the tag that keeps a digest alive, written beside ``to`` when the reference has a tag and a digest.
    """

    image: str
    to: str
    anchor: str | None = None


@dataclass(frozen=True, slots=True)
class Queue:
    """What one mirror still owes from one host, in the order of C1."""

    owner: str
    images: tuple[Copy, ...]
    suspended: bool = False


@dataclass(frozen=True, slots=True)
class LapForecast:
    """How long a lap of a ring takes: alone on its host, and as things are."""

    owner: str
    best_case: Nanoseconds
    expected: Nanoseconds


@dataclass(frozen=True, slots=True)
class CheckForecast:
    """What the checks of a host cost.

    Attributes:
        windows_per_day: the ceiling of what the registry is asked, in images.
        requests: distinct request keys a lap, shared ones once.
    """

    windows_per_day: int
    requests: int
    laps: tuple[LapForecast, ...]


@dataclass(frozen=True, slots=True)
class CopyForecast:
    """How long the queues of a host take to drain when every copy succeeds at once; None when they never do."""

    drain: Nanoseconds | None


@dataclass(frozen=True, slots=True)
class CheckSeries:
    """The check windows of a host.

    Attributes:
        interval: the effective one, after ``clusters`` (N1).
        timeout: 0 means none.
        origin: where the interval was written, as a path in the configuration.
        rings: in the order of turns (T1).
    """

    interval: Nanoseconds
    timeout: Nanoseconds
    origin: str
    rings: tuple[Ring, ...] = ()
    forecast: CheckForecast | None = None


@dataclass(frozen=True, slots=True)
class CopySeries:
    """The copy windows of a host; fields as in ``CheckSeries``."""

    interval: Nanoseconds
    timeout: Nanoseconds
    origin: str
    queues: tuple[Queue, ...] = ()
    forecast: CopyForecast | None = None


@dataclass(frozen=True, slots=True)
class FallbackAuth:
    """The secret for every repository of a host under a prefix (``/``, ``/team``)."""

    prefix: str
    secret: str

    def covers(self, repository: str) -> bool:
        """Say whether a repository (without its host) is under the prefix, at the border of a path segment."""
        prefix = self.prefix.strip("/")
        if not prefix:
            return True
        return repository.startswith(f"{prefix}/") or (repository == prefix and not self.prefix.endswith("/"))


@dataclass(frozen=True, slots=True)
class HostPlan:
    """A registry host: how it is reached and its two series (W1)."""

    host: str
    check: CheckSeries
    copy: CopySeries
    clusters: int = 1
    suspended: bool = False
    insecure: bool = False
    ca_file: str | None = None
    auth: tuple[FallbackAuth, ...] = ()

    def secret_for(self, repository: str) -> str | None:
        """Give the secret that reads a repository of this host unless an alternative names its own; None is anonymous.

        The longest prefix wins.
        """
        covering = [a for a in self.auth if a.covers(repository)]
        return max(covering, key=lambda a: len(a.prefix.strip("/"))).secret if covering else None


@dataclass(frozen=True, slots=True)
class DefaultPace:
    """What a host without an entry of its own gets; the defaults are those of page 2."""

    check_interval: Nanoseconds = 30 * SECOND
    check_timeout: Nanoseconds = 10 * SECOND
    copy_interval: Nanoseconds = 3 * MINUTE
    copy_timeout: Nanoseconds = 0


@dataclass(frozen=True, slots=True)
class Plan:
    """Every host that is configured or read, in code-point order.

    Attributes:
        superset: made of templates, which name images that the cluster need not run.
        default: of the hosts that are neither configured nor read yet.
    """

    hosts: tuple[HostPlan, ...] = ()
    superset: bool = False
    default: DefaultPace = DefaultPace()

    def host(self, name: str) -> HostPlan | None:
        """Find a host by its canonical name."""
        return next((h for h in self.hosts if h.host == name), None)

    def series(self) -> Iterator[tuple[str, Operation, CheckSeries | CopySeries]]:
        """Give every series in the order of the plan: by host, Check before Copy."""
        for h in self.hosts:
            yield h.host, Operation.CHECK, h.check
            yield h.host, Operation.COPY, h.copy


def without_forecasts(plan: Plan) -> Plan:
    """Give the plan as the compiler made it."""
    return replace(
        plan,
        hosts=tuple(
            replace(h, check=replace(h.check, forecast=None), copy=replace(h.copy, forecast=None)) for h in plan.hosts
        ),
    )
