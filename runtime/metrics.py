"""What Prometheus is told (page 3, "Metrics").

What describes the pace stands in a registry of its own, which is shown only while this process leads: two processes
that export one host's interval would make every formula over it ambiguous.
"""

from __future__ import annotations

from collections import Counter as Counts
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Final, NamedTuple

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics, generate_latest

from compiler.duration import SECOND, Nanoseconds
from compiler.plan import Operation, Plan
from runtime.exposition import Counted
from runtime.pacing import Outcome, OwnerStatus, RingStatus, Visit, Window
from runtime.reconcile.measures import Family

__all__ = ["CONTENT_TYPE", "Anomaly", "Metrics"]

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

# a second sample beside each counter, which only OpenMetrics knows what to do with
disable_created_metrics()  # type: ignore[no-untyped-call]

_REQUEST_BUCKETS: Final = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)  # seconds; a check's default timeout is 10 s
_COPY_BUCKETS: Final = (1, 5, 15, 60, 180, 600, 1800, 3600)  # seconds; a copy may take as long as it needs


class Anomaly(NamedTuple):
    """Something that is wrong with an image.

    Attributes:
        kind: ``unavailable`` or ``drifted``.
    """

    kind: str
    image: str
    host: str
    reason: str


class Metrics:
    """Every metric of a process; methods are named for what has happened."""

    def __init__(self) -> None:
        self._rings = dict[str, dict[tuple[str, str, str], RingStatus]]()
        self._queues = dict[str, set[tuple[str, str]]]()
        self._series = dict[tuple[str, str], Nanoseconds]()
        self._opened = Counts[tuple[str, str, str]]()
        self._exports = list[Callable[[], Iterable[Family]]]()
        self._counted = Counted()
        self._anomalies = dict[str, frozenset[tuple[str, tuple[str, str, str, str]]]]()
        self._leading = False
        self.process = CollectorRegistry()
        self.pace = CollectorRegistry()
        self._of_process(self.process)
        self._of_pace(self.pace)

    def _of_process(self, registry: CollectorRegistry) -> None:
        self._leader = Gauge("kuik_leader", "Whether this process leads.", registry=registry)
        self._reloaded = Gauge(
            "kuik_config_last_reload_successful",
            "Whether the last reload of the configuration was taken.",
            registry=registry,
        )
        self._reload_time = Gauge(
            "kuik_config_last_reload_success_timestamp_seconds",
            "When the configuration was last taken.",
            registry=registry,
        )

    def _of_pace(self, registry: CollectorRegistry) -> None:
        series, ring = ("registry", "operation"), ("kind", "name", "registry")
        self._interval = Gauge(
            "kuik_registry_interval_seconds", "The effective time between two windows.", series, registry=registry
        )
        registry.register(self._counted)
        self._requests = Counter(
            "kuik_registry_requests", "Images that were read, by result.", (*series, "result"), registry=registry
        )
        self._durations = Histogram(
            "kuik_registry_request_duration_seconds",
            "How long reading an image took.",
            series,
            buckets=_REQUEST_BUCKETS,
            registry=registry,
        )
        self._remaining = Gauge(
            "kuik_registry_ratelimit_remaining",
            "What the registry last said remains.",
            ("registry",),
            registry=registry,
        )
        self._limit = Gauge(
            "kuik_registry_ratelimit_limit", "What the registry last said it allows.", ("registry",), registry=registry
        )
        self._held = Gauge(
            "kuik_registry_held_until_timestamp_seconds",
            "Until when a host is left alone; only while it is.",
            ("registry",),
            registry=registry,
        )
        self._ring_images = Gauge("kuik_check_ring_images", "Images in a ring.", ring, registry=registry)
        self._cycle = Gauge("kuik_check_cycle_duration_seconds", "How long the last lap took.", ring, registry=registry)
        self._cycle_started = Gauge(
            "kuik_check_cycle_started_timestamp_seconds", "When the lap in progress began.", ring, registry=registry
        )
        self._reused = Counter("kuik_check_reused", "Visits that needed no request.", ring, registry=registry)
        self._pending = Gauge(
            "kuik_copy_pending_images", "Copies that a mirror owes.", ("name", "registry"), registry=registry
        )
        self._copy_bytes = Counter("kuik_copy_bytes", "Bytes copied.", ("registry",), registry=registry)
        self._copy_durations = Histogram(
            "kuik_copy_duration_seconds",
            "How long a copy took.",
            ("registry",),
            buckets=_COPY_BUCKETS,
            registry=registry,
        )
        anomaly = ("name", "image", "registry", "reason")
        self._anomaly = {
            "unavailable": Gauge("kuik_image_unavailable", "1 while it lasts.", anomaly, registry=registry),
            "drifted": Gauge("kuik_image_drifted", "1 while it lasts.", anomaly, registry=registry),
        }
        self._plan = Gauge("kuik_plan_info", "The digests of the plan in force.", ("pace", "plan"), registry=registry)

    def collect(self) -> None:
        """Take down what is counted elsewhere; on the event loop, before ``render``."""
        self._counted.families = tuple(family for export in self._exports for family in export())
        self._counted.windows = tuple(sorted(self._opened.items()))

    def render(self) -> bytes:
        """Write everything in Prometheus' text format; may be called from another thread."""
        return generate_latest(self.process) + (generate_latest(self.pace) if self._leading else b"")

    def leads(self, *, leading: bool) -> None:
        """Show the pace, or stop showing it."""
        self._leading = leading
        self._leader.set(leading)

    def reloaded(self, *, taken: bool, at: float) -> None:
        """Note that a configuration was read.

        Args:
            taken: it is in force now; otherwise the one before goes on.
            at: seconds since the epoch.
        """
        self._reloaded.set(taken)
        if taken:
            self._reload_time.set(at)

    def planned(self, plan: Plan, digests: Mapping[str, str]) -> None:
        """Show the pace of a plan, and forget the series that it has no more.

        Args:
            plan: in force.
            digests: of it; ``pace`` and ``plan``.
        """
        self._plan.clear()
        self._plan.labels(digests["pace"], digests["plan"]).set(1)
        before, self._series = self._series, {(h, o.value): one.interval for h, o, one in plan.series()}
        # ten thousand hosts take their time: only what differs is touched
        for (host, name), interval in self._series.items() - before.items():
            self._interval.labels(host, name).set(interval / SECOND)
        for host, name in self._series.keys() - before.keys():
            for outcome in Outcome:  # a counter that is there from the start has a rate from the start
                self._opened[host, name, outcome.value] += 0
        for host, name in before.keys() - self._series.keys():
            self._interval.remove(host, name)
        for host in {h for h, _ in before} - {h for h, _ in self._series}:
            _forget(self._remaining, (host,))
            _forget(self._limit, (host,))

    def opened(self, window: Window) -> None:
        """Count a window, and the visits that it needed no request for."""
        self._opened[window.host, window.operation.value, window.outcome.value] += window.run
        for visit in window.visits:
            self.visited(window.host, visit)

    def visited(self, host: str, visit: Visit) -> None:
        """Count a visit if it was made without a request."""
        if visit.reused:
            kind, _, name = visit.owner.partition("/")
            self._reused.labels(kind, name, host).inc()

    def read(self, host: str, operation: Operation, result: str, seconds: float) -> None:
        """Count an image that was read and how long it took."""
        self._requests.labels(host, operation.value, result).inc()
        self._durations.labels(host, operation.value).observe(seconds)

    def moved(self, host: str, count: int) -> None:
        """Count the bytes of copies as they come, those of a copy that will fail included."""
        self._copy_bytes.labels(host).inc(count)

    def copied(self, host: str, seconds: float) -> None:
        """Count how long a copy took."""
        self._copy_durations.labels(host).observe(seconds)

    def rationed(self, host: str, limit: int | None, remaining: int | None) -> None:
        """Show what a registry says of its quota; what it doesn't say stays."""
        if limit is not None:
            self._limit.labels(host).set(limit)
        if remaining is not None:
            self._remaining.labels(host).set(remaining)

    def held(self, until: Mapping[str, float]) -> None:
        """Show which hosts are held, in seconds since the epoch."""
        self._held.clear()
        for host, at in until.items():
            self._held.labels(host).set(at)

    def ringed(self, owner: str, status: OwnerStatus, started: Mapping[str, float]) -> None:
        """Show the rings and queues of an owner, and forget those that are gone; an empty status forgets the owner.

        Args:
            owner: ``Kind/name``.
            status: its rings and queues.
            started: when the lap in progress began, by host, in seconds since the epoch.
        """
        kind, _, name = owner.partition("/")
        before = self._rings.get(owner, {})
        rings = {(kind, name, ring.registry): ring for ring in status.rings if ring.images}
        for labels, ring in rings.items():
            if before.get(labels) != ring:
                self._show(labels, ring, started.get(ring.registry))
        for labels in before.keys() - rings.keys():
            for gauge in (self._ring_images, self._cycle, self._cycle_started):
                _forget(gauge, labels)
        # before the first scan nobody knows what a mirror owes (R8)
        queues = {(name, queue.registry): len(queue.pending) for queue in status.queues if queue.known}
        for queued, pending in queues.items():
            self._pending.labels(*queued).set(pending)
        for gone in self._queues.get(owner, set()) - queues.keys():
            _forget(self._pending, gone)
        self._rings[owner], self._queues[owner] = rings, {*queues}
        if not rings and not queues:
            del self._rings[owner], self._queues[owner]

    def _show(self, labels: tuple[str, str, str], ring: RingStatus, started: float | None) -> None:
        self._ring_images.labels(*labels).set(ring.images)
        if ring.cycle_duration is not None:
            self._cycle.labels(*labels).set(_seconds(ring.cycle_duration))
        else:
            # a ring that came back before anybody looked (R5)
            _forget(self._cycle, labels)
        if started is not None:
            self._cycle_started.labels(*labels).set(started)

    def anomalies(self, owner: str, found: Iterable[Anomaly]) -> None:
        """Show the anomalies of an owner and forget its others."""
        name = _name(owner)
        before = self._anomalies.pop(owner, frozenset())
        now = frozenset((one.kind, (name, one.image, one.host, one.reason)) for one in found)
        if now:
            self._anomalies[owner] = now
        for kind, labels in now - before:
            self._anomaly[kind].labels(*labels).set(1)
        if gone := before - now:
            # a monitor and a mirror of one name share a sample
            shared = {sample for other, all_of in self._anomalies.items() if _name(other) == name for sample in all_of}
            for kind, labels in gone - shared:
                _forget(self._anomaly[kind], labels)

    def export(self, families: Callable[[], Iterable[Family]]) -> None:
        """Show what others count, such as the work queue, with the rest of the pace."""
        self._exports.append(families)


def _forget(gauge: Gauge, labels: Iterable[str]) -> None:
    """Remove a sample, if there ever was one."""
    with suppress(KeyError):
        gauge.remove(*labels)


def _name(owner: str) -> str:
    return owner.partition("/")[2]


def _seconds(duration: Nanoseconds) -> float:
    return duration / SECOND
