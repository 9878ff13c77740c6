"""Status: times that stay the same, lists with a bound, and what a damaged one is worth."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compiler.duration import HOUR, MINUTE, SECOND
from runtime.controller.conditions import FALSE, TRUE, Condition, Conditions
from runtime.controller.ledger import Drift, Known, Ledger
from runtime.controller.reports import read_record
from runtime.controller.retention import LONGEST, Retained, read_retained, retain
from runtime.controller.times import Clocks, read_time, write_time
from runtime.pacing import Response, Verdict

NOON = 1_764_504_000 * SECOND
NEVER_READ = Response(Verdict.QUOTA_EXCEEDED)


class Hands:
    """Two clocks that a test moves."""

    def __init__(self) -> None:
        self.boot, self.wall = 0, NOON

    def clocks(self) -> Clocks:
        return Clocks(lambda: self.boot, lambda: self.wall)

    def pass_time(self, duration: int, drift: int = 0) -> None:
        self.boot += duration
        self.wall += duration + drift


@given(st.integers(0, 4_000_000_000), st.integers(0, 999_999))
def test_a_time_that_was_written_is_read_back(seconds: int, microseconds: int) -> None:
    moment = seconds * SECOND + microseconds * 1000

    assert moment == read_time(write_time(moment))


@pytest.mark.parametrize("text", [None, "", "noon", 5, "2026-01-02", "2026-01-02T10:00:00", [], "2026-13-01T00:00:00Z"])
def test_what_is_no_time_is_none(text: Any) -> None:
    assert read_time(text) is None


@pytest.mark.rule("W8")
def test_a_moment_is_the_same_time_of_day_until_somebody_sets_the_clock() -> None:
    hands = Hands()
    clocks = hands.clocks()

    before = clocks.to_wall(5 * SECOND)
    hands.pass_time(HOUR, drift=SECOND // 3)
    assert before == clocks.to_wall(5 * SECOND)
    assert 5 * SECOND == clocks.to_boot(before)

    hands.wall += HOUR
    assert before + HOUR <= clocks.to_wall(5 * SECOND) <= before + HOUR + SECOND


@given(st.lists(st.integers(0, 2 * HOUR), max_size=30), st.integers(0, 2 * HOUR))
def test_what_is_retained_is_unused_and_younger_than_the_retention(ages: list[int], retention: int) -> None:
    candidates = {f"r/{n}": Retained(f"r/{n}", NOON - age) for n, age in enumerate(ages)}

    kept, is_truncated = retain(candidates, frozenset({"r/0"}), retention, NOON)

    assert {f"r/{n}" for n, age in enumerate(ages) if age < retention and n} == set(kept)
    assert not is_truncated
    assert list(kept) == sorted(kept)


def test_beyond_its_bound_those_unused_longest_go_first() -> None:
    candidates = {f"r/{n}": Retained(f"r/{n}", NOON - n * SECOND) for n in range(LONGEST + 3)}

    kept, is_truncated = retain(candidates, frozenset(), 48 * HOUR, NOON)

    assert is_truncated
    assert LONGEST == len(kept)
    assert f"r/{LONGEST}" not in kept
    assert f"r/{LONGEST - 1}" in kept


def test_since_is_the_first_time_of_the_verdict_and_a_quota_says_nothing() -> None:
    ledger = Ledger()

    ledger.visited("o", "i", Response(Verdict.NOT_FOUND), NOON)
    ledger.visited("o", "i", NEVER_READ, NOON + MINUTE)
    ledger.visited("o", "i", Response(Verdict.NOT_FOUND), NOON + HOUR)
    assert Known(Verdict.NOT_FOUND, NOON, NOON + HOUR) == ledger.of("o")["i"]

    ledger.visited("o", "i", Response(Verdict.AVAILABLE, "sha256:1"), NOON + 2 * HOUR)
    assert NOON + 2 * HOUR == ledger.of("o")["i"].since

    ledger.visited("o", "j", NEVER_READ, NOON)
    assert "j" not in ledger.of("o")


def test_platforms_stay_with_their_digest() -> None:
    ledger, runs = Ledger(), {"i": frozenset({"sha256:amd64"})}

    ledger.visited("o", "i", Response(Verdict.AVAILABLE, "sha256:1", platforms=frozenset({"sha256:amd64"})), NOON)
    ledger.visited("o", "i", Response(Verdict.AVAILABLE, "sha256:1"), NOON)
    assert [] == list(ledger.drifted("o", runs))

    ledger.visited("o", "i", Response(Verdict.AVAILABLE, "sha256:2"), NOON)
    assert [] == list(ledger.drifted("o", runs)), "nobody has looked into the new index"
    assert 1 == ledger.undecided("o", runs)

    ledger.visited("o", "i", Response(Verdict.AVAILABLE, "sha256:2", platforms=frozenset()), NOON)
    assert [Drift("i", "sha256:amd64", "sha256:2")] == list(ledger.drifted("o", runs))
    assert 0 == ledger.undecided("o", runs)


def test_a_ledger_forgets_what_is_not_tracked() -> None:
    ledger = Ledger()
    for owner in ("a", "b"):
        ledger.visited(owner, "i", Response(Verdict.AVAILABLE, "sha256:1"), NOON)
        ledger.copied(owner, "j", "sha256:2")

    ledger.keep_only({"a": {"i"}})

    assert ({"i"}, set()) == (set(ledger.of("a")), set(ledger.of("b")))
    assert [] == list(ledger.moved("a"))


def test_a_condition_keeps_its_time_while_its_status_does() -> None:
    conditions = Conditions()

    def write(status: str, reason: str, now: int) -> str:
        (one,) = conditions.write("o", [Condition("Ready", status, reason, "")], None, now)
        return str(one["lastTransitionTime"])

    first = write(TRUE, "Reconciled", NOON)
    assert first == write(TRUE, "Other", NOON + HOUR)
    assert write_time(NOON + 2 * HOUR) == write(FALSE, "InvalidSpec", NOON + 2 * HOUR)

    later = Conditions()
    later.restore("o", {"conditions": [{"type": "Ready", "status": "False", "lastTransitionTime": first}]})
    (one,) = later.write("o", [Condition("Ready", FALSE, "Suspended", "")], 3, NOON + 3 * HOUR)
    assert (first, 3) == (one["lastTransitionTime"], one["observedGeneration"])


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.just("2026-01-02T10:00:00Z"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)
FIELDS = st.sampled_from(
    [
        "checks",
        "registries",
        "failedImagesCopy",
        "unavailableImages",
        "driftedImages",
        "retainedImages",
        "conditions",
        "repositories",
        "ref",
        "registry",
        "cursor",
        "checked",
        "cycleStarted",
        "cycleDuration",
        "reason",
        "since",
        "attempts",
        "type",
        "status",
    ]
)
DAMAGED = st.recursive(
    st.dictionaries(FIELDS, JUNK, max_size=4),
    lambda inner: st.dictionaries(FIELDS, inner | st.lists(inner, max_size=2) | JUNK, max_size=4),
    max_leaves=10,
)


@given(DAMAGED)
def test_a_damaged_status_is_worth_what_can_be_read_of_it(status: dict[str, Any]) -> None:
    clocks = Hands().clocks()

    record = read_record(status, clocks)
    Ledger().restore("o", status, NOON)
    Conditions().restore("o", status)

    assert all(ring.registry is not None and ring.checked >= 0 for ring in record.rings)
    assert all(failure.attempts >= 1 for failure in record.failures)
    assert all(isinstance(kept.ref, str) for kept in read_retained(status))
