"""Limiters: how long something that failed, or that comes too often, waits before it comes again.

The rules and the names are those of client-go's work queue (``util/workqueue/default_rate_limiters.go``), because
operators know them; delays are whole nanoseconds, as everywhere in kuik. A limiter reads no clock: the ones that count
per time are given one. They are described as data, and a new one is one class and one line in ``LIMITERS``.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Final, Protocol, TypeAlias

from compiler.duration import MILLISECOND, SECOND, InvalidDuration, Nanoseconds, parse_duration

__all__ = [
    "LIMITERS",
    "Bucket",
    "Clock",
    "FixedWindow",
    "InvalidLimiter",
    "ItemExponentialFailure",
    "ItemFastSlow",
    "LeakyBucket",
    "Limiter",
    "MaxOf",
    "WithMaxWait",
    "build_limiter",
    "default_limiter",
    "exponential_delay",
]

Clock: TypeAlias = Callable[[], Nanoseconds]
"""A clock that never goes back; only differences of what it says count."""

_LONGEST_SHIFT: Final = 63
"""A delay doubled more often than this is over 292 years, whatever its base."""


class Limiter(Protocol):
    """What decides how long an item waits."""

    def when(self, item: Hashable) -> Nanoseconds:
        """Record a failure of the item and return its delay."""
        ...

    def forget(self, item: Hashable) -> None:
        """Forget the failures of an item: it succeeded, or nobody wants it any more."""
        ...

    def num_requeues(self, item: Hashable) -> int:
        """Count the failures of an item since it was last forgotten."""
        ...


def exponential_delay(base: Nanoseconds, longest: Nanoseconds, failures: int) -> Nanoseconds:
    """Compute ``base · 2^failures``, at most ``longest``; any number of failures is answered in constant time."""
    return min(base << min(failures, _LONGEST_SHIFT), longest)


class _PerItem:
    """Counts failures by item."""

    def __init__(self) -> None:
        self._failures = dict[Hashable, int]()

    def _count(self, item: Hashable) -> int:
        """Record a failure and return how many there are with it."""
        self._failures[item] = failures = self._failures.get(item, 0) + 1
        return failures

    def forget(self, item: Hashable) -> None:
        """Forget the failures of an item."""
        self._failures.pop(item, None)

    def num_requeues(self, item: Hashable) -> int:
        """Count the failures of an item."""
        return self._failures.get(item, 0)


class ItemExponentialFailure(_PerItem):
    """Doubles the delay with each failure of an item: ``base · 2^failures``, at most ``longest``."""

    def __init__(self, base: Nanoseconds, longest: Nanoseconds) -> None:
        super().__init__()
        self._base, self._longest = base, longest

    def when(self, item: Hashable) -> Nanoseconds:
        """Record a failure; the first one waits ``base``."""
        return exponential_delay(self._base, self._longest, self._count(item) - 1)


class ItemFastSlow(_PerItem):
    """Waits ``fast`` for the first ``attempts`` failures of an item, ``slow`` from then on."""

    def __init__(self, fast: Nanoseconds, slow: Nanoseconds, attempts: int) -> None:
        super().__init__()
        self._fast, self._slow, self._attempts = fast, slow, attempts

    def when(self, item: Hashable) -> Nanoseconds:
        """Record a failure and return the delay."""
        return self._fast if self._count(item) <= self._attempts else self._slow


class _Overall:
    """Limits all items together: it knows nothing of a single one, and what it gave out never comes back."""

    def forget(self, item: Hashable) -> None:
        """Do nothing."""

    def num_requeues(self, item: Hashable) -> int:  # noqa: ARG002  the protocol's signature
        """Return 0."""
        return 0


class Bucket(_Overall):
    """A token bucket: ``burst`` at once, then ``rate`` a second.

    Kept as the moment at which the bucket would be full but for one place (the generic cell rate algorithm): whole
    nanoseconds, where a count of tokens would be a float that drifts.
    """

    def __init__(self, rate: float, burst: int, clock: Clock) -> None:
        self._step = _step(rate)
        self._depth = _at_least_one("burst", burst) * self._step
        self._clock = clock
        self._free = clock() - self._depth

    def when(self, item: Hashable) -> Nanoseconds:  # noqa: ARG002
        """Take a token, in advance if there is none, and return the time until it is there."""
        now = self._clock()
        self._free = max(self._free, now - self._depth) + self._step
        return max(self._free - now, 0)


class LeakyBucket(_Overall):
    """Lets out one in ``1/rate`` seconds, evenly: no burst, whatever was saved."""

    def __init__(self, rate: float, clock: Clock) -> None:
        self._step, self._clock = _step(rate), clock
        self._free = clock()

    def when(self, item: Hashable) -> Nanoseconds:  # noqa: ARG002
        """Take the next free place and return the time until then."""
        now = self._clock()
        place = max(self._free, now)
        self._free = place + self._step
        return place - now


class FixedWindow(_Overall):
    """Lets out ``limit`` in each window, counted from its own start; what is over waits for later ones."""

    def __init__(self, limit: int, window: Nanoseconds, clock: Clock) -> None:
        self._limit, self._window = _at_least_one("limit", limit), _at_least_one("window", window)
        self._clock, self._origin = clock, clock()
        self._current, self._taken = 0, 0

    def when(self, item: Hashable) -> Nanoseconds:  # noqa: ARG002
        """Take a place in the first window that has one and return the time until that window opens."""
        now = self._clock() - self._origin
        if (present := now // self._window) > self._current:
            self._current, self._taken = present, 0
        if self._taken == self._limit:
            self._current, self._taken = self._current + 1, 0
        self._taken += 1
        return max(self._current * self._window - now, 0)


class MaxOf:
    """Asks every limiter, so that all of them count, and takes the longest delay."""

    def __init__(self, *limiters: Limiter) -> None:
        self._limiters = limiters

    def when(self, item: Hashable) -> Nanoseconds:
        """Record a failure with each and return the longest delay."""
        return max(limiter.when(item) for limiter in self._limiters)

    def forget(self, item: Hashable) -> None:
        """Forget the item in each."""
        for limiter in self._limiters:
            limiter.forget(item)

    def num_requeues(self, item: Hashable) -> int:
        """Return the highest count."""
        return max(limiter.num_requeues(item) for limiter in self._limiters)


class WithMaxWait:
    """Caps the delays of another limiter."""

    def __init__(self, limiter: Limiter, longest: Nanoseconds) -> None:
        self._limiter, self._longest = limiter, longest

    def when(self, item: Hashable) -> Nanoseconds:
        """Record a failure and return the delay, at most the longest."""
        return min(self._limiter.when(item), self._longest)

    def forget(self, item: Hashable) -> None:
        """Forget the item."""
        self._limiter.forget(item)

    def num_requeues(self, item: Hashable) -> int:
        """Count the failures of the item."""
        return self._limiter.num_requeues(item)


def default_limiter(clock: Clock) -> Limiter:
    """Make the limiter of controllers: 5 ms doubling to 1000 s an item, and 10 a second with bursts of 100 overall."""
    return MaxOf(ItemExponentialFailure(5 * MILLISECOND, 1000 * SECOND), Bucket(10, 100, clock))


class InvalidLimiter(ValueError):
    """The description is no limiter's; the message names the place in it."""


