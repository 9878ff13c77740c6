"""What registries say about their quota, in every form that is in the wild."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compiler.duration import HOUR, MINUTE, SECOND
from runtime.registry.limits import NO_LIMITS, Limits, read_limits

# Wed, 21 Oct 2026 07:27:00 GMT
NOW = 1_792_567_620 * SECOND


@pytest.mark.rule("W10")
@pytest.mark.parametrize(
    "text, expected",
    [
        ("120", 2 * MINUTE),
        ("0", 0),
        ("1.5", 3 * SECOND // 2),
        (" 7 ", 7 * SECOND),
        ("Wed, 21 Oct 2026 07:28:00 GMT", MINUTE),
        ("Wednesday, 21-Oct-26 07:28:00 GMT", MINUTE),
        ("Wed Oct 21 07:28:00 2026", MINUTE),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 0),
        ("999999999999", 999_999_999_999 * SECOND),
        ("", None),
        ("soon", None),
        ("-5", None),
        ("1e3", None),
        ("9" * 5000, None),
        ("Wed, 99 Oct 2026 07:28:00 GMT", None),
        ("Wed, 21 Oct 99999 07:28:00 GMT", None),
    ],
)
def test_w10_retry_after(text: str, expected: int | None) -> None:
    assert expected == read_limits({"retry-after": text}, NOW, refused=True).retry_after


@pytest.mark.rule("W10")
def test_w10_a_date_is_compared_with_the_answers_own_date() -> None:
    headers = {"retry-after": "Wed, 21 Oct 2026 07:28:00 GMT", "date": "Wed, 21 Oct 2026 07:27:30 GMT"}
    assert 30 * SECOND == read_limits(headers, NOW + HOUR, refused=True).retry_after


@pytest.mark.rule("W10")
@pytest.mark.parametrize(
    "body, expected",
    [
        (b"toomanyrequests: retry-after: 1.16676ms, allowed: 44000/minute", 1_166_760),
        ("retry-after: 880.092µs, allowed: 44000/minute".encode(), 880_092),
        (b"retry-after: 880.092us, allowed", 880_092),
        (b"retry-after: 1m30s.", 90 * SECOND),
        (b"retry-after: 5", None),
        (b"retry-after: later", None),
        (b"retry-after: \xff\xfe", None),
        (b"", None),
    ],
)
def test_w10_the_duration_in_a_body(body: bytes, expected: int | None) -> None:
    assert expected == read_limits({}, NOW, refused=True, body=body).retry_after


def test_the_header_wins_over_the_body() -> None:
    assert SECOND == read_limits({"retry-after": "1"}, NOW, refused=True, body=b"retry-after: 9s").retry_after


def test_retry_after_means_nothing_in_an_answer_that_refused_nothing() -> None:
    assert NO_LIMITS == read_limits({"retry-after": "60"}, NOW)


@pytest.mark.parametrize(
    "headers, expected",
    [
        ({}, NO_LIMITS),
        (
            {"ratelimit-limit": "100;w=21600", "ratelimit-remaining": "20;w=21600"},
            Limits(limit=100, remaining=20, window=6 * HOUR),
        ),
        ({"ratelimit-remaining": "0;w=21600"}, Limits(remaining=0)),
        ({"ratelimit-remaining": "0"}, Limits(remaining=0)),
        ({"ratelimit-limit": "100, 100;w=60, 1000;w=3600"}, Limits(limit=100, window=MINUTE)),
        (
            {"ratelimit-limit": "10", "ratelimit-remaining": "1", "ratelimit-reset": "50"},
            Limits(limit=10, remaining=1, reset=50 * SECOND),
        ),
        (
            {"x-ratelimit-limit": "60", "x-ratelimit-remaining": "59", "x-ratelimit-reset": str(NOW // SECOND + 90)},
            Limits(limit=60, remaining=59, reset=90 * SECOND),
        ),
        ({"x-ratelimit-reset": str(NOW // SECOND - 90)}, Limits(reset=0)),
        (
            {"ratelimit": '"default";r=50;t=30', "ratelimit-policy": '"default";q=100;w=60'},
            Limits(limit=100, remaining=50, window=MINUTE, reset=30 * SECOND),
        ),
        ({"ratelimit": "limit=100, remaining=50, reset=5"}, Limits(limit=100, remaining=50, reset=5 * SECOND)),
        ({"ratelimit-remaining": "many", "ratelimit-limit": "", "ratelimit-reset": "-1"}, NO_LIMITS),
    ],
)
def test_ratelimit_headers(headers: dict[str, str], expected: Limits) -> None:
    assert expected == read_limits(headers, NOW)


def test_later_limits_replace_what_they_say() -> None:
    first, later = Limits(limit=100, remaining=20), Limits(remaining=19, reset=SECOND)
    assert Limits(limit=100, remaining=19, reset=SECOND) == first.updated(later)
    assert first == first.updated(NO_LIMITS)


_NAMES = ["retry-after", "date", "ratelimit", "ratelimit-policy", "ratelimit-limit", "ratelimit-reset"]


@given(st.dictionaries(st.sampled_from(_NAMES), st.text(max_size=40)), st.binary(max_size=60))
def test_nothing_that_a_registry_says_is_an_error(headers: dict[str, str], body: bytes) -> None:
    limits = read_limits(headers, NOW, refused=True, body=body)
    assert all(value is None or value >= 0 for value in (limits.retry_after, limits.reset, limits.remaining))
