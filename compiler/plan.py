"""The window plan: every series of every host, who takes its windows in which order, and what for.

The plan is a versioned document (``schemas/plan.schema.json``) and the only thing that views are rendered from and that
the runtime executes. These are its values; they are frozen, and equal plans are equal values.
``to_document`` and ``from_document`` are each other's inverse.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final

from compiler.duration import Nanoseconds, format_duration, parse_duration

__all__ = [
    "API_VERSION",
    "CheckForecast",
    "CheckSeries",
    "Copy",
    "CopyForecast",
    "CopySeries",
    "FallbackAuth",
    "HostPlan",
    "LapForecast",
    "Operation",
    "Plan",
    "Queue",
    "Ring",
    "digests",
    "from_document",
    "to_document",
    "without_forecasts",
]

API_VERSION: Final = "kuik.enix.io/v1alpha1"
KIND: Final = "WindowPlan"

Document = dict[str, Any]


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
class Plan:
    """Every host that is configured or read, in code-point order.

    Attributes:
        superset: made of templates, which name images that the cluster need not run.
    """

    hosts: tuple[HostPlan, ...] = ()
    superset: bool = False

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


def digests(plan: Plan) -> dict[str, str]:
    """Compute what two plans are compared by.

    Returns:
        ``pace``: hosts, intervals, timeouts and clusters, the same in CI and in a cluster of one configuration.
        ``plan``: everything but forecasts.
    """
    pace = [
        [h.host, h.clusters, h.check.interval, h.check.timeout, h.copy.interval, h.copy.timeout] for h in plan.hosts
    ]
    return {"pace": _sha256(pace), "plan": _sha256(_body(without_forecasts(plan)))}


def to_document(plan: Plan) -> Document:
    """Give the plan as plain values, keys in the order in which they are read; absent means the default."""
    return {"apiVersion": API_VERSION, "kind": KIND, "digests": digests(plan), **_body(plan)}


def from_document(document: Mapping[str, Any]) -> Plan:
    """Read what ``to_document`` gave. The document has been validated against the schema; digests are not looked at.

    Raises:
        InvalidDuration: a duration that the schema's pattern lets through and Go doesn't read.
    """
    return Plan(hosts=tuple(_read_host(h) for h in document["hosts"]), superset=document.get("superset", False))


def _body(plan: Plan) -> Document:
    return {**({"superset": True} if plan.superset else {}), "hosts": [_host(h) for h in plan.hosts]}


def _sha256(value: object) -> str:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return f"sha256:{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()}"


def _host(h: HostPlan) -> Document:
    document: Document = {"host": h.host}
    if h.clusters != 1:
        document["clusters"] = h.clusters
    if h.suspended:
        document["suspend"] = True
    if h.insecure:
        document["insecure"] = True
    if h.ca_file is not None:
        document["caFile"] = h.ca_file
    if h.auth:
        document["auth"] = [{"prefix": a.prefix, "secret": a.secret} for a in h.auth]
    check: Document = {**_pace(h.check), "rings": [_ring(r) for r in h.check.rings]}
    if (forecast := h.check.forecast) is not None:
        check["forecast"] = {
            "windowsPerDay": forecast.windows_per_day,
            "requests": forecast.requests,
            "laps": [
                {
                    "owner": lap.owner,
                    "bestCase": format_duration(lap.best_case),
                    "expected": format_duration(lap.expected),
                }
                for lap in forecast.laps
            ],
        }
    copy: Document = {**_pace(h.copy), "queues": [_queue(q) for q in h.copy.queues]}
    if h.copy.forecast is not None:
        drain = h.copy.forecast.drain
        copy["forecast"] = {"drain": None if drain is None else format_duration(drain)}
    return {**document, "check": check, "copy": copy}


def _pace(series: CheckSeries | CopySeries) -> Document:
    return {
        "interval": format_duration(series.interval),
        "timeout": format_duration(series.timeout),
        "from": series.origin,
    }


def _ring(ring: Ring) -> Document:
    document: Document = {"owner": ring.owner}
    if ring.suspended:
        document["suspend"] = True
    document["images"] = list(ring.images)
    if ring.auth:
        document["auth"] = dict(ring.auth)
    if ring.insecure:
        document["insecure"] = list(ring.insecure)
    return document


def _queue(queue: Queue) -> Document:
    images = [
        {"image": c.image, "to": c.to} if c.anchor is None else {"image": c.image, "to": c.to, "anchor": c.anchor}
        for c in queue.images
    ]
    return {"owner": queue.owner, **({"suspend": True} if queue.suspended else {}), "images": images}


def _read_host(d: Mapping[str, Any]) -> HostPlan:
    check, copy = d["check"], d["copy"]
    return HostPlan(
        host=d["host"],
        clusters=d.get("clusters", 1),
        suspended=d.get("suspend", False),
        insecure=d.get("insecure", False),
        ca_file=d.get("caFile"),
        auth=tuple(FallbackAuth(a["prefix"], a["secret"]) for a in d.get("auth", ())),
        check=CheckSeries(
            interval=parse_duration(check["interval"]),
            timeout=parse_duration(check["timeout"]),
            origin=check["from"],
            rings=tuple(_read_ring(r) for r in check["rings"]),
            forecast=_read_check_forecast(check["forecast"]) if "forecast" in check else None,
        ),
        copy=CopySeries(
            interval=parse_duration(copy["interval"]),
            timeout=parse_duration(copy["timeout"]),
            origin=copy["from"],
            queues=tuple(_read_queue(q) for q in copy["queues"]),
            forecast=_read_copy_forecast(copy["forecast"]) if "forecast" in copy else None,
        ),
    )


def _read_ring(d: Mapping[str, Any]) -> Ring:
    return Ring(
        owner=d["owner"],
        images=tuple(d["images"]),
        suspended=d.get("suspend", False),
        auth=tuple(d.get("auth", {}).items()),
        insecure=tuple(d.get("insecure", ())),
    )


def _read_queue(d: Mapping[str, Any]) -> Queue:
    return Queue(
        owner=d["owner"],
        suspended=d.get("suspend", False),
        images=tuple(Copy(c["image"], c["to"], c.get("anchor")) for c in d["images"]),
    )


def _read_check_forecast(d: Mapping[str, Any]) -> CheckForecast:
    return CheckForecast(
        windows_per_day=d["windowsPerDay"],
        requests=d["requests"],
        laps=tuple(
            LapForecast(lap["owner"], parse_duration(lap["bestCase"]), parse_duration(lap["expected"]))
            for lap in d["laps"]
        ),
    )


def _read_copy_forecast(d: Mapping[str, Any]) -> CopyForecast:
    return CopyForecast(None if d["drain"] is None else parse_duration(d["drain"]))
