"""Turns: who takes a window of a host (T1 to T4)."""

from __future__ import annotations

from typing import Any

from compiler.duration import HOUR, MINUTE
from compiler.plan import Operation, Ring
from runtime.pacing import Outcome, Response, Verdict

CHECK, COPY = Operation.CHECK, Operation.COPY


def disjoint(lab: Any, *owners: str, size: int = 5) -> dict[str, tuple[str, ...]]:
    return {f"ImageMonitor/{owner}": lab.images(*(f"{owner}{n}" for n in range(size))) for owner in owners}


def owners(driver: Any, operation: Operation = CHECK) -> str:
    return " ".join(owner for owner, _ in driver.taken(operation))


def test_t1_owners_take_turns_in_code_point_order_of_kind_and_name(lab: Any) -> None:
    rings = {**disjoint(lab, "b", "B", "é"), "ImageMirror/z": lab.images("z0", "z1")}
    driver = lab.drive(lab.host(rings))
    driver.run(8 * MINUTE)
    assert "z B b é z B b é" == owners(driver)


def test_t1_an_owner_with_nothing_to_read_passes_the_window_on(lab: Any) -> None:
    # in window 3 it is c's turn: it reuses the answer of window 1, has nothing else, and a takes the window
    rings = {
        "ImageMonitor/a": lab.images("x"),
        "ImageMonitor/b": lab.images("b0", "b1"),
        "ImageMonitor/c": lab.images("x"),
    }
    driver = lab.drive(lab.host(rings))
    driver.run(4 * MINUTE)
    assert "a b a b" == owners(driver)
    assert [(3, "ImageMonitor/c")] == [(w.number, v.owner) for w in driver.windows for v in w.visits]
    driver.run(HOUR)
    assert [] == driver.times(Outcome.IDLE, CHECK)


def test_t1_mirrors_take_the_copy_windows_likewise(lab: Any) -> None:
    queues = {f"ImageMirror/{m}": lab.images(f"{m}0", f"{m}1") for m in "abc"}
    driver = lab.drive(lab.host(queues=queues))
    for owner in queues:
        driver.scan(owner)
    driver.run(HOUR)
    assert "a b c a b c" == owners(driver, COPY)


def test_t1_a_mirror_that_owes_nothing_passes_the_window_on(lab: Any) -> None:
    queues = {"ImageMirror/a": lab.images("x"), "ImageMirror/b": lab.images("y", "z"), "ImageMirror/c": lab.images("w")}
    driver = lab.drive(lab.host(queues=queues))
    driver.scan("ImageMirror/a", lab.images("x"))
    driver.scan("ImageMirror/b")
    driver.scan("ImageMirror/c")
    driver.run(12 * MINUTE)
    assert "b c b" == owners(driver, COPY)
    assert [12] == driver.times(Outcome.IDLE, COPY)


def test_t1_the_turn_follows_the_owner_that_spent_a_window_not_one_that_reused(lab: Any) -> None:
    rings = {
        "ImageMonitor/a": lab.images("x", "y"),
        "ImageMonitor/b": lab.images("x"),
        "ImageMonitor/c": lab.images("c0", "c1", "c2"),
    }
    driver = lab.drive(lab.host(rings))
    driver.run(4 * MINUTE)
    # b reuses x in window 2 and has nothing else: c spends it, and a is behind c
    assert [("a", "x"), ("c", "c0"), ("a", "y"), ("b", "x")] == driver.taken()


def test_t2_adding_an_owner_shares_the_budget_and_keeps_the_turn(lab: Any) -> None:
    driver = lab.drive(lab.host(disjoint(lab, "a", "c")))
    driver.run(MINUTE)
    driver.apply(lab.plan(lab.host(disjoint(lab, "a", "b", "c", "d"))))
    driver.run(5 * MINUTE)
    assert "a b c d a" == owners(driver)
    assert [1, 2, 3, 4, 5] == driver.times(Outcome.USED, CHECK)


def test_t2_removing_the_owner_that_spent_last_keeps_the_turn(lab: Any) -> None:
    driver = lab.drive(lab.host(disjoint(lab, "a", "b", "c")))
    driver.run(2 * MINUTE)
    driver.apply(lab.plan(lab.host(disjoint(lab, "a", "c"))))
    driver.run(4 * MINUTE)
    assert "a b c a" == owners(driver)


