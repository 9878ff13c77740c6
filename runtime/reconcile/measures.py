"""What the work queue and its loop count, under controller-runtime's names.

Plain numbers: whoever serves metrics turns a ``Family`` into its own form; nothing here knows of Prometheus' client.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from compiler.duration import SECOND, Nanoseconds
from runtime.reconcile.keys import Key

__all__ = ["Family", "Histogram", "QueueMeasures", "ReconcileMeasures"]

# controller-runtime, pkg/internal/metrics: ExponentialBuckets(10e-9, 10, 12)
_QUEUE_BOUNDS: Final = tuple(10.0**exponent for exponent in range(-8, 4))
# controller-runtime, pkg/internal/controller/metrics
_RECONCILE_BOUNDS: Final = (
    *(0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9),
    *(1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 15.0, 20.0, 25.0, 30.0),
    *(40.0, 50.0, 60.0),
)


@dataclass(slots=True)
class Histogram:
    """Counts observations below rising bounds, in seconds.

    Attributes:
        bounds: upper ones, inclusive; what is over the last has a place of its own.
        counts: one more than bounds, not cumulative.
        total: the sum of the observations.
    """

    bounds: tuple[float, ...]
    counts: list[int] = field(init=False)
    total: float = 0.0

    def __post_init__(self) -> None:
        self.counts = [0] * (len(self.bounds) + 1)

    def observe(self, duration: Nanoseconds) -> None:
        """Count a duration."""
        seconds = duration / SECOND
        self.counts[bisect_left(self.bounds, seconds)] += 1
        self.total += seconds

    @property
    def count(self) -> int:
        """How many were observed."""
        return sum(self.counts)


@dataclass(frozen=True, slots=True)
class Family:
    """One metric with all of its samples.

    Attributes:
        type: ``counter``, ``gauge`` or ``histogram``.
        samples: labels and value, a ``Histogram`` where the type says so.
    """

    name: str
    type: str
    help: str
    samples: tuple[tuple[Mapping[str, str], float | Histogram], ...]


@dataclass(slots=True)
class QueueMeasures:
    """What a work queue counts; the gauges are the queue's own to compute."""

    adds: int = 0
    retries: int = 0
    waited: Histogram = field(default_factory=lambda: Histogram(_QUEUE_BOUNDS))
    worked: Histogram = field(default_factory=lambda: Histogram(_QUEUE_BOUNDS))

    def families(self, name: str, depth: int, unfinished: Nanoseconds, longest: Nanoseconds) -> Iterator[Family]:
        """Give the families ``workqueue_*`` of the queue of this name.

        Args:
            name: the value of the label.
            depth: keys that wait to be handed out.
            unfinished: how long the keys in work have been so, added up.
            longest: the same of the one that takes longest.
        """
        labels = {"name": name}
        for metric, kind, text, value in (
            ("depth", "gauge", "Keys that wait to be worked on.", depth),
            ("adds_total", "counter", "Keys added.", self.adds),
            ("queue_duration_seconds", "histogram", "How long a key waited before it was worked on.", self.waited),
            ("work_duration_seconds", "histogram", "How long a key was worked on.", self.worked),
            ("unfinished_work_seconds", "gauge", "How long keys have been in work, added up.", unfinished / SECOND),
            ("longest_running_processor_seconds", "gauge", "The longest of these.", longest / SECOND),
            ("retries_total", "counter", "Keys added with a delay.", self.retries),
        ):
            yield Family(f"workqueue_{metric}", kind, text, ((labels, value),))


@dataclass(slots=True)
class ReconcileMeasures:
    """What the loop counts: results and times by kind, and requeues by object."""

    results: Counter[tuple[str, str]] = field(default_factory=Counter)
    requeues: Counter[Key] = field(default_factory=Counter)
    times: dict[str, Histogram] = field(default_factory=dict)

    def reconciled(self, key: Key, result: str, duration: Nanoseconds) -> None:
        """Count a reconcile; its result is ``success``, ``error``, ``requeue`` or ``requeue_after``."""
        self.results[key.kind, result] += 1
        if key.kind not in self.times:
            self.times[key.kind] = Histogram(_RECONCILE_BOUNDS)
        self.times[key.kind].observe(duration)

    def forget(self, key: Key) -> None:
        """Drop the series of an object that is gone: names come and go, memory must not."""
        del self.requeues[key]

    def families(self) -> Iterator[Family]:
        """Give the families ``controller_runtime_reconcile_*`` and ``kuik_requeues_total``."""
        yield Family(
            "controller_runtime_reconcile_total",
            "counter",
            "Reconciles by result.",
            tuple(({"controller": kind.lower(), "result": r}, n) for (kind, r), n in sorted(self.results.items())),
        )
        yield Family(
            "controller_runtime_reconcile_time_seconds",
            "histogram",
            "How long a reconcile took.",
            tuple(({"controller": kind.lower()}, histogram) for kind, histogram in sorted(self.times.items())),
        )
        yield Family(
            "kuik_requeues_total",
            "counter",
            "How often an object was tried again after a failure.",
            tuple(({"kind": key.kind, "name": key.name}, n) for key, n in sorted(self.requeues.items())),
        )
