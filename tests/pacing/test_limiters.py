"""The limiters of page 5, with client-go's own vectors."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compiler.duration import HOUR, MILLISECOND, MINUTE, SECOND
from runtime.limiters import (
    LIMITERS,
    Bucket,
    FixedWindow,
    InvalidLimiter,
    ItemExponentialFailure,
    ItemFastSlow,
    LeakyBucket,
    MaxOf,
    WithMaxWait,
    build_limiter,
    default_limiter,
)

MS = MILLISECOND


class Clock:
    """A clock that the test sets."""

    def __init__(self, now: int = 1_000 * HOUR) -> None:
        self.now = now

    def __call__(self) -> int:
        return self.now


def delays(limiter: Any, count: int, item: str = "one") -> list[int]:
    return [limiter.when(item) for _ in range(count)]


def test_exponential_doubles_to_its_maximum() -> None:
    got = delays(ItemExponentialFailure(5 * MS, 1000 * SECOND), 20)
    assert [5 * MS, 10 * MS, 20 * MS] == got[:3]
    assert 655_360 * MS == got[17]
    assert [1000 * SECOND] * 2 == got[18:]


def test_exponential_does_not_overflow() -> None:
    assert 1000 * SECOND == delays(ItemExponentialFailure(MS, 1000 * SECOND), 1000)[-1]
    assert 4 * MINUTE == delays(ItemExponentialFailure(MINUTE, 1000 * HOUR), 3)[-1]


def test_exponential_counts_each_item_by_itself_and_forgets() -> None:
    limiter = ItemExponentialFailure(MS, SECOND)
    assert [MS, 2 * MS, 4 * MS, 8 * MS, 16 * MS] == delays(limiter, 5)
    assert 5 == limiter.num_requeues("one")
    assert [MS, 2 * MS] == delays(limiter, 2, "two")
    limiter.forget("one")
    assert 0 == limiter.num_requeues("one")
    assert [MS] == delays(limiter, 1)
    assert 2 == limiter.num_requeues("two")


def test_bucket_at_one_instant() -> None:
    limiter = Bucket(10, 100, Clock())
    assert [0] * 100 + [100 * MS, 200 * MS] == delays(limiter, 102)


def test_bucket_fills_again_but_not_over_its_burst() -> None:
    clock = Clock()
    limiter = Bucket(10, 3, clock)
    assert [0, 0, 0, 100 * MS] == delays(limiter, 4)
    clock.now += 300 * MS
    assert [0, 0, 100 * MS] == delays(limiter, 3)
    clock.now += HOUR
    assert [0, 0, 0, 100 * MS] == delays(limiter, 4)


def test_bucket_is_overall_and_never_gives_back() -> None:
    limiter = Bucket(1, 1, Clock())
    assert [0] == delays(limiter, 1, "one")
    limiter.forget("one")
    assert [SECOND] == delays(limiter, 1, "two")
    assert 0 == limiter.num_requeues("one")


def test_fast_slow() -> None:
    limiter = ItemFastSlow(5 * MS, 10 * SECOND, 3)
    assert [5 * MS] * 3 + [10 * SECOND] * 2 == delays(limiter, 5)
    assert 5 == limiter.num_requeues("one")
    limiter.forget("one")
    assert [5 * MS] == delays(limiter, 1)


def test_max_of_asks_each() -> None:
    exponential = ItemExponentialFailure(MS, SECOND)
    limiter = MaxOf(ItemFastSlow(5 * MS, 3 * SECOND, 3), exponential)
    assert [5 * MS] * 3 + [3 * SECOND] * 2 == delays(limiter, 5)
    assert 5 == exponential.num_requeues("one")
    assert 5 == limiter.num_requeues("one")
    limiter.forget("one")
    assert 0 == exponential.num_requeues("one")


def test_with_max_wait_caps() -> None:
    limiter = WithMaxWait(ItemFastSlow(5 * MS, 1000 * SECOND, 100), 500 * SECOND)
    assert [5 * MS] * 100 + [500 * SECOND] == delays(limiter, 101)
    assert 101 == limiter.num_requeues("one")
    limiter.forget("one")
    assert 0 == limiter.num_requeues("one")


def test_default_is_exponential_and_bucket() -> None:
    limiter = default_limiter(Clock())
    assert [5 * MS, 10 * MS] == delays(limiter, 2)
    for i in range(98):
        limiter.when(f"item {i}")
    assert 100 * MS == limiter.when("one too many")


def test_fixed_window_fills_later_windows() -> None:
    clock = Clock()
    limiter = FixedWindow(2, MINUTE, clock)
    clock.now += 10 * SECOND
    assert [0, 0, 50 * SECOND, 50 * SECOND, 110 * SECOND] == delays(limiter, 5)
    clock.now += 2 * MINUTE
    assert [0, 50 * SECOND] == delays(limiter, 2)


def test_leaky_bucket_is_even() -> None:
    clock = Clock()
    limiter = LeakyBucket(2, clock)
    assert [0, 500 * MS, 1000 * MS] == delays(limiter, 3)
    clock.now += HOUR
    assert [0, 500 * MS] == delays(limiter, 2)


@given(st.lists(st.integers(0, 3 * SECOND), min_size=1, max_size=60), st.integers(1, 5))
def test_bucket_never_lets_out_more_than_rate_and_burst(steps: list[int], burst: int) -> None:
    clock = Clock()
    limiter = Bucket(2, burst, clock)
    released = []
    for step in steps:
        clock.now += step
        released.append(clock.now + limiter.when("any"))
    assert sorted(released) == released
    for i, start in enumerate(released):
        within = sum(start <= moment <= start + SECOND for moment in released[i:])
        assert within <= burst + 2


@given(st.lists(st.integers(0, SECOND), min_size=2, max_size=60))
def test_leaky_bucket_keeps_its_distance(steps: list[int]) -> None:
    clock = Clock()
    limiter = LeakyBucket(4, clock)
    released = []
    for step in steps:
        clock.now += step
        released.append(clock.now + limiter.when("any"))
    assert all(b - a >= SECOND // 4 for a, b in pairwise(released))


def test_built_from_the_values_of_a_configuration() -> None:
    limiter = build_limiter(
        {
            "type": "MaxOf",
            "limiters": [
                {"type": "ItemExponentialFailure", "baseDelay": "5ms", "maxDelay": "1000s"},
                {"type": "Bucket", "rate": 10, "burst": 100},
            ],
        },
        Clock(),
    )
    assert [5 * MS, 10 * MS] == delays(limiter, 2)


@pytest.mark.parametrize(
    "description",
    [
        {"type": "ItemExponentialFailure", "baseDelay": "1ms", "maxDelay": "1s"},
        {"type": "Bucket", "rate": 0.5, "burst": 1},
        {"type": "ItemFastSlow", "fast": "1s", "slow": "1m", "attempts": 3},
        {"type": "MaxOf", "limiters": [{"type": "LeakyBucket", "rate": 1}]},
        {"type": "WithMaxWait", "limiter": {"type": "LeakyBucket", "rate": 1}, "maxDelay": "1s"},
        {"type": "FixedWindow", "limit": 100, "window": "6h"},
        {"type": "LeakyBucket", "rate": 3},
    ],
    ids=lambda d: d["type"],
)
def test_every_limiter_can_be_described(description: dict[str, Any]) -> None:
    limiter = build_limiter(description, Clock())
    assert limiter.when("one") >= 0
    limiter.forget("one")
    assert 0 == limiter.num_requeues("one")


def test_the_table_names_every_limiter() -> None:
    assert {
        "Bucket",
        "FixedWindow",
        "ItemExponentialFailure",
        "ItemFastSlow",
        "LeakyBucket",
        "MaxOf",
        "WithMaxWait",
    } == {*LIMITERS}


@pytest.mark.parametrize(
    "description, message",
    [
        ({}, "rateLimiter.type: None is not one of"),
        ({"type": "Bucke"}, "rateLimiter.type: 'Bucke' is not one of"),
        ({"type": "Bucket", "rate": 1}, "check burst"),
        ({"type": "LeakyBucket", "rate": 1, "brust": 2}, "check brust"),
        ({"type": "LeakyBucket", "rate": 0}, "rateLimiter.rate: 0 is not a number over 0"),
        ({"type": "Bucket", "rate": 1, "burst": 1.5}, "rateLimiter.burst: 1.5 is not a whole number over 0"),
        ({"type": "ItemFastSlow", "fast": "1", "slow": "1m", "attempts": 1}, "rateLimiter.fast: "),
        ({"type": "FixedWindow", "limit": 1, "window": "0"}, "rateLimiter.window: 0 is not more than 0"),
        ({"type": "MaxOf", "limiters": []}, "rateLimiter.limiters: "),
        ({"type": "MaxOf", "limiters": [7]}, "rateLimiter.limiters[0]: 7 is not a limiter"),
        ({"type": "MaxOf", "limiters": [{"type": "no"}]}, "rateLimiter.limiters[0].type: 'no' is not one of"),
    ],
)
def test_a_wrong_description_says_where(description: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidLimiter) as caught:
        build_limiter(description, Clock())
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Bucket(0, 1, Clock()),
        lambda: Bucket(1, 0, Clock()),
        lambda: LeakyBucket(-1, Clock()),
        lambda: FixedWindow(0, SECOND, Clock()),
        lambda: FixedWindow(1, 0, Clock()),
    ],
)
def test_a_limiter_that_lets_nothing_out_is_refused(make: Any) -> None:
    with pytest.raises(ValueError):
        make()
