"""The configuration: what each registry host is asked, and how often.

Whatever a host leaves out it takes from ``registries.default``, and what that leaves out from the defaults here, which
are those of page 2. What counts is the *effective* value (H1).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from compiler.duration import HOUR, MINUTE, SECOND, Nanoseconds, parse_duration
from compiler.plan import FallbackAuth, Operation
from compiler.reference import InvalidReference, canonical_host
from compiler.source import Document, Place

__all__ = [
    "BUILT_IN",
    "Config",
    "Controller",
    "Election",
    "Host",
    "Mirroring",
    "Pace",
    "Webhook",
    "build_config",
    "build_election",
    "insecure_hosts",
]

BUILT_IN: Final = "built-in default"
"""The origin of an interval that nobody wrote."""

_DEFAULT_INTERVAL: Final = {Operation.CHECK: 30 * SECOND, Operation.COPY: 3 * MINUTE}
_DEFAULT_TIMEOUT: Final = {Operation.CHECK: 10 * SECOND, Operation.COPY: 0}
_FIELD: Final = {Operation.CHECK: "check", Operation.COPY: "copy"}


@dataclass(frozen=True, slots=True)
class Pace:
    """How often the windows of a series open.

    Attributes:
        interval: effective, after ``clusters`` (N1).
        timeout: for one image; 0 means none.
        origin: the path in the configuration at which the interval was written, or ``BUILT_IN``.
        place: where that is; None for ``BUILT_IN``.
    """

    interval: Nanoseconds
    timeout: Nanoseconds
    origin: str = BUILT_IN
    place: Place | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Host:
    """What is configured for one host; fields as in ``compiler.plan.HostPlan``."""

    host: str
    check: Pace
    copy: Pace
    clusters: int = 1
    suspended: bool = False
    insecure: bool = False
    ca_file: str | None = None
    auth: tuple[FallbackAuth, ...] = ()


@dataclass(frozen=True, slots=True)
class Mirroring:
    """What all mirrors share: how often destinations are scanned, how failed copies are delayed (C2)."""

    scan_interval: Nanoseconds = HOUR
    retry_base: Nanoseconds = MINUTE
    retry_max: Nanoseconds = HOUR


@dataclass(frozen=True, slots=True)
class Webhook:
    """The webhook's active check (page 7)."""

    timeout: Nanoseconds = 2 * SECOND
    cache_ttl: Nanoseconds = 10 * SECOND
    skip_hints: bool = True
    skip_hints_max_age: Nanoseconds = 30 * MINUTE


@dataclass(frozen=True, slots=True)
class Election:
    """The times of the lease; the defaults are client-go's."""

    lease_duration: Nanoseconds = 15 * SECOND
    renew_deadline: Nanoseconds = 10 * SECOND
    retry_period: Nanoseconds = 2 * SECOND


@dataclass(frozen=True, slots=True)
class Controller:
    """How the controller treats the cluster's API (page 5).

    Attributes:
        rate_limiter: a limiter, described as ``runtime.limiters`` reads it; None is its default.
        per_kind: others by kind of resource.
    """

    rate_limiter: Mapping[str, Any] | None = None
    per_kind: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    election: Election = Election()


@dataclass(frozen=True, slots=True)
class Config:
    """A configuration, canonical and complete.

    Attributes:
        hosts: those that are configured, by canonical name.
        insecure: the hosts read over plain HTTP; their default port is 80.
        places: where each configured host was written, and ``default``.
    """

    cluster_id: str | None = None
    check: Pace = Pace(_DEFAULT_INTERVAL[Operation.CHECK], _DEFAULT_TIMEOUT[Operation.CHECK])
    copy: Pace = Pace(_DEFAULT_INTERVAL[Operation.COPY], _DEFAULT_TIMEOUT[Operation.COPY])
    hosts: Mapping[str, Host] = field(default_factory=dict)
    insecure: frozenset[str] = frozenset()
    mirroring: Mirroring = Mirroring()
    webhook: Webhook = Webhook()
    controller: Controller = field(default_factory=Controller)
    places: Mapping[str, Place] = field(default_factory=dict, compare=False)

    def host(self, name: str) -> Host:
        """Give what holds for a host, configured or not."""
        return self.hosts.get(name) or Host(name, self.check, self.copy)


