"""What a plan leads to: how long laps take and queues drain, found by driving the engine in virtual time.

Hosts don't influence one another, so each is driven alone, as it will be once its queues are drained. Where the answer
is a product it is not driven: a ring alone, rings without an image in common, rings of the same images. The tests
compare both ways.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from compiler.duration import HOUR, SECOND, Nanoseconds
from compiler.plan import CheckForecast, CheckSeries, CopyForecast, CopySeries, HostPlan, LapForecast, Plan, Ring
from runtime.pacing import Engine, Lap, OwnerStatus, Response, RingStatus, Verdict
from runtime.pacing.requests import Key, keys_of_ring

__all__ = ["forecast"]

_DAY: Final = 24 * HOUR
_NEVER: Final = 2**62
_AVAILABLE: Final = Response(Verdict.AVAILABLE)

_ENOUGH_LAPS: Final = 8
"""Of the largest ring: the mean of so many is a window or two off at most."""
_ENOUGH_VISITS: Final = 10_000
"""A hundredth of a second of work: small rings are driven further than large ones, theirs is the finer mean."""
_MOST_VISITS: Final = 200_000
"""The bound of the work on one host, whatever its rings: a fifth of a second."""


def forecast(plan: Plan) -> Plan:
    """Give the plan with forecasts for every series.

    A suspended host, or owner, has no laps and drains nothing: it stands still, which is no duration.
    """
    return replace(plan, hosts=tuple(_forecast_host(host) for host in plan.hosts))


def _forecast_host(host: HostPlan) -> HostPlan:
    check, copy = host.check, host.copy
    return replace(
        host,
        check=replace(check, forecast=_forecast_checks(host)),
        copy=replace(copy, forecast=CopyForecast(_drain(copy, is_suspended=host.suspended))),
    )


def _drain(copy: CopySeries, *, is_suspended: bool) -> Nanoseconds | None:
    """Give the time in which the queues drain when every copy succeeds at once: a window each, whoever takes it."""
    moving = sum(len(queue.images) for queue in copy.queues if not queue.suspended)
    owed = sum(len(queue.images) for queue in copy.queues)
    if owed and (is_suspended or not moving):
        return None
    return moving * copy.interval


def _forecast_checks(host: HostPlan) -> CheckForecast:
    interval = host.check.interval
    if host.suspended:
        return CheckForecast(windows_per_day=0, requests=0, laps=())
    rings = [ring for ring in host.check.rings if ring.images and not ring.suspended]
    keys = [keys_of_ring(ring, host, ring.images) for ring in rings]
    asked = {key for of_ring in keys for key in of_ring}
    expected = _product(rings, keys, len(asked), interval)
    if expected is None:
        expected = _drive(host, rings)
    laps = tuple(LapForecast(r.owner, len(r.images) * interval, expected[r.owner]) for r in rings)
    # rounded up: the most that any 24 hours hold, wherever they begin
    return CheckForecast(-(-_DAY // interval), len(asked), laps)


def _product(
    rings: Sequence[Ring], keys: Sequence[Sequence[Key]], asked: int, interval: Nanoseconds
) -> Mapping[str, Nanoseconds] | None:
    """Give the laps where they are a product, by owner; None where they aren't.

    Without anything shared each of n rings gets every n-th window. With everything shared each window brings all rings
    one image further, whoever takes it; but where there are more rings than images some come round within one turn, and
    ask again.
    """
    if sum(len(of_ring) for of_ring in keys) == asked:
        return {ring.owner: len(ring.images) * len(rings) * interval for ring in rings}
    if asked >= len(rings) and all(len(of_ring) == asked and len(set(of_ring)) == asked for of_ring in keys):
        return {ring.owner: asked * interval for ring in rings}
    return None


def _drive(host: HostPlan, rings: Sequence[Ring]) -> Mapping[str, Nanoseconds]:
    """Give the mean lap of each ring of a host, by owner.

    The engine runs until the host stands as it stood before when its largest ring ended a lap: from there it goes on as
    it went, and between the two every ring has made a whole number of laps. A host that doesn't come back to a state
    within bounds is averaged over all it did.
    """
    checks = CheckSeries(host.check.interval, 0, "", tuple(rings))
    engine = Engine(0)
    engine.apply(Plan((replace(host, check=checks, copy=CopySeries(_NEVER, 0, "")),)), 0)
    course = _Course({ring.owner: len(ring.images) for ring in rings})
    largest = max(rings, key=lambda ring: len(ring.images)).owner
    while course.visits < _MOST_VISITS and (opens := engine.next_opening()) is not None:
        window = engine.open_next(opens)
        if window is None or window.read is None:
            break  # never: whoever asked last can't reuse its own answer, and asks again
        ended = engine.finished(window.read, _AVAILABLE, opens)
        course.visits += len(window.visits) + 1
        course.now = opens
        if laps := window.laps + ended.laps:
            course.end(laps)
            if any(lap.owner == largest for lap in laps) and course.is_over(_state(engine, window.read.owner)):
                break
    return course.means(engine.statuses())


def _state(engine: Engine, spender: str) -> object:
    """Give what decides how a host goes on once every image has been visited: cursors, turn, what can be reused."""
    cursors = tuple(status.rings[0].cursor for status in engine.statuses().values())
    return spender, cursors, tuple(tuple(images) for images in engine.reusable().values())


class _Course:
    """The laps of a host's rings, and the states in which it was seen.

    Attributes:
        now: when the last window opened.
        visits: made so far; the work that a forecast costs.
    """

    def __init__(self, images: Mapping[str, int]) -> None:
        self.now = 0
        self.visits = 0
        self._images = images
        # by owner: how many laps have ended, and when the first and the last of them did
        self._laps = dict.fromkeys(images, 0)
        self._first = dict[str, Nanoseconds]()
        self._last = dict[str, Nanoseconds]()
        self._seen = dict[object, tuple[Nanoseconds, Mapping[str, int]]]()
        self._period: tuple[Nanoseconds, Mapping[str, int]] | None = None

    def end(self, laps: Sequence[Lap]) -> None:
        """Note laps that ended."""
        for lap in laps:
            self._laps[lap.owner] += 1
            self._first.setdefault(lap.owner, lap.ended)
            self._last[lap.owner] = lap.ended

    def is_over(self, state: object) -> bool:
        """Say whether the host stands as it stood before, or has gone round often enough.

        What comes before every ring has ended its first lap is the start, and no part of a period.
        """
        if not all(self._laps.values()):
            return False
        if state not in self._seen:
            self._seen[state] = (self.now, dict(self._laps))
            return len(self._seen) >= _ENOUGH_LAPS and self.visits >= _ENOUGH_VISITS
        since, before = self._seen[state]
        self._period = (self.now - since, {owner: laps - before[owner] for owner, laps in self._laps.items()})
        return True

    def means(self, statuses: Mapping[str, OwnerStatus]) -> Mapping[str, Nanoseconds]:
        """Give the mean lap by owner, in whole seconds."""
        return {owner: _whole_seconds(*self._mean(owner, statuses[owner].rings[0])) for owner in self._images}

    def _mean(self, owner: str, ring: RingStatus) -> tuple[Nanoseconds, int]:
        """Give a time and the number of laps in it."""
        if self._period is not None and self._period[1][owner]:
            return self._period[0], self._period[1][owner]
        if self._laps[owner] > 1:
            return self._last[owner] - self._first[owner], self._laps[owner] - 1
        if self._laps[owner]:
            return self._first[owner], 1
        # not one lap within bounds: as it began, so it goes on
        return self.now * self._images[owner], max(ring.checked, 1)


def _whole_seconds(time: Nanoseconds, laps: int) -> Nanoseconds:
    return round(time / laps / SECOND) * SECOND
