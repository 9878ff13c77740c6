"""One request serves every owner (S1 to S6)."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from compiler.duration import HOUR, MINUTE, SECOND
from compiler.plan import FallbackAuth, Operation, Ring
from runtime.pacing import Outcome, Response, Verdict
from runtime.pacing.requests import keys_of_ring

CHECK, COPY = Operation.CHECK, Operation.COPY
A, B, M = "ImageMonitor/a", "ImageMonitor/b", "ImageMirror/m"


def reused(driver: Any, lab: Any) -> list[tuple[int, str, str]]:
    return [(w.number, v.owner, lab.short(v.image)) for w in driver.of(CHECK) for v in w.visits]


def kept(driver: Any, lab: Any) -> dict[Any, Any]:
    return dict(driver.engine._hosts[lab.HOST].checks.answers.kept)


def test_s1_an_owner_takes_what_it_can_and_spends_the_window_on_the_first_that_it_can_t(lab: Any) -> None:
    driver = lab.drive(lab.host({A: lab.images("x", "y"), B: lab.images("v", "w", "x", "y", "z")}))
    driver.run(2 * MINUTE)
    # b asks for v, a for y: then b stands before w
    driver.run(6 * MINUTE)
    assert [("a", "x"), ("b", "v"), ("a", "y"), ("b", "w"), ("a", "x"), ("b", "z")] == driver.taken()
    assert [(6, B, "x"), (6, B, "y")] == reused(driver, lab)


def test_s1_a_reused_visit_carries_verdict_digest_and_time_of_the_response(lab: Any) -> None:
    driver = lab.drive(lab.host({A: lab.images("x"), B: lab.images("x", "y")}))
    driver.answer = lambda read: Response(Verdict.NOT_FOUND if read.image == lab.image("x") else Verdict.AVAILABLE)
    driver.latency[CHECK] = 20 * SECOND
    driver.run(2 * MINUTE)
    (visit,) = driver.windows[1].visits
    assert (B, lab.image("x"), Verdict.NOT_FOUND, MINUTE, True) == (
        visit.owner,
        visit.image,
        visit.response.verdict,
        visit.asked,
        visit.reused,
    )


def test_s1_quota_exceeded_is_not_kept_and_leaves_what_was_kept(lab: Any) -> None:
    driver = lab.drive(lab.host({A: lab.images("x", "y"), B: lab.images("a", "b", "c", "x")}))
    asked = Counter[str]()

    def answer(read: Any) -> Response:
        asked[read.image] += 1
        return Response(Verdict.QUOTA_EXCEEDED) if asked[lab.image("x")] == 2 else lab.available()

    driver.answer = answer
    driver.run(5 * MINUTE)
    # a asked for x in windows 1 and 5; the second time there was no answer, and b still uses the first
    assert [("a", "x"), ("b", "a"), ("a", "y"), ("b", "b"), ("a", "x")] == driver.taken()
    driver.run(8 * MINUTE)
    assert [(8, B, "x")] == reused(driver, lab)
    (visit,) = driver.of(CHECK)[7].visits
    assert (MINUTE, Verdict.AVAILABLE) == (visit.asked, visit.response.verdict)


def test_s1_a_copy_answers_no_check(lab: Any) -> None:
    # a lap would be shorter than images times interval, and the user's formula below 1
    driver = lab.drive(lab.host({A: lab.images(4)}, {M: lab.images(4)}, copy=MINUTE))
    driver.scan(M)
    driver.run(HOUR)
    assert {4.0} == set(driver.lap_minutes(A))


def test_s2_only_what_is_newer_than_the_owner_s_own_visit_is_reused(lab: Any) -> None:
    driver = lab.drive(lab.host({A: lab.images("x"), B: lab.images("x")}))
    driver.run(20 * MINUTE)
    last = dict[str, int]()
    for window in driver.of(CHECK):
        for visit in window.visits:
            assert last.get(visit.owner, 0) < visit.asked <= window.opens
            last[visit.owner] = window.opens
        if window.read:
            last[window.read.owner] = window.opens


def test_s2_without_a_visit_in_this_process_the_lap_s_start_counts(lab: Any) -> None:
    driver = lab.drive(lab.host({A: lab.images("x", "y", "z")}))
    driver.run(90 * SECOND)
    driver.apply(lab.plan(lab.host({A: lab.images("x", "y", "z"), B: lab.images("x", "y", "z")})))
    driver.run(3 * MINUTE)
    # the answer to x of window 1 is older than b's lap; that to y of window 3 is not asked yet in window 2
    assert [("a", "x"), ("b", "x"), ("a", "y")] == driver.taken()


def test_s2_an_image_that_joins_a_lap_may_use_what_was_asked_since_its_start(lab: Any) -> None:
    there = {A: lab.images("x", "y"), B: lab.images("w"), "ImageMonitor/c": lab.images("x", "y")}
    driver = lab.drive(lab.host({**there, B: lab.images("v", "w")}))
    driver.run(2 * MINUTE)
    driver.apply(lab.plan(lab.host({**there, B: lab.images("v", "x")})))
    driver.run(5 * MINUTE)
    assert (5, B, "x") in reused(driver, lab)


def test_s3_two_monitors_of_the_same_images_cost_one(lab: Any) -> None:
    driver = lab.drive(lab.host({A: lab.images(50), B: lab.images(50)}))
    driver.run(500 * MINUTE)
    assert {50.0} == {*driver.lap_minutes(A)[1:], *driver.lap_minutes(B)[1:]}
    assert {10} == set(Counter(read.image for read in driver.reads()).values())


def test_s3_disjoint_monitors_cost_both(lab: Any) -> None:
    driver = lab.drive(lab.host({A: lab.images(50), B: lab.images(*(f"z{n:02}" for n in range(50)))}))
    driver.run(500 * MINUTE)
    assert {100.0} == {*driver.lap_minutes(A)[1:], *driver.lap_minutes(B)[1:]}


def test_s3_monitors_and_mirrors_share_requests_too(lab: Any) -> None:
    driver = lab.drive(lab.host({A: lab.images(50), M: lab.images(50)}, {M: lab.images(50)}))
    driver.scan(M, lab.images(50))
    driver.run(500 * MINUTE)
    assert {50.0} == {*driver.lap_minutes(A)[1:], *driver.lap_minutes(M)[1:]}


def test_s4_an_owner_that_can_reuse_everything_laps_without_a_window(lab: Any) -> None:
    three = {A: lab.images("x", "y"), B: lab.images("x"), "ImageMonitor/c": lab.images("p", "q", "r")}
    driver = lab.drive(lab.host(three))
    driver.run(2 * MINUTE)
    (window,) = driver.of(CHECK)[1:]
    assert ("ImageMonitor/c", [B], [2 * MINUTE]) == (
        window.read.owner,
        [visit.owner for visit in window.visits],
        [lap.duration for lap in window.laps],
    )


def test_s4_at_most_one_lap_a_turn(lab: Any) -> None:
    three = {A: lab.images("x"), B: lab.images("w", "x", "y"), "ImageMonitor/c": lab.images("x", "y")}
    driver = lab.drive(lab.host(three))
    driver.run(2 * HOUR)
    for window in driver.of(CHECK):
        visited = Counter((visit.owner, visit.image) for visit in window.visits)
        assert {*visited.values()} <= {1}
        assert len(window.laps) == len({lap.owner for lap in window.laps})


def test_s4_when_nobody_needs_the_window_it_is_idle(lab: Any) -> None:
    # a is suspended behind its request: b has its answer, and nothing else to read
    def there(*, suspended: bool) -> Any:
        return lab.plan(
            lab.host([Ring(A, lab.images("x"), suspended=suspended), Ring(B, lab.images("x"), suspended=not suspended)])
        )

    driver = lab.drive(*there(suspended=False).hosts)
    driver.run(MINUTE)
    driver.apply(there(suspended=True))
    driver.run(3 * MINUTE)
    second, third = driver.of(CHECK)[1:]
    assert (Outcome.IDLE, [B], [B]) == (
        second.outcome,
        [visit.owner for visit in second.visits],
        [lap.owner for lap in second.laps],
    )
    assert Outcome.USED is third.outcome


def test_s5_another_credential_is_another_question(lab: Any) -> None:
    x = lab.images("x")
    driver = lab.drive(
        lab.host([Ring(A, x), Ring(B, x, auth=((x[0], "own"),)), Ring("ImageMonitor/c", x, auth=((x[0], "own"),))])
    )
    driver.run(5 * MINUTE)
    assert [(None, "a"), ("own", "b"), (None, "a")] == [(r.secret, r.owner[-1]) for r in driver.reads()][:3]
    driver.run(HOUR)
    assert {"ImageMonitor/c"} == {visit.owner for w in driver.windows for visit in w.visits} - {B}


def test_s5_the_host_s_credential_is_the_alternative_s_if_they_are_the_same(lab: Any) -> None:
    x = lab.images("x")
    auth = (FallbackAuth("/", "hub"),)
    driver = lab.drive(lab.host([Ring(A, x), Ring(B, x, auth=((x[0], "hub"),))], auth=auth))
    driver.run(2 * MINUTE)
    assert ["hub", "hub"] == [read.secret for read in driver.reads()]
    assert [(2, B, "x")] == reused(driver, lab)


def test_s5_a_changed_credential_reuses_nothing_of_the_old_one(lab: Any) -> None:
    rings = {A: lab.images("x", "y"), B: lab.images("x", "y")}
    driver = lab.drive(lab.host(rings, auth=(FallbackAuth("/", "old"),)))
    driver.latency[CHECK] = 40 * SECOND
    driver.run(70 * SECOND)
    driver.apply(lab.plan(lab.host(rings, auth=(FallbackAuth("/", "new"),))))
    driver.run(4 * MINUTE)
    assert [("old", "x"), ("new", "x"), ("new", "y")] == [(r.secret, lab.short(r.image)) for r in driver.reads()][:3]


def test_s5_the_longest_prefix_decides(lab: Any) -> None:
    auth = (FallbackAuth("/", "all"), FallbackAuth("/team/", "team"))
    ring = Ring(A, ("docker.io/library/x:1", "docker.io/team/x:1", f"docker.io/team/x:1@sha256:{'0' * 64}"))
    assert (
        ("docker.io/library/x:1", "all"),
        ("docker.io/team/x:1", "team"),
        (f"docker.io/team/x@sha256:{'0' * 64}", "team"),
    ) == keys_of_ring(ring, lab.host([ring], auth=auth), ring.images)


def test_a_port_is_no_tag(lab: Any) -> None:
    digest = "@sha256:" + "0" * 64
    ring = Ring(A, (f"localhost:5000/x:1{digest}", f"localhost:5000/x{digest}"))
    (tagged, bare) = keys_of_ring(ring, lab.host([ring], name="localhost:5000"), ring.images)
    assert tagged == bare == f"localhost:5000/x{digest}"


def test_s6_what_nobody_shares_is_not_kept(lab: Any) -> None:
    driver = lab.drive(lab.host({A: lab.images(100), B: lab.images(*(f"z{n:03}" for n in range(100)))}))
    driver.run(7 * HOUR)
    assert {} == kept(driver, lab)


def test_s6_what_everybody_has_used_is_dropped(lab: Any) -> None:
    driver = lab.drive(lab.host({A: lab.images(100), B: lab.images(100), "ImageMonitor/c": lab.images(100)}))
    for minute in range(1, 1000):
        driver.run(minute * MINUTE)
        assert len(kept(driver, lab)) <= 2


def test_s6_a_ring_that_goes_takes_its_claims_along(lab: Any) -> None:
    rings = {A: lab.images(9), B: lab.images(9)}
    driver = lab.drive(lab.host(rings))
    driver.run(MINUTE)
    assert [lab.images(9)[0]] == [*kept(driver, lab)]
    driver.apply(lab.plan(lab.host({A: lab.images(9)})))
    assert {} == kept(driver, lab)


@given(st.data())
def test_s6_an_answer_is_kept_while_an_entry_may_use_it(lab: Any, data: st.DataObject) -> None:
    subsets = st.lists(st.sampled_from("uvwxyz"), max_size=6, unique=True).map(sorted)
    driver = lab.drive(lab.host())
    for _ in range(data.draw(st.integers(1, 12))):
        rings = {f"ImageMonitor/{o}": lab.images(*names) for o in "abc" if (names := data.draw(subsets))}
        driver.apply(lab.plan(lab.host(rings)))
        driver.run(driver.now + data.draw(st.integers(1, 4)) * MINUTE)
        checks = driver.engine._hosts[lab.HOST].checks if driver.engine._hosts else None
        for key, answer in checks.answers.kept.items() if checks else ():
            users = sum(
                answer.asked > (since if (since := ring._visited[i]) != -(2**63) else ring._cycle_started)
                for ring in checks.takers
                for i, k in enumerate(ring.keys)
                if k == key
            )
            # never too few; too many only until the image's own turn, see Answers
            assert users <= answer.waiting
    driver.apply(lab.plan())
    assert all(not h.checks.answers.kept and not h.checks.answers.wanted for h in driver.engine._hosts.values())


@given(size=st.integers(1, 40), owners=st.integers(1, 6), laps=st.integers(1, 4))
def test_s3_requests_in_a_lap_of_owners_of_one_set_equal_the_set(lab: Any, size: int, owners: int, laps: int) -> None:
    same = lab.images(size)
    driver = lab.drive(lab.host({f"ImageMonitor/{n}": same for n in range(owners)}))
    driver.run(size * laps * MINUTE)
    assert [*same] * laps == [read.image for read in driver.reads()]


@given(data=st.data(), owners=st.integers(1, 5))
def test_s3_nobody_is_asked_twice_for_what_can_be_reused(lab: Any, data: st.DataObject, owners: int) -> None:
    subsets = st.lists(st.sampled_from("abcdefgh"), min_size=1, unique=True)
    rings = {f"ImageMonitor/{n}": lab.images(*data.draw(subsets)) for n in range(owners)}
    driver = lab.drive(lab.host(rings))
    driver.run(3 * HOUR)
    last, asked = defaultdict[tuple[str, str], int](int), dict[str, int]()
    for window in driver.of(CHECK):
        for visit in window.visits:
            last[visit.owner, visit.image] = window.opens
        assert window.read is not None
        owner, image = window.read.owner, window.read.image
        assert asked.get(image, 0) <= last[owner, image]
        last[owner, image] = asked[image] = window.opens
