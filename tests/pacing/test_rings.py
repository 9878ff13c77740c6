"""Rings and laps (R1 to R8)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from compiler.duration import HOUR, MINUTE, SECOND
from compiler.plan import Operation, Ring
from runtime.pacing import OwnerStatus, Record, Response, RingStatus, Verdict

CHECK, COPY = Operation.CHECK, Operation.COPY
A, B = "ImageMonitor/a", "ImageMonitor/b"
M = "ImageMirror/m"


def names(driver: Any, owner: str | None = None) -> str:
    return " ".join(image for who, image in driver.taken() if owner is None or owner.endswith(f"/{who}"))


def ring_of(driver: Any, owner: str = A) -> RingStatus:
    (ring,) = driver.engine.status(owner).rings
    return ring


def test_r1_a_ring_is_read_in_code_point_order(lab: Any) -> None:
    driver = lab.drive(lab.host({A: sorted(lab.images("b", "B", "a-b", "a", "z"))}))
    driver.run(5 * MINUTE)
    assert "B a-b a b z" == names(driver)


def test_r1_a_mirror_reads_the_tags_that_are_at_its_destination(lab: Any) -> None:
    driver = lab.drive(lab.host({M: lab.images("a", "b", "c")}, {M: lab.images("a", "b", "c")}, copy=HOUR))
    driver.scan(M, lab.images("a", "c"))
    driver.run(4 * MINUTE)
    assert "a c a c" == names(driver)
    assert 2 == ring_of(driver, M).images


def test_r1_a_copied_tag_joins_its_ring(lab: Any) -> None:
    driver = lab.drive(lab.host({M: lab.images("a", "b")}, {M: lab.images("a", "b")}))
    driver.scan(M)
    driver.run(3 * MINUTE)
    assert 1 == ring_of(driver, M).images
    driver.run(6 * MINUTE)
    assert 2 == ring_of(driver, M).images


def test_r1_a_digest_is_copied_and_in_no_ring(lab: Any) -> None:
    digest = f"docker.io/library/a@sha256:{'0' * 64}"
    driver = lab.drive(lab.host(queues={M: [digest]}))
    driver.scan(M)
    driver.run(10 * MINUTE)
    assert [digest] == [read.image for read in driver.reads(COPY)]
    assert () == driver.engine.status(M).rings


def test_r2_a_turn_visits_the_first_image_greater_than_the_cursor(lab: Any) -> None:
    driver = lab.drive(lab.host({A: lab.images("a", "c", "e")}))
    driver.run(MINUTE)
    driver.apply(lab.plan(lab.host({A: lab.images("a", "b", "c", "e")})))
    driver.run(5 * MINUTE)
    assert "a b c e a" == names(driver)


def test_r2_a_cursor_whose_image_is_gone_has_a_successor(lab: Any) -> None:
    driver = lab.drive(lab.host({A: lab.images("a", "b", "c", "d")}))
    driver.run(2 * MINUTE)
    driver.apply(lab.plan(lab.host({A: lab.images("a", "c", "d")})))
    driver.run(4 * MINUTE)
    assert "a b c d" == names(driver)


@pytest.mark.parametrize("verdict", list(Verdict))
def test_r3_the_cursor_moves_when_a_read_ends_whatever_the_verdict(lab: Any, verdict: Verdict) -> None:
    driver = lab.drive(lab.host({A: lab.images("a", "b")}))
    driver.latency[CHECK] = 10 * SECOND
    driver.answer = lambda _: Response(verdict)
    driver.run(65 * SECOND)
    assert (None, 0) == (ring_of(driver).cursor, ring_of(driver).checked)
    driver.run(70 * SECOND)
    assert (lab.image("a"), 1) == (ring_of(driver).cursor, ring_of(driver).checked)


def test_r3_a_read_cut_short_by_a_crash_is_done_again(lab: Any) -> None:
    there = lab.host({A: lab.images("a", "b", "c")})
    driver = lab.drive(there)
    driver.run(MINUTE)
    driver.latency[CHECK] = 50 * SECOND
    driver.run(130 * SECOND)
    after = lab.drive(there, lease=140 * SECOND, records={A: Record(driver.engine.status(A).rings)})
    after.run(5 * MINUTE)
    assert "a b" == names(driver)
    assert "b c" == names(after)


def test_r4_a_lap_ends_with_the_visit_behind_which_nothing_is(lab: Any) -> None:
    driver = lab.drive(lab.host({A: lab.images(60)}))
    driver.run(3 * HOUR)
    assert [(0, 60), (60, 120), (120, 180)] == [(lap.started // MINUTE, lap.ended // MINUTE) for lap in driver.laps]


def test_r4_times_of_a_visit_are_the_opening_of_its_window(lab: Any) -> None:
    driver = lab.drive(lab.host({A: lab.images(3)}))
    driver.latency[CHECK] = 40 * SECOND
    driver.run(HOUR)
    assert {3.0} == set(driver.lap_minutes(A))


def test_r4_the_first_lap_starts_when_the_ring_does(lab: Any) -> None:
    driver = lab.drive(lab.host())
    driver.run(90 * SECOND)
    driver.apply(lab.plan(lab.host({A: lab.images(3)})))
    driver.run(HOUR)
    assert [2.5, 3] == driver.lap_minutes(A)[:2]


def test_r4_an_image_added_behind_the_last_one_just_after_a_lap_is_in_the_next(lab: Any) -> None:
    driver = lab.drive(lab.host({A: lab.images("a", "b")}))
    driver.run(2 * MINUTE)
    driver.apply(lab.plan(lab.host({A: lab.images("a", "b", "c")})))
    driver.run(5 * MINUTE)
    assert "a b a b c" == names(driver)
    assert [2, 3] == driver.lap_minutes(A)


def test_r4_a_restart_just_after_a_lap_begins_the_next_one(lab: Any) -> None:
    driver = lab.drive(lab.host({A: lab.images("a", "b")}))
    driver.run(2 * MINUTE)
    records = {A: Record(driver.engine.status(A).rings)}
    after = lab.drive(lab.host({A: lab.images("a", "b", "c")}), lease=3 * MINUTE, records=records)
    after.run(6 * MINUTE)
    assert "a b c" == names(after)
    assert [4] == after.lap_minutes(A)


def test_r4_when_what_is_behind_the_cursor_goes_the_lap_ended_with_the_last_visit(lab: Any) -> None:
    driver = lab.drive(lab.host({A: lab.images("a", "b", "c", "d")}))
    driver.run(2 * MINUTE)
    driver.run(150 * SECOND)
    applied = driver.apply(lab.plan(lab.host({A: lab.images("a", "b")})))
    assert [(0, 2 * MINUTE)] == [(lap.started, lap.ended) for lap in applied.laps]
    assert (2 * MINUTE, 2 * MINUTE, 0) == (
        ring_of(driver).cycle_started,
        ring_of(driver).cycle_duration,
        ring_of(driver).checked,
    )
    driver.run(4 * MINUTE)
    assert "a b a b" == names(driver)


def test_r4_it_has_ended_at_once_if_the_last_visit_was_before_this_process(lab: Any) -> None:
    ring = RingStatus("docker.io", 4, lab.image("b"), 2, -10 * MINUTE, None)
    driver = lab.drive(lab.host({A: lab.images("a", "b")}), lease=5 * MINUTE, records={A: Record((ring,))})
    assert [15] == driver.lap_minutes(A)
    driver.run(7 * MINUTE)
    assert "a b" == names(driver)


def test_r4_nothing_greater_while_the_last_is_read_ends_the_lap_with_the_read(lab: Any) -> None:
    driver = lab.drive(lab.host({A: lab.images("a", "b", "c")}))
    driver.latency[CHECK] = 30 * SECOND
    driver.run(130 * SECOND)
    driver.apply(lab.plan(lab.host({A: lab.images("a", "b")})))
    assert [] == driver.laps
    driver.run(3 * MINUTE)
    assert [2] == driver.lap_minutes(A)


def test_r4_what_is_read_while_its_image_goes_is_no_visit(lab: Any) -> None:
    driver = lab.drive(lab.host({A: lab.images("a", "b", "c")}))
    driver.latency[CHECK] = 30 * SECOND
    driver.run(130 * SECOND)
    driver.apply(lab.plan(lab.host({A: lab.images("a", "c")})))
    driver.run(170 * SECOND)
    assert (lab.image("a"), 1) == (ring_of(driver).cursor, ring_of(driver).checked)
    driver.run(4 * MINUTE)
    assert "a b c a" == names(driver)


def test_r5_a_ring_that_becomes_empty_is_forgotten_and_starts_anew(lab: Any) -> None:
    there = lab.plan(lab.host({A: lab.images("a", "b", "c")}))
    driver = lab.drive(*there.hosts)
    driver.run(2 * MINUTE)
    driver.apply(lab.plan(lab.host({B: lab.images("z")})))
    assert [B] == [*driver.engine.statuses()]
    driver.run(150 * SECOND)
    driver.apply(there)
    assert RingStatus("docker.io", 3, None, 0, 150 * SECOND, None) == ring_of(driver)
    driver.run(3 * MINUTE)
    assert "a b a" == names(driver)


def test_r5_a_read_of_a_forgotten_ring_does_not_touch_the_new_one(lab: Any) -> None:
    there = lab.plan(lab.host({A: lab.images("a", "b")}))
    driver = lab.drive(*there.hosts)
    driver.latency[CHECK] = 30 * SECOND
    driver.run(70 * SECOND)
    driver.apply(lab.plan(lab.host()))
    driver.apply(there)
    driver.run(100 * SECOND)
    assert (None, 0) == (ring_of(driver).cursor, ring_of(driver).checked)


def test_r5_status_holds_one_entry_a_host_in_host_order(lab: Any) -> None:
    hosts = [lab.host({A: lab.images(2, host=name)}, name=name) for name in ("quay.io", "docker.io", "ghcr.io")]
    driver = lab.drive(*hosts)
    assert ["docker.io", "ghcr.io", "quay.io"] == [ring.registry for ring in driver.engine.status(A).rings]
    assert driver.engine.statuses() == {A: driver.engine.status(A)}


def test_r5_status_counts_visits_and_has_no_duration_before_a_lap(lab: Any) -> None:
    driver = lab.drive(lab.host({A: lab.images("a", "b", "c")}))
    driver.run(2 * MINUTE)
    assert RingStatus("docker.io", 3, lab.image("b"), 2, 0, None) == ring_of(driver)
    driver.run(4 * MINUTE)
    assert RingStatus("docker.io", 3, lab.image("a"), 1, 3 * MINUTE, 3 * MINUTE) == ring_of(driver)


def test_r5_a_status_without_a_cursor_is_at_the_start_of_a_lap(lab: Any) -> None:
    record = Record((RingStatus("docker.io", 3, None, 2, -MINUTE, HOUR),))
    driver = lab.drive(lab.host({A: lab.images("a", "b")}), records={A: record})
    assert RingStatus("docker.io", 2, None, 0, -MINUTE, HOUR) == ring_of(driver)


def test_r5_a_ring_that_status_remembers_and_nobody_reads_any_more_is_forgotten(lab: Any) -> None:
    records = {A: Record((RingStatus("docker.io", 3, lab.image("b"), 2, -MINUTE),))}
    driver = lab.drive(lab.host(), records=records)
    driver.run(90 * SECOND)
    driver.apply(lab.plan(lab.host({A: lab.images("a", "b", "c")})))
    assert (None, 90 * SECOND) == (ring_of(driver).cursor, ring_of(driver).cycle_started)


def test_r6_a_restart_keeps_the_start_of_the_lap_and_resumes(lab: Any) -> None:
    there = lab.host({A: lab.images(60)})
    driver = lab.drive(there)
    driver.run(30 * MINUTE)
    after = lab.drive(there, lease=150 * MINUTE, records={A: Record(driver.engine.status(A).rings)})
    after.run(151 * MINUTE)
    assert [("a", "i0030")] == after.taken()
    after.run(5 * HOUR)
    assert [180, 60] == after.lap_minutes(A)[:2]


def test_r6_lost_windows_lengthen_the_lap(lab: Any) -> None:
    driver = lab.drive(lab.host({A: lab.images(3)}))
    driver.latency[CHECK] = 90 * SECOND
    driver.run(20 * MINUTE)
    assert [5, 6, 6] == driver.lap_minutes(A)[:3]


def test_r7_images_that_come_and_go_never_move_the_cursor_of_the_others(lab: Any) -> None:
    driver = lab.drive(lab.host({A: lab.images("b", "d", "f")}))
    driver.run(MINUTE)
    driver.apply(lab.plan(lab.host({A: lab.images("a", "b", "c", "f", "g")})))
    driver.run(6 * MINUTE)
    assert "b c f g a b" == names(driver)


def test_r8_before_the_first_scan_rings_stay_as_in_status_and_queues_are_empty(lab: Any) -> None:
    remembered = RingStatus("docker.io", 7, lab.image("b"), 2, -MINUTE, 9 * MINUTE)
    there = lab.host({M: lab.images("a", "b", "c")}, {M: lab.images("a", "b", "c")})
    driver = lab.drive(there, records={M: Record((remembered,))})
    driver.run(10 * MINUTE)
    assert [] == [w for w in driver.windows if w.read]
    assert OwnerStatus((remembered,)) == replace(driver.engine.status(M), queues=())
    assert () == driver.engine.status(M).queues[0].pending
    assert not driver.engine.status(M).queues[0].known


def test_r8_the_scan_wakes_the_ring_at_its_cursor(lab: Any) -> None:
    remembered = RingStatus("docker.io", 7, lab.image("b"), 2, -MINUTE, 9 * MINUTE)
    there = lab.host({M: lab.images("a", "b", "c", "d")}, {M: lab.images("a", "b", "c", "d")})
    driver = lab.drive(there, records={M: Record((remembered,))})
    driver.run(MINUTE)
    driver.scan(M, lab.images("a", "b", "c"))
    driver.run(3 * MINUTE)
    assert "c a" == names(driver)
    assert [3] == driver.lap_minutes(M)
    assert [("m", "d")] == driver.taken(COPY)


def test_r8_a_ring_of_which_nothing_is_left_is_forgotten_by_the_scan(lab: Any) -> None:
    remembered = RingStatus("docker.io", 7, lab.image("b"), 2, -MINUTE, 9 * MINUTE)
    there = lab.host({M: lab.images("a")}, {M: lab.images("a")})
    driver = lab.drive(there, records={M: Record((remembered,))})
    driver.scan(M)
    assert () == driver.engine.status(M).rings


def test_r8_a_dormant_ring_counts_for_the_first_turn(lab: Any) -> None:
    remembered = RingStatus("docker.io", 7, lab.image("b"), 2, -MINUTE, 9 * MINUTE)
    there = lab.host({M: lab.images("a"), A: lab.images("a"), B: lab.images("b")}, {M: lab.images("a")})
    drivers = [lab.drive(there, starts=s, records={M: Record((remembered,))}) for s in range(3)]
    assert ["a", "a", "b"] == [driver.run(MINUTE).taken()[0][0] for driver in drivers]


def test_two_tags_of_one_digest_are_one_request_a_lap(lab: Any) -> None:
    digest = "@sha256:" + "0" * 64
    driver = lab.drive(lab.host([Ring(A, (lab.image("a") + digest, "docker.io/library/a:2" + digest))]))
    driver.run(4 * MINUTE)
    assert 1 == len({read.image for read in driver.reads()} & {lab.image("a") + digest})
    assert [2, 1, 1] == driver.lap_minutes(A)
