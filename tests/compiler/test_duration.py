"""Durations against what Go's time package prints and reads, and against a second implementation."""

from __future__ import annotations

import time

import durationpy
import pytest
from hypothesis import example, given, reject
from hypothesis import strategies as st

from compiler.duration import HOUR, MILLISECOND, MINUTE, SECOND, InvalidDuration, format_duration, parse_duration

LARGEST = 2**63 - 1
DURATIONS = st.integers(-LARGEST - 1, LARGEST)
UNITS = {"ns": 1, "us": 1_000, "ms": MILLISECOND, "s": SECOND, "m": MINUTE, "h": HOUR}

BOTH_WAYS = [
    ("0s", 0),
    ("1ns", 1),
    ("1.1µs", 1_100),
    ("2.2ms", 2_200_000),
    ("10ms", 10 * MILLISECOND),
    ("1s", SECOND),
    ("1.000000001s", SECOND + 1),
    ("30s", 30 * SECOND),
    ("1m0s", MINUTE),
    ("4m5s", 4 * MINUTE + 5 * SECOND),
    ("4m5.001s", 4 * MINUTE + 5 * SECOND + MILLISECOND),
    ("1h0m0s", HOUR),
    ("5h6m7.001s", 5 * HOUR + 6 * MINUTE + 7 * SECOND + MILLISECOND),
    ("1h30m0s", 90 * MINUTE),
    ("8m0.000000001s", 8 * MINUTE + 1),
    ("183h30m0s", 1101 * 10 * MINUTE),
    ("1426h40m0s", 2140 * 40 * MINUTE),
    ("-1s", -SECOND),
    ("-2m3.4s", -(2 * MINUTE + 3 * SECOND + 400 * MILLISECOND)),
    ("2562047h47m16.854775807s", LARGEST),
    ("-2562047h47m16.854775808s", -LARGEST - 1),
]
READ = [
    ("0", 0),
    ("+0", 0),
    ("-0", 0),
    ("0h", 0),
    ("5s", 5 * SECOND),
    ("+5s", 5 * SECOND),
    ("5.s", 5 * SECOND),
    (".5s", 500 * MILLISECOND),
    ("1.0s", SECOND),
    ("1.004s", 1004 * MILLISECOND),
    ("100.00100s", 100 * SECOND + MILLISECOND),
    ("00030s", 30 * SECOND),
    ("1h30m", 90 * MINUTE),
    ("10.5s4m", 4 * MINUTE + 10 * SECOND + 500 * MILLISECOND),
    ("1s1s", 2 * SECOND),
    ("12us", 12_000),
    ("12\u00b5s", 12_000),
    ("12\u03bcs", 12_000),
    ("1h2m3s4ms5us6ns", HOUR + 2 * MINUTE + 3 * SECOND + 4_005_006),
    ("52763797000ns", 52_763_797_000),
    ("9007199254.740993s", 9_007_199_254_740_993_000),
    ("9223372036854775807ns", LARGEST),
    ("9223372036854775.807us", LARGEST),
    ("-9223372036854775808ns", -LARGEST - 1),
    ("0.9ns", 0),
    ("1.9ns", 1),
    # Go rounds through floating point, and cuts digits that 64 bits don't hold
    ("0.3333333333333333333h", 20 * MINUTE),
    ("0.100000000000000000000h", 6 * MINUTE),
    ("0.9223372036854775807h", 55 * MINUTE + 20_413_933_267),
    ("0.830103483285477580700h", 49 * MINUTE + 48_372_539_827),
    ("." + "0" * 400 + "1h", 0),
]
REFUSED = [
    ("", "is not a duration"),
    ("3", "has no unit"),
    ("30", "30s or 30m"),
    ("-3", "has no unit"),
    ("007", "write for example 7s"),
    ("s", "is not a duration"),
    (".", "is not a duration"),
    ("-.", "is not a duration"),
    (".s", "is not a duration"),
    ("+.s", "is not a duration"),
    ("-", "is not a duration"),
    ("+", "is not a duration"),
    ("+-1s", "is not a duration"),
    ("--1s", "is not a duration"),
    (" 1s", "is not a duration"),
    ("1s ", "unknown unit"),
    ("1 s", "unknown unit"),
    ("1h 30m", "unknown unit"),
    ("1h garbage 1m", "unknown unit"),
    ("1d", "a day is 24h"),
    ("2w", "a week 168h"),
    ("1y", "unknown unit"),
    ("1S", "unknown unit"),
    ("1e3s", "unknown unit"),
    ("1,5s", "unknown unit"),
    ("1m-30s", "unknown unit"),
    ("1..5s", "has no unit"),
    ("\uff11s", "is not a duration"),
    ("infinity", "is not a duration"),
    ("9223372036854775808ns", "292 years"),
    ("-9223372036854775809ns", "292 years"),
    ("2562048h", "292 years"),
    ("3000000h", "292 years"),
    ("99999999999999999999999s", "292 years"),
    ("9223372036s1s", "292 years"),
]