def build_config(document: Document) -> Config:
    """Build the configuration from a document that has passed its schema and ``checks.hosts``.

    Two spellings of one host don't get here; the checks refuse them.
    """
    value = document.value or {}
    registries = document.place / "registries"
    entries: Mapping[str, Mapping[str, Any]] = value.get("registries") or {}
    default = Config()
    shared = entries.get("default") or {}
    check = _pace(Operation.CHECK, shared, registries / "default", default.check, 1)
    copy = _pace(Operation.COPY, shared, registries / "default", default.copy, 1)
    insecure = insecure_hosts(entries)
    hosts, places = dict[str, Host](), dict[str, Place]()
    for written, entry in entries.items():
        if written == "default":
            places[written] = registries / written
        else:
            host = _host(canonical_host(written, insecure), entry or {}, registries / written, check, copy)
            hosts[host.host] = host
            places[host.host] = registries / written
    return Config(
        cluster_id=value.get("clusterID"),
        check=check,
        copy=copy,
        hosts=hosts,
        insecure=insecure,
        mirroring=_mirroring(value.get("mirror") or {}),
        webhook=_webhook(value.get("webhook") or {}),
        controller=_controller(value.get("controller") or {}),
        places=places,
    )


def insecure_hosts(entries: Mapping[Any, Any]) -> frozenset[str]:
    """Give the canonical hosts among written ones that are read over plain HTTP.

    ``reg.local:80`` with ``insecure`` is ``reg.local``, on the default port of its scheme.
    """
    found = set()
    for written, entry in entries.items():
        is_host = isinstance(written, str) and written != "default"
        if is_host and isinstance(entry, Mapping) and entry.get("insecure") is True:
            try:
                host = canonical_host(written)
            except InvalidReference:
                continue  # the schema's check of this key says so
            found.add(canonical_host(host.removesuffix(":80")))
    return frozenset(found)


def _host(name: str, entry: Mapping[str, Any], place: Place, check: Pace, copy: Pace) -> Host:
    clusters = entry.get("clusters", 1)
    return Host(
        host=name,
        check=_pace(Operation.CHECK, entry, place, check, clusters),
        copy=_pace(Operation.COPY, entry, place, copy, clusters),
        clusters=clusters,
        suspended=entry.get("suspend", False),
        insecure=entry.get("insecure", False),
        ca_file=entry.get("caFile"),
        auth=tuple(FallbackAuth(a["prefix"], a["secretRef"]["name"]) for a in entry.get("perPrefixFallbackAuth") or ()),
    )


def _pace(operation: Operation, entry: Mapping[str, Any], place: Place, default: Pace, clusters: int) -> Pace:
    name = _FIELD[operation]
    own = entry.get(name) or {}
    timeout = _duration(own, "timeout", default.timeout)
    if "interval" not in own:
        return Pace(default.interval * clusters, timeout, default.origin, default.place)
    written = place / name / "interval"
    return Pace(
        parse_duration(own["interval"]) * clusters, timeout, ".".join(str(step) for step in written.path), written
    )


def _duration(entry: Mapping[str, Any], name: str, default: Nanoseconds) -> Nanoseconds:
    return parse_duration(str(entry[name])) if name in entry else default


def _mirroring(entry: Mapping[str, Any]) -> Mirroring:
    default = Mirroring()
    scan, retry = entry.get("destinationScan") or {}, entry.get("copyRetry") or {}
    return Mirroring(
        scan_interval=_duration(scan, "interval", default.scan_interval),
        retry_base=_duration(retry, "baseDelay", default.retry_base),
        retry_max=_duration(retry, "maxDelay", default.retry_max),
    )


def _webhook(entry: Mapping[str, Any]) -> Webhook:
    default = Webhook()
    check = entry.get("availabilityCheck") or {}
    hints = check.get("skipHints") or {}
    return Webhook(
        timeout=_duration(check, "timeout", default.timeout),
        cache_ttl=_duration(check.get("activeCheckCache") or {}, "ttl", default.cache_ttl),
        skip_hints=hints.get("enabled", default.skip_hints),
        skip_hints_max_age=_duration(hints, "maxAge", default.skip_hints_max_age),
    )


def _controller(entry: Mapping[str, Any]) -> Controller:
    return Controller(
        rate_limiter=entry.get("rateLimiter"),
        per_kind=entry.get("perKind") or {},
        election=build_election(entry.get("leaderElection") or {}),
    )


def build_election(entry: Mapping[str, Any]) -> Election:
    """Read ``controller.leaderElection``, which has passed its schema."""
    default = Election()
    return Election(
        lease_duration=_duration(entry, "leaseDuration", default.lease_duration),
        renew_deadline=_duration(entry, "renewDeadline", default.renew_deadline),
        retry_period=_duration(entry, "retryPeriod", default.retry_period),
    )
