"""Forecasts: the laps and drains that a plan leads to."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compiler.duration import LONGEST, MINUTE, SECOND
from compiler.plan import CheckForecast, CopyForecast, LapForecast, Plan, Ring
from compiler.plan_document import from_document, to_document
from runtime.simulation import forecast
from runtime.simulation.forecast import _drive, _product

A, B, C, M = "ImageMonitor/a", "ImageMonitor/b", "ImageMonitor/c", "ImageMirror/m"


def laps(lab: Any, rings: dict[str, Any], **more: Any) -> dict[str, tuple[float, float]]:
    (host,) = forecast(Plan((lab.host(rings, **more),))).hosts
    return {lap.owner: (lap.best_case / MINUTE, lap.expected / MINUTE) for lap in host.check.forecast.laps}


def test_the_example_of_the_page(lab: Any) -> None:
    nginx, redis = lab.images("nginx", "redis")
    plan = Plan(
        (
            lab.host(
                {"ImageMirror/prod": [nginx], "ImageMonitor/all": [nginx, redis]},
                {"ImageMirror/prod": [nginx]},
                copy="10m",
            ),
        )
    )
    (host,) = forecast(plan).hosts
    assert (
        CheckForecast(
            1440,
            2,
            (
                LapForecast("ImageMirror/prod", MINUTE, 2 * MINUTE),
                LapForecast("ImageMonitor/all", 2 * MINUTE, 2 * MINUTE),
            ),
        )
        == host.check.forecast
    )
    assert CopyForecast(10 * MINUTE) == host.copy.forecast


def test_a_ring_alone_laps_in_its_best_case(lab: Any) -> None:
    assert {A: (60, 60)} == laps(lab, {A: lab.images(60)})


def test_what_takes_longer_than_a_duration_can_be_is_read_back_as_the_longest(lab: Any) -> None:
    images = lab.images(50)
    host = lab.host({A: images, B: images[:30]}, {M: images}, check="87600h", copy="87600h")
    plan = forecast(Plan((host,)))
    check, copy = plan.hosts[0].check.forecast, plan.hosts[0].copy.forecast
    assert ([LONGEST, LONGEST], LONGEST) == ([lap.expected for lap in check.laps], copy.drain)
    assert plan == from_document(to_document(plan))


def test_references_of_one_digest_share_a_window_of_the_best_case(lab: Any) -> None:
    digest = f"sha256:{'a' * 64}"
    nginx = "docker.io/library/nginx"
    assert {A: (2, 2)} == laps(lab, {A: [f"{nginx}:1@{digest}", f"{nginx}:2", f"{nginx}@{digest}"]})


def test_owners_of_one_set_lap_in_their_best_case(lab: Any) -> None:
    assert {A: (31, 31), B: (31, 31), C: (31, 31)} == laps(lab, {o: lab.images(31) for o in (A, B, C)})


def test_disjoint_owners_share_the_windows(lab: Any) -> None:
    rings = {A: lab.images("a"), B: lab.images("b", "c", "d")}
    assert {A: (1, 2), B: (3, 6)} == laps(lab, rings)


def test_a_part_of_another_ring_is_read_oftener(lab: Any) -> None:
    # m asks for its 41 in every second window, and the other 132 of the monitor need two windows each
    assert {M: (41, 82), A: (173, 264)} == laps(lab, {M: lab.images(41), A: lab.images(173)})


def test_the_interval_is_the_unit(lab: Any) -> None:
    (host,) = forecast(Plan((lab.host({A: lab.images(7)}, check="40s"),))).hosts
    assert (2160, 280 * SECOND) == (host.check.forecast.windows_per_day, host.check.forecast.laps[0].expected)


def test_one_request_for_all_who_ask_the_same(lab: Any) -> None:
    digest = "@sha256:" + "0" * 64
    rings = {A: [f"docker.io/library/a:1{digest}", f"docker.io/library/a:2{digest}"], B: lab.images("b")}
    (host,) = forecast(Plan((lab.host(rings),))).hosts
    assert 2 == host.check.forecast.requests


def test_what_is_suspended_has_no_lap(lab: Any) -> None:
    (host,) = forecast(Plan((lab.host({A: lab.images(7)}, {M: lab.images(2)}, suspended=True),))).hosts
    assert CheckForecast(0, 0, ()) == host.check.forecast
    assert CopyForecast(None) == host.copy.forecast
    rings = (Ring(A, lab.images(7)), Ring(B, lab.images(9), suspended=True))
    base = lab.host()
    (host,) = forecast(Plan((replace(base, check=replace(base.check, rings=rings)),))).hosts
    assert [(A, 7 * MINUTE)] == [(lap.owner, lap.expected) for lap in host.check.forecast.laps]


def test_a_queue_drains_one_image_a_window(lab: Any) -> None:
    (host,) = forecast(Plan((lab.host(queues={M: lab.images(41), "ImageMirror/n": lab.images(3)}, copy="10m"),))).hosts
    assert CopyForecast(440 * MINUTE) == host.copy.forecast


def test_nothing_owed_is_drained(lab: Any) -> None:
    (host,) = forecast(Plan((lab.host(),))).hosts
    assert (CheckForecast(1440, 0, ()), CopyForecast(0)) == (host.check.forecast, host.copy.forecast)


@pytest.mark.parametrize("suspended", ["one", "both"])
def test_a_suspended_mirror_drains_nothing(lab: Any, suspended: str) -> None:
    base = lab.host(queues={M: lab.images(2), "ImageMirror/n": lab.images(3)})
    queues = tuple(replace(q, suspended=suspended == "both" or q.owner == M) for q in base.copy.queues)
    (host,) = forecast(Plan((replace(base, copy=replace(base.copy, queues=queues)),))).hosts
    assert CopyForecast(None if suspended == "both" else 9 * MINUTE) == host.copy.forecast


def test_a_drain_is_what_the_simulation_takes(lab: Any) -> None:
    simulation = lab.simulation(lab.host(queues={M: lab.images(5), "ImageMirror/n": lab.images(4)}))
    assert 40 == len([*simulation.run(30 * MINUTE)])
    assert 27 * MINUTE == max(queue.drained or 0 for queue in simulation.summary().queues)


def test_forecasts_travel_with_the_plan(lab: Any) -> None:
    plan = forecast(Plan((lab.host({A: lab.images(3), B: lab.images(5)}, {M: lab.images(2)}),)))
    assert plan == from_document(to_document(plan))
    assert plan == forecast(plan)


subsets = st.lists(st.sampled_from("abcdefgh"), min_size=1, unique=True)


@given(first=subsets, count=st.integers(1, 5), mode=st.sampled_from(["same", "disjoint"]))
def test_a_product_is_what_driving_gives(lab: Any, first: list[str], count: int, mode: str) -> None:
    def of(n: int) -> tuple[str, ...]:
        return lab.images(*first) if mode == "same" else lab.images(*(f"{name}{n}" for name in first[n % 3 :] or first))

    host = lab.host({f"ImageMonitor/{n}": of(n) for n in range(count)})
    rings = host.check.rings
    keys = [ring.images for ring in rings]
    product = _product(rings, keys, len({key for of_ring in keys for key in of_ring}), MINUTE)
    assert product in (None, _drive(host, rings))


@given(st.lists(subsets, min_size=1, max_size=5))
def test_a_forecast_is_the_mean_of_what_the_simulation_measures(lab: Any, sets: list[list[str]]) -> None:
    rings = {f"ImageMonitor/{n}": lab.images(*names) for n, names in enumerate(sets)}
    expected = {owner: mean for owner, (_, mean) in laps(lab, rings).items()}
    lines = lab.run(lab.host(rings, copy="1000h"), "400m")
    for owner, mean in expected.items():
        measured = lab.laps(lines, owner)[1:]
        assert abs(sum(measured) / len(measured) - mean) < 1 / 3


@given(st.lists(subsets, min_size=1, max_size=5))
def test_no_lap_is_expected_below_its_best_case(lab: Any, sets: list[list[str]]) -> None:
    rings = {f"ImageMonitor/{n}": lab.images(*names) for n, names in enumerate(sets)}
    asked = len({image for ring in rings.values() for image in ring})
    for best, expected in laps(lab, rings).values():
        assert best <= expected + 1 / 60
        assert expected <= best * len(rings) + asked


def test_rings_beyond_all_bounds_are_estimated(lab: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_module("runtime.simulation.forecast"), "_MOST_VISITS", 20)
    assert {A: (100, 200), B: (130, 260)} == {
        owner: (best, round(expected, -1))
        for owner, (best, expected) in laps(
            lab, {A: lab.images(100), B: lab.images(*(f"i{n:04}" for n in range(99, 229)))}
        ).items()
    }