def build_limiter(description: Mapping[str, Any], clock: Clock, place: str = "rateLimiter") -> Limiter:
    """Make the limiter that plain values describe: ``{type: Bucket, rate: 10, burst: 100}``.

    Args:
        description: ``type`` is a key of ``LIMITERS``; durations are Go's.
        clock: for those that count per time.
        place: what the description is called in messages.

    Raises:
        InvalidLimiter: an unknown type, a field that is missing, unknown or not what it has to be.
    """
    kind = description.get("type")
    if not isinstance(kind, str) or kind not in LIMITERS:
        raise InvalidLimiter(f"{place}.type: {kind!r} is not one of {', '.join(LIMITERS)}")
    fields, make = LIMITERS[kind]
    if odd := sorted({*description} ^ {"type", *fields}):
        raise InvalidLimiter(f"{place}: {kind} has the fields {', '.join(fields)}; check {', '.join(odd)}")
    try:
        values = [read(description[name], clock, f"{place}.{name}") for name, read in fields.items()]
        return make(clock, *values)
    except InvalidLimiter:
        raise
    except ValueError as error:
        raise InvalidLimiter(f"{place}: {error}") from error


_Reader: TypeAlias = Callable[[Any, Clock, str], Any]


def _duration(value: Any, _: Clock, place: str) -> Nanoseconds:
    try:
        duration = parse_duration(value if isinstance(value, str) else "")
    except InvalidDuration as error:
        raise InvalidLimiter(f"{place}: {error}") from None
    if duration <= 0:
        raise InvalidLimiter(f"{place}: {value} is not more than 0")
    return duration


def _number(value: Any, _: Clock, place: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
        raise InvalidLimiter(f"{place}: {value!r} is not a number over 0")
    return value


def _count(value: Any, clock: Clock, place: str) -> int:
    if not isinstance(value, int):
        raise InvalidLimiter(f"{place}: {value!r} is not a whole number over 0")
    return int(_number(value, clock, place))


def _limiter(value: Any, clock: Clock, place: str) -> Limiter:
    if not isinstance(value, Mapping):
        raise InvalidLimiter(f"{place}: {value!r} is not a limiter")
    return build_limiter(value, clock, place)


def _limiters(value: Any, clock: Clock, place: str) -> list[Limiter]:
    if not isinstance(value, Sequence) or isinstance(value, str) or not value:
        raise InvalidLimiter(f"{place}: {value!r} is not a list of limiters")
    return [_limiter(each, clock, f"{place}[{i}]") for i, each in enumerate(value)]


LIMITERS: Final[Mapping[str, tuple[Mapping[str, _Reader], Callable[..., Limiter]]]] = {
    "ItemExponentialFailure": (
        {"baseDelay": _duration, "maxDelay": _duration},
        lambda _, base, longest: ItemExponentialFailure(base, longest),
    ),
    "Bucket": ({"rate": _number, "burst": _count}, lambda clock, rate, burst: Bucket(rate, burst, clock)),
    "ItemFastSlow": (
        {"fast": _duration, "slow": _duration, "attempts": _count},
        lambda _, fast, slow, attempts: ItemFastSlow(fast, slow, attempts),
    ),
    "MaxOf": ({"limiters": _limiters}, lambda _, limiters: MaxOf(*limiters)),
    "WithMaxWait": (
        {"limiter": _limiter, "maxDelay": _duration},
        lambda _, inner, longest: WithMaxWait(inner, longest),
    ),
    "FixedWindow": (
        {"limit": _count, "window": _duration},
        lambda clock, limit, window: FixedWindow(limit, window, clock),
    ),
    "LeakyBucket": ({"rate": _number}, lambda clock, rate: LeakyBucket(rate, clock)),
}
"""By the name that a configuration uses: the fields with their readers, and what makes the limiter of their values."""


def _step(rate: float) -> Nanoseconds:
    """Give the time between two at a rate a second, at least 1 ns."""
    if not rate > 0:
        raise ValueError(f"a rate of {rate} a second lets nothing out")
    return max(round(SECOND / rate), 1)


def _at_least_one(name: str, value: int) -> int:
    if value < 1:
        raise ValueError(f"{name} is {value}; at least 1 is needed")
    return value
