"""The ceiling of what a registry is asked in a day: one number, with a forecast and without."""

from __future__ import annotations

import pytest

from compiler.diff import diff
from compiler.duration import HOUR, SECOND
from compiler.plan import CheckSeries, CopySeries, HostPlan, Plan
from runtime.simulation import forecast


def plan(interval: int) -> Plan:
    origin = "registries.default"
    return Plan((HostPlan("quay.io", CheckSeries(interval, 0, origin), CopySeries(interval, 0, origin)),))


@pytest.mark.parametrize("interval, windows", [(SECOND, 86400), (7 * SECOND, 12343), (24 * HOUR, 1), (50 * HOUR, 1)])
def test_no_24_hours_hold_more_windows(interval: int, windows: int) -> None:
    (host,) = forecast(plan(interval)).hosts
    assert host.check.forecast is not None

    assert windows == host.check.forecast.windows_per_day
    assert () == diff(plan(interval), forecast(plan(interval))).changes
