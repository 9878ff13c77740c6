"""What a change costs: how long laps and queues take, and the most that a registry is asked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from compiler.changes.change import Change, Document, Mark, plural
from compiler.duration import HOUR, Nanoseconds, format_duration
from compiler.plan import HostPlan, LapForecast, Operation

__all__ = ["Cost", "DrainChanges", "LapChanges", "WindowsChange", "compare_costs", "windows_a_day"]

_DAY: Final = 24 * HOUR


@dataclass(frozen=True, slots=True)
class Cost(Change):
    """A consequence, which nobody wrote: it comes from no place in the input."""

    mark = Mark.COST

    def _causes(self) -> tuple[str, ...]:
        return ()


@dataclass(frozen=True, slots=True)
class WindowsChange(Cost):
    """The most that checks can ask of a registry changes, in images a day."""

    kind = "windows-change"
    before: int
    after: int

    @property
    def series(self) -> Operation:
        """The operation whose series is meant."""
        return Operation.CHECK

    def _text(self) -> str:
        return f"at most {plural(self.after, 'window')} a day (was {self.before})"

    def _facts(self) -> Document:
        return {"before": self.before, "after": self.after}


@dataclass(frozen=True, slots=True)
class LapChanges(Cost):
    """A lap takes longer or shorter than before."""

    kind = "lap-changes"
    before: LapForecast
    after: LapForecast

    @property
    def series(self) -> Operation:
        """The operation whose series is meant."""
        return Operation.CHECK

    @property
    def subject(self) -> str:
        """``Kind/name`` of the resource whose ring or queue it is."""
        return self.after.owner

    def _text(self) -> str:
        if self.trend:
            return f"lap {_arrow(self.before.expected, self.after.expected)}"
        expected = format_duration(self.after.expected)
        return f"lap {expected} as before, at best {_arrow(self.before.best_case, self.after.best_case)}"

    @property
    def trend(self) -> int:
        """Negative when the lap gets shorter, positive when it gets longer, 0 when only its best case changes."""
        return self.after.expected - self.before.expected

    def _facts(self) -> Document:
        return {"before": _lap(self.before), "after": _lap(self.after)}


@dataclass(frozen=True, slots=True)
class DrainChanges(Cost):
    """The queues of a host drain sooner or later than before; None is never."""

    kind = "drain-changes"
    before: Nanoseconds | None
    after: Nanoseconds | None

    @property
    def series(self) -> Operation:
        """The operation whose series is meant."""
        return Operation.COPY

    def _text(self) -> str:
        was, now = ("never" if t is None else format_duration(t) for t in (self.before, self.after))
        return f"drain {was} → {now}"

    def _facts(self) -> Document:
        was, now = (None if t is None else format_duration(t) for t in (self.before, self.after))
        return {"before": was, "after": now}


def compare_costs(old: HostPlan | None, new: HostPlan | None) -> Iterator[Cost]:
    """Give what changes for one host: what it is asked, its laps, its drain. Of a host that goes nothing is left."""
    if new is None:
        return
    was, now = windows_a_day(old) if old else 0, windows_a_day(new)
    if was != now:
        yield WindowsChange(new.host, was, now)
    if old is not None:
        yield from _laps(old, new)
        yield from _drains(old, new)


def windows_a_day(host: HostPlan) -> int:
    """Give the most images that checks can ask of a registry in a day: as forecast, else as the interval says."""
    if host.check.forecast is not None:
        return host.check.forecast.windows_per_day
    return 0 if host.suspended else -(-_DAY // host.check.interval)


def _laps(old: HostPlan, new: HostPlan) -> Iterator[LapChanges]:
    if old.check.forecast is None or new.check.forecast is None:
        return
    laps = {lap.owner: lap for lap in old.check.forecast.laps}
    for lap in new.check.forecast.laps:
        if laps.get(lap.owner, lap) != lap:
            yield LapChanges(new.host, laps[lap.owner], lap)


def _drains(old: HostPlan, new: HostPlan) -> Iterator[DrainChanges]:
    was, now = old.copy.forecast, new.copy.forecast
    if was is not None and now is not None and was != now:
        yield DrainChanges(new.host, was.drain, now.drain)


def _arrow(was: Nanoseconds, now: Nanoseconds) -> str:
    return f"{format_duration(was)} → {format_duration(now)}"


def _lap(forecast: LapForecast) -> Document:
    return {"bestCase": format_duration(forecast.best_case), "expected": format_duration(forecast.expected)}
