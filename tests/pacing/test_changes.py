"""Changing the pace (H1 to H6)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from compiler.duration import HOUR, MINUTE, SECOND
from compiler.plan import FallbackAuth, Operation
from runtime.pacing import Engine, Outcome, Policy

CHECK, COPY = Operation.CHECK, Operation.COPY
A, M = "ImageMonitor/a", "ImageMirror/m"


def grids(driver: Any) -> dict[tuple[str, Operation], tuple[int, int]]:
    return {(s.host, s.operation): (s.anchor, s.interval) for s in driver.engine.series(driver.now)}


def test_h1_what_does_not_change_the_effective_value_changes_nothing(lab: Any) -> None:
    there = lab.host({A: lab.images(9)})
    driver = lab.drive(there)
    driver.run(90 * SECOND)
    same = replace(there, check=replace(there.check, origin="registries.docker.io.check.interval"))
    assert () == driver.apply(lab.plan(same)).restarted
    driver.run(3 * MINUTE)
    assert [1, 2, 3] == driver.times(Outcome.USED, CHECK)


def test_h2_a_changed_check_interval_restarts_that_series_alone(lab: Any) -> None:
    quay = lab.host({A: lab.images(9, host="quay.io")}, name="quay.io")
    driver = lab.drive(lab.host({A: lab.images(9)}), quay)
    driver.run(90 * SECOND)
    applied = driver.apply(lab.plan(lab.host({A: lab.images(9)}, check=40 * SECOND), quay))
    assert (("docker.io", CHECK),) == applied.restarted
    driver.run(4 * MINUTE)
    assert [60, 130, 170, 210] == driver.times(Outcome.USED, CHECK, unit=SECOND)
    assert [1, 1, 2, 3] == [w.number for w in driver.of(CHECK)]
    assert [1, 2, 3, 4] == driver.times(Outcome.USED, CHECK, "quay.io")
    assert [3] == driver.times(Outcome.IDLE, COPY)


def test_h2_a_changed_copy_interval_restarts_the_copies_alone(lab: Any) -> None:
    driver = lab.drive(lab.host({A: lab.images(9)}))
    driver.run(90 * SECOND)
    assert (("docker.io", COPY),) == driver.apply(lab.plan(lab.host({A: lab.images(9)}, copy=2 * MINUTE))).restarted
    driver.run(6 * MINUTE)
    assert [1, 2, 3, 4, 5, 6] == driver.times(Outcome.USED, CHECK)
    assert [3.5, 5.5] == driver.times(Outcome.IDLE, COPY)


def test_h2_a_changed_default_restarts_hosts_not_yet_seen(lab: Any) -> None:
    driver = lab.Driver(Engine(0))
    driver.apply(lab.plan(), Policy(30 * SECOND, 3 * MINUTE))
    driver.now = 10 * SECOND
    driver.apply(lab.plan(), Policy(45 * SECOND, 3 * MINUTE))
    driver.now = 70 * SECOND
    driver.apply(lab.plan(lab.host({A: lab.images(9)}, check=45 * SECOND)), Policy(45 * SECOND, 3 * MINUTE))
    assert {("docker.io", CHECK): (10 * SECOND, 45 * SECOND), ("docker.io", COPY): (0, 3 * MINUTE)} == grids(driver)
    driver.run(150 * SECOND)
    assert [100, 145] == driver.times(Outcome.USED, CHECK, unit=SECOND)


def test_h2_a_host_not_yet_seen_keeps_the_grid_if_its_override_equals_the_old_default(lab: Any) -> None:
    driver = lab.Driver(Engine(0))
    driver.apply(lab.plan(), Policy(30 * SECOND, 3 * MINUTE))
    driver.now = 10 * SECOND
    driver.apply(lab.plan(lab.host(check=30 * SECOND, copy=HOUR)), Policy(45 * SECOND, 3 * MINUTE))
    assert {("docker.io", CHECK): (0, 30 * SECOND), ("docker.io", COPY): (10 * SECOND, HOUR)} == grids(driver)


def test_h2_an_override_that_goes_while_nobody_reads_the_host_restarts_it_then(lab: Any) -> None:
    default = Policy(30 * SECOND, 3 * MINUTE)
    driver = lab.Driver(Engine(0))
    driver.apply(lab.plan(lab.host(check=MINUTE)), default)
    driver.now = 10 * SECOND
    assert () == driver.apply(lab.plan(), default).restarted
    driver.now = 50 * SECOND
    driver.apply(lab.plan(lab.host(check=30 * SECOND)), default)
    assert (10 * SECOND, 30 * SECOND) == grids(driver)["docker.io", CHECK]


def test_h3_a_timeout_and_a_credential_apply_from_the_next_image(lab: Any) -> None:
    driver = lab.drive(lab.host({A: lab.images(9)}, timeouts=(5 * SECOND, 0)))
    driver.latency[CHECK] = 90 * SECOND
    driver.run(70 * SECOND)
    auth = (FallbackAuth("/", "hub"),)
    applied = driver.apply(lab.plan(lab.host({A: lab.images(9)}, timeouts=(9 * SECOND, 0), auth=auth)))
    assert () == applied.restarted
    driver.run(4 * MINUTE)
    assert [(5 * SECOND, None), (9 * SECOND, "hub")] == [(read.timeout, read.secret) for read in driver.reads()]
    assert [("a", "i0000"), ("a", "i0001")] == driver.taken()


def test_h3_no_cursor_moves_no_lap_restarts_and_no_read_is_cut_off(lab: Any) -> None:
    driver = lab.drive(lab.host({A: lab.images(5)}))
    driver.latency[CHECK] = 30 * SECOND
    driver.run(130 * SECOND)
    before = driver.engine.status(A)
    driver.apply(lab.plan(lab.host({A: lab.images(5)}, check=2 * MINUTE, copy=HOUR)))
    assert before == driver.engine.status(A)
    driver.run(20 * MINUTE)
    assert [0, 1, 2, 3, 4] == [int(image[1:]) for _, image in driver.taken()][:5]
    assert [(130 + 360) / 60] == driver.lap_minutes(A)[:1]


def test_h4_reloading_in_a_loop_never_bursts(lab: Any) -> None:
    quay = lab.host({A: lab.images(9, host="quay.io")}, name="quay.io")
    driver = lab.drive(lab.host({A: lab.images(9)}), quay)
    for edit in range(1, 121):
        driver.run(edit * 30 * SECOND)
        driver.apply(lab.plan(lab.host({A: lab.images(9)}, check=(1 + edit % 2) * MINUTE), quay))
    assert [] == driver.of(CHECK)
    assert [*range(1, 61)] == driver.times(Outcome.USED, CHECK, "quay.io")


def test_h5_what_is_refused_never_reaches_the_engine(lab: Any) -> None:
    # a plan is made of a configuration that is valid; without a new one the engine goes on as it was
    driver = lab.drive(lab.host({A: lab.images(9)}))
    driver.run(HOUR)
    assert [*range(1, 61)] == driver.times(Outcome.USED, CHECK)


def test_h6_resources_and_pods_move_no_window(lab: Any) -> None:
    driver = lab.drive(lab.host({A: lab.images(9)}, {M: lab.images(3)}))
    driver.scan(M)
    for step in range(1, 60):
        driver.run(step * 37 * SECOND)
        rings = {f"ImageMonitor/{n}": lab.images(1 + (step * n) % 7) for n in range(step % 4)}
        driver.apply(lab.plan(lab.host(rings, {M: lab.images(1 + step % 3)} if step % 2 else {})))
    assert [*range(1, len(driver.of(CHECK)) + 1)] == [w.opens / MINUTE for w in driver.of(CHECK)]
    assert [*range(3, 3 * len(driver.of(COPY)) + 1, 3)] == [w.opens / MINUTE for w in driver.of(COPY)]


def test_h6_a_ring_that_did_not_change_is_not_touched(lab: Any) -> None:
    there = lab.host({A: lab.images(100), "ImageMonitor/b": lab.images(50)})
    driver = lab.drive(there)
    driver.run(10 * MINUTE)
    rings = driver.engine._hosts["docker.io"].rings
    before = (rings[A].keys, rings[A]._visited)
    driver.apply(lab.plan(lab.host({A: lab.images(100), "ImageMonitor/b": lab.images(51)})))
    assert all(a is b for a, b in zip(before, (rings[A].keys, rings[A]._visited), strict=True))


def test_memory_returns_to_its_start(lab: Any) -> None:
    driver = lab.drive(lab.host())
    hosts = [
        lab.host(
            {A: lab.images(30, host=name), M: lab.images(20, host=name), "ImageMonitor/z": lab.images(25, host=name)},
            {M: lab.images(20, host=name)},
            name=name,
        )
        for name in ("docker.io", "quay.io")
    ]
    driver.apply(lab.plan(*hosts))
    driver.scan(M, lab.images(9))
    driver.run(2 * HOUR)
    driver.apply(lab.plan())
    driver.run(3 * HOUR)
    driver.apply(lab.plan())
    for host in driver.engine._hosts.values():
        assert not host.rings
        assert not host.queues
        assert not host.checks.answers.wanted
        assert not host.checks.answers.kept
        assert not host.checks.takers
    assert {} == driver.engine.statuses()
    assert set() == driver.engine._memory.scanned
    assert [] == driver.engine._openings


def test_a_host_that_was_never_read_is_forgotten(lab: Any) -> None:
    driver = lab.drive()
    for n in range(50):
        driver.apply(lab.plan(lab.host(name=f"h{n}.example.com")))
        driver.run(driver.now + 10 * SECOND)
    driver.apply(lab.plan())
    assert {} == driver.engine._hosts


@pytest.mark.parametrize("operation", [CHECK, COPY])
def test_series_say_where_they_stand(lab: Any, operation: Operation) -> None:
    driver = lab.drive(lab.host({A: lab.images(9)}, {M: lab.images(3)}))
    driver.scan(M)
    driver.latency = {CHECK: 40 * SECOND, COPY: 40 * SECOND}
    driver.run(200 * SECOND)
    series = next(s for s in driver.engine.series(driver.now) if s.operation is operation)
    assert (0, series.interval * series.number) == (series.anchor, series.opens)
    assert (operation, None) == (series.reading.operation, series.held_until)