def test_t2_a_host_that_nobody_reads_for_a_while_keeps_the_turn(lab: Any) -> None:
    there = lab.plan(lab.host(disjoint(lab, "a", "b", "c")))
    driver = lab.drive(*there.hosts)
    driver.run(MINUTE)
    driver.apply(lab.plan())
    driver.run(90 * MINUTE // 60)
    driver.apply(there)
    driver.run(3 * MINUTE)
    assert "a b c" == owners(driver)


def test_t3_the_first_turn_moves_on_with_each_start(lab: Any) -> None:
    there = lab.host(disjoint(lab, "a", "b", "c"), {f"ImageMirror/{m}": lab.images(m) for m in "xy"})
    checks, copies = [], []
    for starts in range(6):
        driver = lab.drive(there, starts=starts)
        driver.scan("ImageMirror/x")
        driver.scan("ImageMirror/y")
        driver.run(3 * MINUTE)
        checks.append(owners(driver)[0])
        copies.append(owners(driver, COPY)[0])
    assert "abcabc" == "".join(checks)
    assert "xyxyxy" == "".join(copies)


def test_t3_owners_that_can_take_no_turn_count_too(lab: Any) -> None:
    rings = [Ring(owner, of_ring, suspended=owner.endswith("b")) for owner, of_ring in disjoint(lab, *"abc").items()]
    first = [owners(lab.drive(lab.host(rings), starts=starts).run(MINUTE)) for starts in range(3)]
    assert ["a", "c", "c"] == first


def test_t3_windows_lost_before_the_first_turn_don_t_move_it(lab: Any) -> None:
    driver = lab.drive(lab.host(), starts=1)
    driver.run(5 * MINUTE)
    driver.apply(lab.plan(lab.host(disjoint(lab, "a", "b"))))
    driver.run(7 * MINUTE)
    assert "b a" == owners(driver)


def test_t4_a_suspended_host_loses_its_windows_and_moves_nothing(lab: Any) -> None:
    rings = disjoint(lab, "a", "b")
    driver = lab.drive(lab.host(rings, {"ImageMirror/m": lab.images("m")}))
    driver.scan("ImageMirror/m")
    driver.run(2 * MINUTE)
    driver.apply(lab.plan(lab.host(rings, {"ImageMirror/m": lab.images("m")}, suspended=True)))
    before = driver.engine.statuses()
    driver.run(5 * MINUTE)
    assert [3, 4, 5] == driver.times(Outcome.HELD, CHECK)
    assert [3] == driver.times(Outcome.HELD, COPY)
    assert before == driver.engine.statuses()
    driver.apply(lab.plan(lab.host(rings, {"ImageMirror/m": lab.images("m")})))
    driver.run(6 * MINUTE)
    assert [("a", "a0"), ("b", "b0"), ("a", "a1")] == driver.taken()
    assert [6] == driver.times(Outcome.USED, COPY)


def test_t4_a_suspended_host_is_held_even_while_it_is_read(lab: Any) -> None:
    driver = lab.drive(lab.host(disjoint(lab, "a")))
    driver.latency[CHECK] = 150 * MINUTE // 60
    driver.run(MINUTE)
    driver.apply(lab.plan(lab.host(disjoint(lab, "a"), suspended=True)))
    driver.run(3 * MINUTE)
    assert [2, 3] == driver.times(Outcome.HELD, CHECK)


def test_t4_a_suspended_owner_keeps_its_ring_and_takes_no_turn(lab: Any) -> None:
    def there(*, suspended: bool) -> Any:
        rings = [Ring(o, i, suspended=suspended and o.endswith("b")) for o, i in disjoint(lab, *"abc").items()]
        return lab.plan(lab.host(rings))

    driver = lab.drive(*there(suspended=False).hosts)
    driver.run(2 * MINUTE)
    cursor = driver.engine.status("ImageMonitor/b")
    driver.apply(there(suspended=True))
    driver.run(5 * MINUTE)
    assert "a b c a c" == owners(driver)
    assert cursor == driver.engine.status("ImageMonitor/b")
    driver.apply(there(suspended=False))
    driver.run(7 * MINUTE)
    assert [("a", "a2"), ("b", "b1")] == driver.taken()[-2:]


def test_t4_a_suspended_mirror_keeps_its_queue_and_takes_no_turn(lab: Any) -> None:
    def there(*, suspended: bool) -> Any:
        return lab.plan(
            lab.host(
                queues=[
                    lab.queue("ImageMirror/a", lab.images("a0", "a1"), suspended=suspended),
                    lab.queue("ImageMirror/b", lab.images("b0", "b1")),
                ]
            )
        )

    driver = lab.drive(*there(suspended=True).hosts)
    driver.scan("ImageMirror/a")
    driver.scan("ImageMirror/b")
    driver.run(9 * MINUTE)
    assert "b b" == owners(driver, COPY)
    driver.apply(there(suspended=False))
    driver.run(15 * MINUTE)
    assert "b b a a" == owners(driver, COPY)


def test_t1_an_idle_host_takes_the_window_of_whoever_comes(lab: Any) -> None:
    driver = lab.drive(lab.host(disjoint(lab, "a")))
    driver.answer = lambda _: Response(Verdict.NOT_FOUND)
    driver.run(3 * MINUTE)
    assert "a a a" == owners(driver)