def read(text: str) -> int | str:
    """Give the duration, or why there is none."""
    try:
        return parse_duration(text)
    except InvalidDuration as refusal:
        return str(refusal)


@pytest.mark.parametrize("text,duration", BOTH_WAYS)
def test_the_form_of_go_is_written_and_read(text: str, duration: int) -> None:
    assert text == format_duration(duration)
    assert duration == parse_duration(text)


@pytest.mark.parametrize("text,duration", READ)
def test_what_go_reads_is_read_as_go_reads_it(text: str, duration: int) -> None:
    assert duration == parse_duration(text)


@pytest.mark.parametrize("text,reason", REFUSED)
def test_what_go_refuses_is_refused_with_a_reason(text: str, reason: str) -> None:
    with pytest.raises(InvalidDuration) as refusal:
        parse_duration(text)
    assert reason in str(refusal.value)


@given(DURATIONS)
@example(LARGEST)
@example(-LARGEST - 1)
def test_what_is_written_reads_back(duration: int) -> None:
    assert duration == parse_duration(format_duration(duration))


@given(st.lists(st.tuples(st.integers(0, 10**5), st.sampled_from(sorted(UNITS))), min_size=1, max_size=20))
def test_terms_add_up_in_any_order(terms: list[tuple[int, str]]) -> None:
    assert sum(n * UNITS[unit] for n, unit in terms) == parse_duration("".join(f"{n}{unit}" for n, unit in terms))


@given(st.text("0123456789.-+hmsnuµ ", max_size=12) | st.text(max_size=6))
def test_any_text_is_read_or_refused_in_one_line(text: str) -> None:
    found = read(text)
    assert found.isprintable() if isinstance(found, str) else -LARGEST - 1 <= found <= LARGEST


@given(st.from_regex(r"-?(?:[0-9]{1,6}(?:\.[0-9]{1,3})?(?:ns|us|ms|s|m|h)){1,4}", fullmatch=True))
def test_a_second_opinion_agrees(text: str) -> None:
    try:
        second = durationpy.from_str(text)
    except (ValueError, OverflowError):
        reject()
    # the other one counts in floating point and to the microsecond
    assert (
        abs(parse_duration(text) // 1_000 - round(second.total_seconds() * 1e6))
        <= 2 + abs(parse_duration(text)) // 10**15
    )


@pytest.mark.parametrize(
    "text", ["1s" * 100_000, "9" * 200_000 + "s", "0." + "3" * 200_000 + "h", "x" * 10**6, "1" + "x" * 10**6]
)
def test_a_hostile_text_costs_no_more_than_its_length_and_a_line(text: str) -> None:
    before = time.process_time()
    found = read(text)
    assert not isinstance(found, str) or len(found) < 300
    assert time.process_time() - before < 1
