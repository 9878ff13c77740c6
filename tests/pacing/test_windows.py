"""Windows: when they open, what they take, how they are lost (P1, P2, W1 to W10, N1)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compiler.duration import HOUR, MILLISECOND, MINUTE, SECOND
from compiler.plan import Operation, Ring
from runtime.pacing import Engine, Outcome, Response, UnknownRead, Verdict
from runtime.pacing.grid import Grid

CHECK, COPY = Operation.CHECK, Operation.COPY


def test_p1_checks_rereads_and_copies_are_paced(lab: Any) -> None:
    driver = lab.drive(
        lab.host(
            {"ImageMonitor/all": lab.images("a"), "ImageMirror/m": lab.images("b")},
            {"ImageMirror/m": lab.images("b", "c")},
        )
    )
    driver.scan("ImageMirror/m", lab.images("b"))
    driver.run(3 * MINUTE)
    assert [("m", "b"), ("all", "a"), ("m", "b")] == driver.taken(CHECK)
    assert [("m", "c")] == driver.taken(COPY)
    assert {w.opens % MINUTE for w in driver.windows} == {0}


def test_p2_what_is_not_paced_never_reaches_the_engine(lab: Any) -> None:
    # a scan tells what it found and takes no window; a destination is never read
    driver = lab.drive(lab.host(queues={"ImageMirror/m": lab.images("a")}))
    driver.scan("ImageMirror/m", lab.images("a"))
    driver.run(HOUR)
    assert [] == [w for w in driver.windows if w.read]


def test_w1_each_host_has_two_series(lab: Any) -> None:
    driver = lab.drive(lab.host(check=MINUTE, copy=3 * MINUTE), lab.host(name="quay.io", check=2 * MINUTE, copy=HOUR))
    driver.run(4 * MINUTE)
    assert [
        ("docker.io", CHECK, 1),
        ("docker.io", CHECK, 2),
        ("quay.io", CHECK, 2),
        ("docker.io", CHECK, 3),
        ("docker.io", COPY, 3),
        ("docker.io", CHECK, 4),
        ("quay.io", CHECK, 4),
    ] == [(w.host, w.operation, w.opens // MINUTE) for w in driver.windows]


def test_w2_windows_open_at_multiples_behind_the_lease(lab: Any) -> None:
    lease = 13 * HOUR + 32 * MINUTE
    driver = lab.drive(lab.host({"ImageMonitor/a": lab.images(9)}, check=5 * MINUTE), lease=lease)
    driver.run(lease + 15 * MINUTE)
    assert [(1, "13:37"), (2, "13:42"), (3, "13:47")] == [
        (w.number, f"{w.opens // HOUR}:{w.opens % HOUR // MINUTE}") for w in driver.of(CHECK)
    ]


def test_w2_the_first_plan_may_come_after_the_lease(lab: Any) -> None:
    driver = lab.Driver(Engine(0), now=150 * SECOND)
    driver.apply(lab.plan(lab.host({"ImageMonitor/a": lab.images(9)})))
    driver.run(5 * MINUTE)
    assert [3, 4, 5] == [w.number for w in driver.of(CHECK)]
    assert [3, 4, 5] == driver.times(Outcome.USED, CHECK)


@given(st.integers(-(10**18), 10**18), st.integers(SECOND, HOUR), st.lists(st.integers(0, 3 * HOUR), max_size=30))
def test_w2_the_grid_is_exact(anchor: int, interval: int, steps: list[int]) -> None:
    grid, now = Grid(anchor, interval), anchor
    for step in steps:
        now += step
        before = grid.number
        if grid.opens <= now:
            grid.skip_missed(now)
        assert grid.opens == anchor + grid.number * interval
        assert grid.number >= max(before, 1)
        assert grid.opens > now - grid.tolerance - 1


def test_w3_a_window_takes_one_image(lab: Any) -> None:
    driver = lab.drive(
        lab.host({"ImageMonitor/a": lab.images(9), "ImageMonitor/b": lab.images(5)}, {"ImageMirror/m": lab.images(4)})
    )
    driver.scan("ImageMirror/m")
    driver.run(HOUR)
    used = [w for w in driver.windows if w.outcome is Outcome.USED]
    assert all(w.read is not None and w.run == 1 for w in used)
    assert len(used) == len({(w.operation, w.number) for w in used})


def test_w4_a_window_opened_while_busy_is_lost(lab: Any) -> None:
    driver = lab.drive(lab.host({"ImageMonitor/a": lab.images(9)}))
    driver.latency[CHECK] = 150 * SECOND
    driver.run(7 * MINUTE)
    assert [1, 4, 7] == driver.times(Outcome.USED, CHECK)
    assert [2, 3, 5, 6] == driver.times(Outcome.BUSY, CHECK)


def test_w4_a_read_that_ends_as_the_window_opens_is_over(lab: Any) -> None:
    driver = lab.drive(lab.host({"ImageMonitor/a": lab.images(9)}))
    driver.latency[CHECK] = MINUTE
    driver.run(3 * MINUTE)
    assert [1, 2, 3] == driver.times(Outcome.USED, CHECK)


def test_w5_a_window_that_finds_nothing_is_lost_and_nothing_is_saved(lab: Any) -> None:
    driver = lab.drive(lab.host())
    driver.run(10 * MINUTE)
    assert [*range(1, 11)] == driver.times(Outcome.IDLE, CHECK)
    driver.apply(lab.plan(lab.host({"ImageMonitor/a": lab.images(9)})))
    driver.run(12 * MINUTE)
    assert [11, 12] == driver.times(Outcome.USED, CHECK)


def test_w6_the_time_an_image_takes_moves_no_window(lab: Any) -> None:
    driver = lab.drive(lab.host({"ImageMonitor/a": lab.images(99)}))
    driver.latency[CHECK] = 59 * SECOND
    driver.run(20 * MINUTE)
    assert [*range(1, 21)] == driver.times(Outcome.USED, CHECK)


@pytest.mark.parametrize(
    "interval, latest",
    [(MINUTE, SECOND), (10 * SECOND, SECOND), (5 * SECOND, 500 * MILLISECOND), (SECOND, 100 * MILLISECOND)],
)
def test_w6_a_window_noticed_late_is_missed(lab: Any, interval: int, latest: int) -> None:
    engine = lab.drive(lab.host({"ImageMonitor/a": lab.images(9)}, check=interval, copy=HOUR)).engine
    in_time = engine.open_next(interval + latest)
    assert (Outcome.USED, interval) == (in_time.outcome, in_time.read.opens)
    engine.finished(in_time.read, lab.available(), interval + latest)
    late = engine.open_next(2 * interval + latest + 1)
    assert (Outcome.MISSED, None, 1) == (late.outcome, late.read, late.run)
    assert 3 * interval == engine.next_opening()


def test_w6_windows_that_were_slept_through_are_missed_and_not_caught_up(lab: Any) -> None:
    engine = lab.drive(lab.host({"ImageMonitor/a": lab.images(9)}, copy=10**6 * HOUR)).engine
    opened = engine.open(100 * 24 * HOUR + 30 * SECOND)
    assert [(Outcome.MISSED, 1, 100 * 24 * 60)] == [(w.outcome, w.number, w.run) for w in opened]
    assert 100 * 24 * HOUR + MINUTE == engine.next_opening()
    assert [(Outcome.USED, 144001)] == [(w.outcome, w.number) for w in engine.open(100 * 24 * HOUR + MINUTE)]


def test_w6_the_window_that_is_due_on_waking_is_taken(lab: Any) -> None:
    engine = lab.drive(lab.host({"ImageMonitor/a": lab.images(9)}, copy=10**6 * HOUR)).engine
    opened = engine.open(HOUR + SECOND)
    assert [(Outcome.MISSED, 1, 59), (Outcome.USED, 60, 1)] == [(w.outcome, w.number, w.run) for w in opened]
    assert HOUR == opened[1].opens


def test_w7_a_host_seen_late_reads_on_the_grid_of_the_lease(lab: Any) -> None:
    driver = lab.drive(lease=0)
    driver.run(12 * HOUR + 17 * SECOND)
    driver.apply(lab.plan(lab.host({"ImageMonitor/a": lab.images(9)})))
    driver.run(12 * HOUR + 2 * MINUTE)
    assert [12 * 60 + 1, 12 * 60 + 2] == driver.times(Outcome.USED, CHECK)
    assert [12 * 60 + 1, 12 * 60 + 2] == [w.number for w in driver.of(CHECK)]


def test_w7_a_host_seen_as_a_window_opens_has_that_window(lab: Any) -> None:
    driver = lab.drive(lease=0)
    driver.now = 5 * MINUTE
    driver.apply(lab.plan(lab.host({"ImageMonitor/a": lab.images(9)})))
    driver.run(6 * MINUTE)
    assert [5, 6] == driver.times(Outcome.USED, CHECK)


def test_w7_a_host_that_comes_back_finds_the_grid_it_left(lab: Any) -> None:
    there = lab.host({"ImageMonitor/a": lab.images(9)}, check=7 * SECOND)
    driver = lab.drive(lease=0)
    driver.run(10 * SECOND)
    driver.apply(lab.plan(there))
    driver.run(60 * SECOND)
    assert [17, 24, 31, 38, 45, 52, 59] == driver.times(Outcome.USED, CHECK, unit=SECOND)
    idle = lab.host(check=7 * SECOND)
    driver.apply(lab.plan(idle))
    driver.run(70 * SECOND)
    driver.apply(lab.plan(there))
    driver.run(80 * SECOND)
    assert [73, 80] == driver.times(Outcome.USED, CHECK, unit=SECOND)[-2:]


def test_w7_a_host_that_went_and_came_back_at_one_instant_opens_no_window_twice(lab: Any) -> None:
    there = lab.plan(lab.host({"ImageMonitor/a": lab.images(9)}))
    driver = lab.drive(*there.hosts)
    driver.run(MINUTE)
    driver.apply(lab.plan())
    driver.apply(there)
    driver.run(2 * MINUTE)
    assert [1, 2] == driver.times(Outcome.USED, CHECK)


def test_w8_the_engine_reads_no_clock(root: Any) -> None:
    sources = (root / "runtime" / "pacing").glob("*.py")
    words = {
        line for source in sources for line in source.read_text().splitlines() if line.startswith(("import", "from"))
    }
    assert not [line for line in words if line.split()[1].split(".")[0] in {"time", "datetime", "asyncio", "logging"}]


def test_w9_who_has_lost_the_lease_takes_no_window(lab: Any) -> None:
    driver = lab.drive(lab.host({"ImageMonitor/a": lab.images(9)}, {"ImageMirror/m": lab.images(2)}))
    driver.scan("ImageMirror/m")
    driver.latency = {CHECK: 10 * MINUTE, COPY: 10 * MINUTE}
    driver.run(4 * MINUTE)
    in_flight = driver.engine.resign()
    assert [CHECK, COPY] == [read.operation for read in in_flight]
    assert None is driver.engine.next_opening()
    assert [] == driver.engine.open(HOUR)
    driver.apply(lab.plan(lab.host({"ImageMonitor/b": lab.images(9)})))
    assert [] == driver.engine.open(2 * HOUR)


def test_w9_a_clean_stop_counts_the_reads_that_end(lab: Any) -> None:
    driver = lab.drive(lab.host({"ImageMonitor/a": lab.images(9)}))
    driver.latency[CHECK] = 10 * SECOND
    driver.run(MINUTE)
    (read,) = driver.engine.resign()
    driver.engine.finished(read, lab.available(), 65 * SECOND)
    assert lab.images(9)[0] == driver.engine.status("ImageMonitor/a").rings[0].cursor


def test_w9_a_read_that_was_withdrawn_is_done_again(lab: Any) -> None:
    engine = lab.drive(lab.host({"ImageMonitor/a": lab.images(9)})).engine
    (window,) = engine.open(MINUTE)
    engine.withdrawn(window.read, MINUTE)
    (again,) = engine.open(2 * MINUTE)
    assert window.read.image == again.read.image
    with pytest.raises(UnknownRead):
        engine.withdrawn(window.read, 2 * MINUTE)


def test_w9_a_copy_that_was_withdrawn_has_not_failed(lab: Any) -> None:
    driver = lab.drive(lab.host(queues={"ImageMirror/m": lab.images("a", "b")}, check=HOUR))
    driver.scan("ImageMirror/m")
    (window,) = driver.engine.open(3 * MINUTE)
    driver.engine.withdrawn(window.read, 3 * MINUTE)
    (again,) = driver.engine.open(6 * MINUTE)
    assert window.read.image == again.read.image
    assert () == driver.engine.status("ImageMirror/m").queues[0].failed


def quota(retry_after: int | None = None, reset: int | None = None) -> Response:
    return Response(Verdict.QUOTA_EXCEEDED, None, retry_after, reset)


def test_w10_a_429_with_a_time_holds_both_series(lab: Any) -> None:
    driver = lab.drive(lab.host({"ImageMonitor/a": lab.images(9)}, {"ImageMirror/m": lab.images(2)}))
    driver.scan("ImageMirror/m")
    driver.answer = lambda read: quota(150 * SECOND) if read.opens == MINUTE else lab.available()
    driver.run(6 * MINUTE)
    assert [2, 3] == driver.times(Outcome.HELD, CHECK)
    assert [1, 4, 5, 6] == driver.times(Outcome.USED, CHECK)
    assert [3] == driver.times(Outcome.HELD, COPY)
    assert [6] == driver.times(Outcome.USED, COPY)


def test_w10_a_window_that_opens_as_the_hold_ends_is_not_held(lab: Any) -> None:
    driver = lab.drive(lab.host({"ImageMonitor/a": lab.images(9)}))
    driver.answer = lambda read: quota(2 * MINUTE) if read.opens == MINUTE else lab.available()
    driver.run(3 * MINUTE)
    assert [2] == driver.times(Outcome.HELD, CHECK)


def test_w10_the_hold_counts_from_the_end_of_the_read(lab: Any) -> None:
    driver = lab.drive(lab.host({"ImageMonitor/a": lab.images(9)}))
    driver.latency[CHECK] = 30 * SECOND
    driver.answer = lambda read: quota(MINUTE) if read.opens == MINUTE else lab.available()
    driver.run(3 * MINUTE)
    assert [2] == driver.times(Outcome.HELD, CHECK)


def test_w10_a_hold_lasts_at_most_six_hours(lab: Any) -> None:
    driver = lab.drive(lab.host({"ImageMonitor/a": lab.images(9)}, check=HOUR, copy=HOUR))
    driver.answer = lambda read: quota(1000 * HOUR) if read.opens == HOUR else lab.available()
    driver.run(8 * HOUR)
    assert [2, 3, 4, 5, 6] == driver.times(Outcome.HELD, CHECK, unit=HOUR)
    assert [1, 7, 8] == driver.times(Outcome.USED, CHECK, unit=HOUR)


def test_w10_a_used_up_quota_holds_the_copies_at_most_six_hours(lab: Any) -> None:
    driver = lab.drive(lab.host({"ImageMonitor/a": lab.images(9)}, check=HOUR, copy=HOUR))
    driver.answer = lambda read: (
        Response(Verdict.AVAILABLE, "sha256:x", quota_reset=1000 * HOUR) if read.opens == HOUR else lab.available()
    )
    driver.run(8 * HOUR)
    assert [1, 2, 3, 4, 5, 6] == driver.times(Outcome.HELD, COPY, unit=HOUR)


def test_w10_a_429_without_a_time_holds_nothing(lab: Any) -> None:
    driver = lab.drive(lab.host({"ImageMonitor/a": lab.images(9)}))
    driver.answer = lambda _: quota()
    driver.run(5 * MINUTE)
    assert [1, 2, 3, 4, 5] == driver.times(Outcome.USED, CHECK)


def test_w10_an_image_that_is_there_may_come_with_a_time_too(lab: Any) -> None:
    # the HEAD found it, and the GET of its index was answered with 429
    driver = lab.drive(lab.host({"ImageMonitor/a": lab.images(9)}))
    driver.answer = lambda _: Response(Verdict.AVAILABLE, "sha256:a", retry_after=2 * MINUTE + SECOND)
    driver.run(5 * MINUTE)
    assert [1, 4] == driver.times(Outcome.USED, CHECK)
    assert [2, 3] == [n for n in driver.times(Outcome.HELD, CHECK) if n < 4]


def test_w10_another_verdict_with_a_time_holds_nothing(lab: Any) -> None:
    driver = lab.drive(lab.host({"ImageMonitor/a": lab.images(9)}))
    driver.answer = lambda _: Response(Verdict.UNREACHABLE, None, retry_after=HOUR)
    driver.run(5 * MINUTE)
    assert [] == driver.times(Outcome.HELD, CHECK)


def test_w10_a_used_up_quota_holds_the_copies_alone(lab: Any) -> None:
    driver = lab.drive(lab.host({"ImageMonitor/a": lab.images(9)}, {"ImageMirror/m": lab.images(2)}))
    driver.scan("ImageMirror/m")
    driver.answer = lambda read: (
        Response(Verdict.AVAILABLE, "sha256:x", quota_reset=4 * MINUTE) if read.opens == MINUTE else lab.available()
    )
    driver.run(6 * MINUTE)
    assert [1, 2, 3, 4, 5, 6] == driver.times(Outcome.USED, CHECK)
    assert [3] == driver.times(Outcome.HELD, COPY)
    assert [6] == driver.times(Outcome.USED, COPY)


def test_w10_an_answer_never_shortens_a_hold(lab: Any) -> None:
    driver = lab.drive(lab.host({"ImageMonitor/a": lab.images(9)}, {"ImageMirror/m": lab.images(2)}))
    driver.scan("ImageMirror/m")
    driver.latency[COPY] = 90 * SECOND
    driver.answer = lambda read: quota(SECOND) if read.operation is COPY else quota(10 * MINUTE)
    driver.run(11 * MINUTE)
    assert [*range(2, 11)] == driver.times(Outcome.HELD, CHECK)


def test_w10_a_hold_outlives_the_plan_and_not_the_process(lab: Any) -> None:
    there = lab.plan(lab.host({"ImageMonitor/a": lab.images(9)}))
    driver = lab.drive(*there.hosts)
    driver.answer = lambda _: quota(10 * MINUTE)
    driver.run(MINUTE)
    driver.apply(lab.plan())
    driver.run(200 * SECOND)
    driver.apply(there)
    driver.run(5 * MINUTE)
    assert [4, 5] == driver.times(Outcome.HELD, CHECK)
    (check, copy) = driver.engine.series(driver.now)
    assert [11 * MINUTE] * 2 == [check.held_until, copy.held_until]
    assert [1] == lab.drive(*there.hosts).run(MINUTE).times(Outcome.USED, CHECK)


def test_n1_the_interval_of_the_plan_is_the_effective_one(lab: Any) -> None:
    driver = lab.drive(lab.host({"ImageMonitor/a": lab.images(9)}, check=3 * MINUTE, clusters=3))
    driver.run(9 * MINUTE)
    assert [3, 6, 9] == driver.times(Outcome.USED, CHECK)


def test_a_read_says_all_that_the_driver_must_know(lab: Any) -> None:
    (image,) = lab.images("a")
    ring = Ring("ImageMonitor/a", (image,), auth=((image, "own"),), insecure=(image,))
    driver = lab.drive(lab.host([ring], {"ImageMirror/m": [image]}, copy=MINUTE, timeouts=(5 * SECOND, HOUR)))
    driver.scan("ImageMirror/m")
    check, copy = driver.run(MINUTE).windows
    assert ("own", True, 5 * SECOND, None) == (
        check.read.secret,
        check.read.insecure,
        check.read.timeout,
        check.read.copy,
    )
    assert (None, False, HOUR, f"mirror.example.com/{image}") == (
        copy.read.secret,
        copy.read.insecure,
        copy.read.timeout,
        copy.read.copy.to,
    )


def test_a_read_ends_once(lab: Any) -> None:
    driver = lab.drive(lab.host({"ImageMonitor/a": lab.images(9)}, {"ImageMirror/m": lab.images(9)}, copy=MINUTE))
    driver.scan("ImageMirror/m")
    for window in driver.engine.open(MINUTE):
        driver.engine.finished(window.read, lab.available(), MINUTE)
        with pytest.raises(UnknownRead, match="is not in flight"):
            driver.engine.finished(window.read, lab.available(), MINUTE)
        with pytest.raises(UnknownRead):
            driver.engine.finished(window.read._replace(host="nowhere.example.com"), lab.available(), MINUTE)
