"""Queues (C1 to C5)."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from compiler.duration import HOUR, MINUTE, SECOND
from compiler.plan import Copy, Operation, Queue
from runtime.pacing import CopyFailure, Outcome, Policy, Record, Response, Scan, Verdict

CHECK, COPY = Operation.CHECK, Operation.COPY
M = "ImageMirror/m"
SYNC = Policy(MINUTE, 3 * MINUTE, synced=frozenset({M}))


def copied(driver: Any) -> str:
    return " ".join(image for _, image in driver.taken(COPY))


def queue_of(driver: Any) -> Any:
    return driver.engine.status(M).queues[0]


def failing(*names: str, until: int | None = None) -> Callable[[Any], Response]:
    """Answer copies of some images with a failure, up to a moment."""

    def answer(read: Any) -> Response:
        name = read.image.rpartition("/")[2].partition(":")[0]
        if read.operation is COPY and name in names and (until is None or read.opens < until):
            return Response(Verdict.AVAILABLE, "sha256:one", failure="PushFailed")
        return Response(Verdict.AVAILABLE, "sha256:one")

    return answer


def test_c1_vanished_copies_come_first_then_drifted_tags_then_first_copies(lab: Any) -> None:
    wanted = lab.images("a", "b", "c", "d", "e", "f")
    driver = lab.drive(lab.host({M: wanted}, {M: wanted}, check=MINUTE, copy=20 * MINUTE), policy=SYNC)
    driver.scan(M, lab.images("b", "c", "e", "f"))
    moved = lab.images("c", "b")
    driver.answer = lambda read: lab.available("sha256:two" if read.image in moved else "sha256:one")
    driver.run(5 * MINUTE)
    driver.engine.vanished(M, lab.image("f"), driver.now)
    driver.engine.vanished(M, lab.image("e"), driver.now)
    assert list(lab.images("e", "f", "b", "c", "a", "d")) == list(queue_of(driver).pending)
    assert set(moved) == set(queue_of(driver).drifted)
    driver.run(3 * HOUR)
    assert "e f b c a d" == copied(driver)


def test_c1_without_sync_a_drifted_tag_is_not_owed(lab: Any) -> None:
    wanted = lab.images("a")
    driver = lab.drive(lab.host({M: wanted}, {M: wanted}))
    driver.scan(M, wanted)
    driver.answer = lambda _: lab.available("sha256:two")
    driver.run(HOUR)
    assert [] == driver.reads(COPY)


def test_c1_drift_is_seen_in_a_reused_answer_too(lab: Any) -> None:
    wanted = lab.images("b")
    driver = lab.drive(lab.host({M: wanted, "ImageMonitor/z": lab.images("a", "b", "c")}, {M: wanted}), policy=SYNC)
    driver.scan(M, wanted)
    driver.run(5 * MINUTE)
    driver.answer = lambda _: lab.available("sha256:two")
    driver.run(7 * MINUTE)
    assert wanted == queue_of(driver).pending or [wanted[0]] == [read.image for read in driver.reads(COPY)]


def test_c1_a_tag_that_moved_back_is_no_longer_owed(lab: Any) -> None:
    wanted = lab.images("a")
    driver = lab.drive(lab.host({M: wanted}, {M: wanted}, copy=HOUR), policy=SYNC)
    driver.scan(M, wanted)
    driver.answer = lambda read: lab.available("sha256:two" if read.number == 1 else "sha256:one")
    driver.run(MINUTE)
    assert wanted == queue_of(driver).pending
    driver.run(2 * MINUTE)
    assert () == queue_of(driver).pending


@pytest.mark.parametrize(
    "response", [Response(Verdict.NOT_FOUND), Response(Verdict.UNREACHABLE), Response(Verdict.AVAILABLE)]
)
def test_c1_an_answer_without_another_digest_is_no_drift(lab: Any, response: Response) -> None:
    wanted = lab.images("a")
    driver = lab.drive(lab.host({M: wanted}, {M: wanted}), policy=SYNC)
    driver.scan(M, wanted)
    driver.answer = lambda _: response
    driver.run(10 * MINUTE)
    assert [] == driver.reads(COPY)


def test_c1_a_tag_that_moves_while_it_is_copied_is_owed_again_unless_the_copy_has_it(lab: Any) -> None:
    wanted = lab.images("a")
    for brought, owed in (("sha256:two", wanted), ("sha256:three", ())):
        driver = lab.drive(lab.host({M: wanted}, {M: wanted}), policy=SYNC)
        driver.scan(M, wanted)
        driver.latency[COPY] = 150 * SECOND
        digests = {1: "sha256:two", 2: "sha256:two", 3: "sha256:two", 4: "sha256:three", 5: "sha256:three"}
        driver.answer = lambda read, brought=brought, digests=digests: lab.available(
            brought if read.operation is COPY else digests.get(read.number, "sha256:three")
        )
        driver.run(330 * SECOND)
        assert 1 == len(driver.reads(COPY))
        assert owed == queue_of(driver).pending


def test_c1_what_a_scan_finds_is_not_owed(lab: Any) -> None:
    wanted = lab.images("a", "b", "c")
    driver = lab.drive(lab.host(queues={M: wanted}))
    driver.scan(M, lab.images("b"))
    driver.run(3 * MINUTE)
    driver.scan(M, lab.images("a", "b", "c"))
    driver.run(HOUR)
    assert "a" == copied(driver)


def test_c1_a_later_scan_that_misses_a_copy_makes_it_the_first_owed(lab: Any) -> None:
    wanted = lab.images("a", "b", "c")
    driver = lab.drive(lab.host(queues={M: wanted}, copy=3 * MINUTE))
    driver.scan(M, lab.images("c"))
    driver.scan(M)
    driver.run(HOUR)
    assert "c a b" == copied(driver)


def test_c1_a_scan_does_not_contradict_a_copy_that_ended_since_it_began(lab: Any) -> None:
    wanted = lab.images("a", "b")
    driver = lab.drive(lab.host(queues={M: wanted}))
    driver.scan(M)
    driver.run(3 * MINUTE)
    driver.engine.scanned(M, Scan(2 * MINUTE), 4 * MINUTE)
    driver.run(HOUR)
    assert "a b" == copied(driver)


def test_c1_a_copy_that_goes_elsewhere_now_is_owed_anew(lab: Any) -> None:
    driver = lab.drive(lab.host(queues=[Queue(M, (Copy(lab.image("a"), "one/a"),))]))
    driver.scan(M)
    driver.run(3 * MINUTE)
    driver.apply(lab.plan(lab.host(queues=[Queue(M, (Copy(lab.image("a"), "two/a"),))])))
    driver.run(6 * MINUTE)
    assert ["one/a", "two/a"] == [read.copy.to for read in driver.reads(COPY)]


def test_c1_a_copy_in_flight_to_where_it_is_no_longer_wanted_settles_nothing(lab: Any) -> None:
    driver = lab.drive(lab.host(queues=[Queue(M, (Copy(lab.image("a"), "one/a"),))]))
    driver.scan(M)
    driver.latency[COPY] = 30 * SECOND
    driver.run(3 * MINUTE)
    driver.apply(lab.plan(lab.host(queues=[Queue(M, (Copy(lab.image("a"), "two/a"),))])))
    driver.run(HOUR)
    assert ["one/a", "two/a"] == [read.copy.to for read in driver.reads(COPY)]


def test_c1_a_scan_does_not_settle_drift(lab: Any) -> None:
    wanted = lab.images("a")
    driver = lab.drive(lab.host({M: wanted}, {M: wanted}, copy=HOUR), policy=SYNC)
    driver.scan(M, wanted)
    driver.answer = lambda _: lab.available("sha256:two")
    driver.run(MINUTE)
    driver.scan(M, wanted)
    assert wanted == queue_of(driver).pending


def test_c1_what_is_no_longer_wanted_is_no_longer_owed(lab: Any) -> None:
    driver = lab.drive(lab.host(queues={M: lab.images("a", "b", "c")}))
    driver.scan(M)
    driver.latency[COPY] = 10 * SECOND
    driver.run(3 * MINUTE)
    driver.apply(lab.plan(lab.host(queues={M: lab.images("c")})))
    driver.run(HOUR)
    assert "a c" == copied(driver)
    assert (1, ()) == (queue_of(driver).desired, queue_of(driver).pending)


@pytest.mark.parametrize("back, expected", [(185, "a b"), (200, "a a b")])
def test_c1_a_copy_that_ends_while_its_mirror_is_away_arrives_for_nobody(lab: Any, back: int, expected: str) -> None:
    there = lab.plan(lab.host(queues={M: lab.images("a", "b")}))
    driver = lab.drive(*there.hosts)
    driver.scan(M)
    driver.latency[COPY] = 10 * SECOND
    driver.run(3 * MINUTE)
    driver.apply(lab.plan(lab.host()))
    driver.run(back * SECOND)
    driver.apply(there)
    driver.scan(M)
    driver.run(HOUR)
    assert expected == copied(driver)


@pytest.mark.rule("R8")
def test_r8_a_copy_that_ends_before_the_scan_of_its_mirror_waits_for_it(lab: Any) -> None:
    there = lab.plan(lab.host({M: lab.images("a", "b")}, {M: lab.images("a", "b")}))
    driver = lab.drive(*there.hosts)
    driver.scan(M)
    driver.latency[COPY] = 10 * SECOND
    driver.run(3 * MINUTE)
    driver.apply(lab.plan(lab.host()))
    driver.apply(there)
    driver.run(4 * MINUTE)
    assert () == driver.engine.status(M).rings
    driver.engine.scanned(M, Scan(3 * MINUTE), driver.now)
    assert [1] == [ring.images for ring in driver.engine.status(M).rings]
    assert lab.images("b") == queue_of(driver).pending


def test_c2_a_failed_copy_goes_behind_and_holds_nobody_back(lab: Any) -> None:
    driver = lab.drive(lab.host(queues={M: lab.images("a", "b", "c", "d")}))
    driver.scan(M)
    driver.answer = failing("a", "b", until=10 * MINUTE)
    driver.run(HOUR)
    assert "a b c d a b" == copied(driver)
    assert ((), ()) == (queue_of(driver).pending, queue_of(driver).failed)


def test_c2_of_the_failed_ones_that_tried_longest_ago_comes_first(lab: Any) -> None:
    driver = lab.drive(lab.host(queues={M: lab.images("a", "b", "c")}, copy=MINUTE))
    driver.scan(M)
    driver.answer = failing("a", "b", "c")
    driver.run(6 * MINUTE)
    assert "a b c a b c" == copied(driver)
    assert lab.images("a", "b", "c") == queue_of(driver).pending


def test_c2_it_is_tried_again_no_sooner_than_its_exponential_delay(lab: Any) -> None:
    driver = lab.drive(lab.host(queues={M: lab.images("a")}, copy=10 * SECOND))
    driver.scan(M)
    driver.latency[COPY] = 5 * SECOND
    driver.answer = failing("a")
    driver.run(12 * HOUR)
    starts = [read.opens for read in driver.reads(COPY)]
    waits = [(b - a - 5 * SECOND) / MINUTE for a, b in pairwise(starts)]
    delays = [1, 2, 4, 8, 16, 32, 60, 60, 60]
    assert all(delay <= wait < delay + 1 / 6 for delay, wait in zip(delays, waits, strict=False))
    assert len(waits) > len(delays)


def test_c2_the_delay_is_configured(lab: Any) -> None:
    policy = Policy(MINUTE, 3 * MINUTE, retry_base=10 * MINUTE, retry_longest=15 * MINUTE)
    driver = lab.drive(lab.host(queues={M: lab.images("a")}, copy=MINUTE), policy=policy)
    driver.scan(M)
    driver.answer = failing("a")
    driver.run(HOUR)
    assert [1, 11, 26, 41, 56] == driver.times(Outcome.USED, COPY)


def test_c2_a_new_image_goes_before_those_that_failed(lab: Any) -> None:
    driver = lab.drive(lab.host(queues={M: lab.images("a", "b")}))
    driver.scan(M)
    driver.answer = failing("a", "b")
    driver.run(6 * MINUTE)
    driver.apply(lab.plan(lab.host(queues={M: lab.images("a", "b", "z")})))
    driver.run(12 * MINUTE)
    assert "a b z a" == copied(driver)


def test_c2_a_vanished_copy_that_failed_waits_like_any_other(lab: Any) -> None:
    driver = lab.drive(lab.host(queues={M: lab.images("a", "b", "c")}))
    driver.scan(M, lab.images("c"))
    driver.answer = failing("c", until=4 * MINUTE)
    driver.engine.vanished(M, lab.image("c"), 0)
    driver.run(HOUR)
    assert "c a b c" == copied(driver)


def test_c2_a_success_forgets_the_failures(lab: Any) -> None:
    driver = lab.drive(lab.host(queues={M: lab.images("a")}, copy=MINUTE))
    driver.scan(M)
    driver.answer = failing("a", until=10 * MINUTE)
    driver.run(20 * MINUTE)
    assert () == queue_of(driver).failed
    driver.engine.vanished(M, lab.image("a"), driver.now)
    driver.answer = failing("a")
    driver.run(21 * MINUTE)
    assert [1] == [failure.attempts for failure in queue_of(driver).failed]


def test_c2_a_restart_does_not_forget_them(lab: Any) -> None:
    there = lab.host(queues={M: lab.images("a", "b")}, copy=MINUTE)
    driver = lab.drive(there)
    driver.scan(M)
    driver.answer = failing("a", "b")
    driver.run(4 * MINUTE)
    failed = queue_of(driver).failed
    assert [2, 2] == [failure.attempts for failure in failed]
    after = lab.drive(there, lease=4 * MINUTE, records={M: Record(failures=failed)})
    assert failed == queue_of(after).failed
    after.scan(M)
    after.run(7 * MINUTE)
    # two minutes after the last attempts, which ended at 3 and 4 minutes
    assert [(5, "a"), (6, "b")] == [(r.opens // MINUTE, lab.short(r.image)) for r in after.reads(COPY)]


def test_c2_after_a_restart_too_the_one_tried_longest_ago_comes_first(lab: Any) -> None:
    failures = (
        CopyFailure(lab.image("a"), "PushFailed", -MINUTE, 1),
        CopyFailure(lab.image("b"), "PushFailed", -HOUR, 1),
    )
    driver = lab.drive(lab.host(queues={M: lab.images("a", "b")}), records={M: Record(failures=failures)})
    driver.scan(M)
    driver.run(6 * MINUTE)
    assert "b a" == copied(driver)


def test_c2_a_changed_delay_applies_at_once(lab: Any) -> None:
    there = lab.plan(lab.host(queues={M: lab.images("a")}, copy=MINUTE))
    driver = lab.drive(*there.hosts, policy=Policy(MINUTE, 3 * MINUTE, retry_base=HOUR))
    driver.scan(M)
    driver.answer = failing("a", until=2 * MINUTE)
    driver.run(5 * MINUTE + SECOND)
    driver.apply(there, Policy(MINUTE, 3 * MINUTE, retry_base=MINUTE))
    driver.run(6 * MINUTE)
    assert [1, 6] == driver.times(Outcome.USED, COPY)


def test_c2_failures_of_an_image_that_has_arrived_or_gone_are_forgotten(lab: Any) -> None:
    failures = tuple(CopyFailure(image, "PushFailed", 0, 3) for image in lab.images("a", "b", "gone"))
    driver = lab.drive(lab.host(queues={M: lab.images("a", "b")}), records={M: Record(failures=failures)})
    assert list(lab.images("a", "b")) == [failure.image for failure in queue_of(driver).failed]
    driver.scan(M, lab.images("a"))
    assert [lab.image("b")] == [failure.image for failure in queue_of(driver).failed]


@pytest.mark.parametrize(
    "response, reason",
    [
        (Response(Verdict.NOT_FOUND), "NotFound"),
        (Response(Verdict.AVAILABLE, "sha256:x", failure="PushFailed"), "PushFailed"),
        (Response(Verdict.QUOTA_EXCEEDED, failure="QuotaExceeded"), "QuotaExceeded"),
    ],
)
def test_c2_status_tells_why_and_when(lab: Any, response: Response, reason: str) -> None:
    driver = lab.drive(lab.host(queues={M: lab.images("a")}))
    driver.scan(M)
    driver.latency[COPY] = SECOND
    driver.answer = lambda _: response
    driver.run(4 * MINUTE)
    assert (CopyFailure(lab.image("a"), reason, 181 * SECOND, 1),) == queue_of(driver).failed


def test_c3_the_timeout_of_the_plan_goes_with_the_copy_and_none_is_none(lab: Any) -> None:
    for timeout in (0, 90 * SECOND):
        driver = lab.drive(lab.host(queues={M: lab.images("a")}, timeouts=(0, timeout)))
        driver.scan(M)
        driver.run(3 * MINUTE)
        assert [timeout] == [read.timeout for read in driver.reads(COPY)]


def test_c4_a_copy_that_outlasts_its_interval_shows_as_busy_windows(lab: Any) -> None:
    driver = lab.drive(lab.host(queues={M: lab.images("a", "b", "c")}))
    driver.scan(M)
    driver.latency[COPY] = 7 * MINUTE
    driver.run(27 * MINUTE)
    assert [3, 12, 21] == driver.times(Outcome.USED, COPY)
    assert [6, 9, 15, 18, 24, 27] == driver.times(Outcome.BUSY, COPY)


@pytest.mark.rule("C5")
def test_c5_an_entry_may_name_another_place_than_the_origin(lab: Any) -> None:
    # how a copy moves to an alternative's host: its entry leaves one queue and joins the other, destination unchanged
    origin, other = lab.image("a"), "quay.io/mirror/a:1"
    first = lab.plan(lab.host(queues=[Queue(M, (Copy(origin, "r/a"),))]), lab.host(name="quay.io"))
    driver = lab.drive(*first.hosts)
    driver.scan(M)
    driver.answer = lambda read: Response(
        Verdict.NOT_FOUND if read.host == "docker.io" else Verdict.AVAILABLE, "sha256:x"
    )
    driver.run(3 * MINUTE)
    driver.apply(lab.plan(lab.host(), lab.host(name="quay.io", queues=[Queue(M, (Copy(other, "r/a"),))])))
    driver.run(9 * MINUTE)
    assert [origin] == [read.image for read in driver.reads(COPY)]
    assert [(other, "r/a")] == [(read.image, read.copy.to) for read in driver.reads(COPY, "quay.io")]


def test_a_copy_says_how_many_are_still_owed(lab: Any) -> None:
    driver = lab.drive(lab.host(queues={M: lab.images("a", "b")}, check=HOUR))
    driver.scan(M)
    pending = []
    for minute in (3, 6):
        (window,) = driver.engine.open(minute * MINUTE)
        pending.append(driver.engine.finished(window.read, lab.available(), minute * MINUTE).pending)
    assert [1, 0] == pending


def test_what_is_known_of_a_mirror_goes_with_it(lab: Any) -> None:
    there = lab.plan(lab.host({M: lab.images("a")}, {M: lab.images("a")}))
    driver = lab.drive(*there.hosts)
    driver.scan(M, lab.images("a"))
    driver.apply(lab.plan(lab.host()))
    driver.apply(there)
    driver.run(10 * MINUTE)
    assert [] == [w for w in driver.windows if w.read]
    assert not queue_of(driver).known


def test_scans_of_what_nobody_wants_mean_nothing(lab: Any) -> None:
    driver = lab.drive(lab.host(queues={M: lab.images("a")}))
    driver.scan("ImageMirror/other", lab.images("a"))
    driver.engine.vanished("ImageMirror/other", lab.image("a"), 0)
    driver.scan(M, lab.images("b"))
    driver.engine.vanished(M, lab.image("b"), 0)
    assert lab.images("a") == queue_of(driver).pending
