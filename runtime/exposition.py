"""From what kuik counts by itself to the families of Prometheus' client."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from runtime.reconcile.measures import Family
from runtime.reconcile.measures import Histogram as Measured

__all__ = ["Counted"]


class Counted(Collector):
    """What was counted outside of Prometheus' client, as it was when somebody last took it down.

    Windows are counted in a plain dictionary, because ten thousand hosts open windows at once.

    Attributes:
        windows: how many, by registry, operation and outcome.
        families: what others count.
    """

    def __init__(self) -> None:
        self.windows: tuple[tuple[tuple[str, str, str], int], ...] = ()
        self.families: tuple[Family, ...] = ()

    def describe(self) -> list[Metric]:
        """Give nothing: what there is shows only when it is collected."""
        return []

    def collect(self) -> Iterator[Metric]:
        """Give every metric with its samples."""
        windows = CounterMetricFamily(
            "kuik_registry_windows", "Windows by what became of them.", labels=("registry", "operation", "outcome")
        )
        for labels, count in self.windows:
            windows.add_metric(labels, count)
        yield windows
        for family in self.families:
            yield _metric(family, [*family.samples[0][0]] if family.samples else [])


def _metric(family: Family, labels: list[str]) -> Metric:
    if family.type == "histogram":
        histogram = HistogramMetricFamily(family.name, family.help, labels=labels)
        for values, value in family.samples:
            if isinstance(value, Measured):
                histogram.add_metric([*values.values()], _buckets(value), value.total)
        return histogram
    kind = CounterMetricFamily if family.type == "counter" else GaugeMetricFamily
    metric = kind(family.name.removesuffix("_total"), family.help, labels=labels)
    for values, value in family.samples:
        if not isinstance(value, Measured):
            metric.add_metric([*values.values()], value)
    return metric


def _buckets(measured: Measured) -> list[tuple[str, float]]:
    """Give the cumulative buckets of a histogram."""
    total, buckets = 0, list[tuple[str, float]]()
    for bound, count in zip((*map(str, measured.bounds), "+Inf"), measured.counts, strict=True):
        total += count
        buckets.append((bound, total))
    return buckets
