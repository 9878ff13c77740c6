"""The numbers that must come out (page 1), through the engine; ``tests/simulation`` has them through the simulation."""

from __future__ import annotations

from collections import Counter
from typing import Any

from compiler.duration import HOUR, MINUTE, SECOND
from compiler.plan import Operation
from runtime.pacing import Outcome, Record

CHECK, COPY = Operation.CHECK, Operation.COPY
A, B = "ImageMonitor/a", "ImageMonitor/b"


def test_lease_at_13_32_and_5m(lab: Any) -> None:
    lease = (13 * 60 + 32) * MINUTE
    driver = lab.drive(lab.host(check=5 * MINUTE), lease=lease)
    driver.run(lease + 15 * MINUTE)
    assert [(13 * 60 + m) for m in (37, 42, 47)] == driver.times(Outcome.IDLE, CHECK)


def test_60_images_alone_at_1m(lab: Any) -> None:
    driver = lab.drive(lab.host({A: lab.images(60)}))
    driver.run(10 * HOUR)
    assert [60.0] * 10 == driver.lap_minutes(A)
    (ring,) = driver.engine.status(A).rings
    assert 1 == ring.cycle_duration / (ring.images * MINUTE)


def test_two_monitors_of_the_same_1000_images(lab: Any) -> None:
    driver = lab.drive(lab.host({A: lab.images(1000), B: lab.images(1000)}))
    driver.run(5000 * MINUTE)
    for owner in (A, B):
        first, *later = driver.lap_minutes(owner)
        assert first in {1000, 1001}
        assert {1000} == set(later)
    assert {5} == set(Counter(read.image for read in driver.reads()).values())
    assert 5000 == len(driver.reads())


def test_two_monitors_of_1000_disjoint_images_each(lab: Any) -> None:
    driver = lab.drive(lab.host({A: lab.images(1000), B: lab.images(*(f"z{n:04}" for n in range(1000)))}))
    driver.run(8001 * MINUTE)
    for owner in (A, B):
        first, *later = driver.lap_minutes(owner)
        assert first in {1999, 2000}
        assert {2000} == set(later)


def test_2140_images_alone_at_40m(lab: Any) -> None:
    driver = lab.drive(lab.host({A: lab.images(2140)}, check=40 * MINUTE, copy=1000 * HOUR))
    driver.run(3000 * HOUR)
    assert [1426 * 60 + 40] * 2 == driver.lap_minutes(A)


def test_restart_at_image_30_of_60_and_2h_down(lab: Any) -> None:
    there = lab.host({A: lab.images(60)})
    driver = lab.drive(there)
    driver.run(30 * MINUTE + 20 * SECOND)
    lease = 150 * MINUTE + 20 * SECOND
    after = lab.drive(there, lease=lease, records={A: Record(driver.engine.status(A).rings)})
    after.run(4 * HOUR)
    assert (lab.images(60)[29], lab.images(60)[30]) == (driver.reads()[-1].image, after.reads()[0].image)
    assert [3 * HOUR + 20 * SECOND] == [lap.duration for lap in after.laps]


def test_three_copies_of_7m_at_3m(lab: Any) -> None:
    driver = lab.drive(lab.host(queues={"ImageMirror/m": lab.images(3)}))
    driver.scan("ImageMirror/m")
    driver.latency[COPY] = 7 * MINUTE
    driver.run(20 * MINUTE)
    assert [3, 12] == driver.times(Outcome.USED, COPY)
    driver.run(21 * MINUTE)
    assert [3, 12, 21] == driver.times(Outcome.USED, COPY)
    assert [6, 9, 15, 18] == driver.times(Outcome.BUSY, COPY)


def test_killed_and_started_every_50s_at_1m(lab: Any) -> None:
    windows = 0
    for starts in range(100):
        driver = lab.drive(lab.host({A: lab.images(9)}), lease=starts * 50 * SECOND, starts=starts)
        driver.run((starts + 1) * 50 * SECOND)
        windows += len(driver.windows)
    assert 0 == windows


def test_killed_and_started_every_90s_at_1m_with_three_owners(lab: Any) -> None:
    rings = {f"ImageMonitor/{n}": lab.images(*(f"{n}{i}" for i in range(50))) for n in "abc"}
    records = dict[str, Record]()
    taken = list[tuple[str, str]]()
    for starts in range(99):
        driver = lab.drive(lab.host(rings), lease=starts * 90 * SECOND, starts=starts, records=records)
        driver.run((starts + 1) * 90 * SECOND)
        records = {owner: Record(status.rings) for owner, status in driver.engine.statuses().items()}
        taken += driver.taken()
    assert 99 == len(taken)
    assert {"a": 33, "b": 33, "c": 33} == Counter(owner for owner, _ in taken)
    assert 99 == len(set(taken))


def test_configuration_edited_every_30s_alternating_1m_and_2m(lab: Any) -> None:
    quay = lab.host({A: lab.images(9, host="quay.io")}, name="quay.io")
    driver = lab.drive(lab.host({A: lab.images(9)}), quay)
    for edit in range(1, 61):
        driver.run(edit * 30 * SECOND)
        driver.apply(lab.plan(lab.host({A: lab.images(9)}, check=(1 + edit % 2) * MINUTE), quay))
    assert [] == driver.reads(CHECK)
    assert 30 == len(driver.reads(CHECK, "quay.io"))


def test_an_image_added_behind_the_last_one_just_after_a_lap(lab: Any) -> None:
    driver = lab.drive(lab.host({A: lab.images(3)}))
    driver.run(3 * MINUTE + SECOND)
    driver.apply(lab.plan(lab.host({A: lab.images(4)})))
    driver.run(7 * MINUTE)
    assert [3, 4] == driver.lap_minutes(A)


def test_the_same_situation_twice_goes_the_same_way(lab: Any) -> None:
    def course() -> list[Any]:
        rings = {f"ImageMonitor/{n}": lab.images(20 + n) for n in range(4)}
        driver = lab.drive(lab.host(rings, {"ImageMirror/m": lab.images(9)}))
        driver.scan("ImageMirror/m")
        driver.latency = {CHECK: 70 * SECOND, COPY: 4 * MINUTE}
        driver.run(5 * HOUR)
        return [driver.windows, driver.laps, driver.engine.statuses()]

    assert course() == course()
