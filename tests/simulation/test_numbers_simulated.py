"""The numbers that must come out (page 1), through the simulation; ``tests/pacing`` has them through the engine."""

from __future__ import annotations

from collections import Counter
from typing import Any

A, B = "ImageMonitor/a", "ImageMonitor/b"


def used(lines: list[dict[str, Any]]) -> list[str]:
    return [line["image"] for line in lines if line["outcome"] == "used" and line["operation"] == "Check"]


def test_windows_of_5m(lab: Any) -> None:
    lines = lab.run(lab.host(check="5m"), "16m")
    assert [5, 10, 15] == lab.minutes(lines, "idle", "Check")


def test_60_images_alone_at_1m(lab: Any) -> None:
    simulation = lab.simulation(lab.host({A: lab.images(60)}))
    assert [60.0] * 4 == [
        lap.duration / 60 / lab.second for line in simulation.run(4 * 3600 * lab.second) for lap in line.laps
    ]
    (ring,) = simulation.summary().rings
    assert (4, 1.0) == (ring.laps, ring.ratio)


def test_two_monitors_of_the_same_1000_images(lab: Any) -> None:
    lines = lab.run(lab.host({A: lab.images(1000), B: lab.images(1000)}), "3002m")
    assert ([1001, 1000, 1000], [1000, 1000, 1000]) == (lab.laps(lines, A), lab.laps(lines, B))
    assert {3} == {*Counter(used(lines)[:3000]).values()}


def test_two_monitors_of_1000_disjoint_images_each(lab: Any) -> None:
    other = lab.images(*(f"z{n:04}" for n in range(1000)))
    lines = lab.run(lab.host({A: lab.images(1000), B: other}), "4000m")
    assert ([1999, 2000], [2000, 2000]) == (lab.laps(lines, A), lab.laps(lines, B))


def test_2140_images_alone_at_40m(lab: Any) -> None:
    lines = lab.run(lab.host({A: lab.images(2140)}, check="40m"), "1427h")
    assert [1426 * 60 + 40] == lab.laps(lines, A)


def test_restart_at_image_30_of_60_and_2h_down(lab: Any) -> None:
    lines = lab.run(lab.host({A: lab.images(60)}), "3h1m", [{"at": "30m20s", "restart": "2h"}])
    checks = lab.of(lines, "Check")
    assert (lab.images(60)[29], 1800) == (checks[29]["image"], checks[29]["t"])
    assert (lab.images(60)[30], 9080, 1) == (checks[30]["image"], checks[30]["t"], checks[30]["window"])
    assert [180 + 20 / 60] == lab.laps(lines, A)


def test_three_copies_of_7m_at_3m(lab: Any) -> None:
    slow = {"at": 0, "latency": {"host": "docker.io", "operation": "Copy", "seconds": 420}}
    lines = lab.run(lab.host(queues={"ImageMirror/m": lab.images(3)}), "28m", [slow])
    assert [3, 12, 21] == lab.minutes(lines, "used", "Copy")
    assert [6, 9, 15, 18, 24, 27] == lab.minutes(lines, "busy", "Copy")


def test_killed_and_started_every_50s_at_1m(lab: Any) -> None:
    script = [{"at": f"{n * 50}s", "restart": 0} for n in range(1, 200)]
    assert [] == lab.run(lab.host({A: lab.images(60)}), "9950s", script)


def test_killed_and_started_every_90s_at_1m_with_three_owners(lab: Any) -> None:
    rings = {f"ImageMonitor/{n}": lab.images(*(f"{n}{i:02}" for i in range(50))) for n in "abc"}
    script = [{"at": f"{n * 90}s", "restart": "0"} for n in range(1, 99)]
    lines = lab.of(lab.run(lab.host(rings), f"{99 * 90}s", script), "Check")
    assert [n * 90 + 60 for n in range(99)] == [line["t"] for line in lines]
    assert ["ImageMonitor/a", "ImageMonitor/b", "ImageMonitor/c"] * 33 == [line["owner"] for line in lines]
    assert 99 == len({line["image"] for line in lines})


def test_configuration_edited_every_30s_alternating_1m_and_2m(lab: Any) -> None:
    quay = lab.host({A: lab.images(9, host="quay.io")}, name="quay.io")
    files = {
        "one": lab.situation(lab.host({A: lab.images(9)}, check="1m"), quay),
        "two": lab.situation(lab.host({A: lab.images(9)}, check="2m"), quay),
    }
    script = [{"at": f"{n * 30}s", "config": "two" if n % 2 else "one"} for n in range(1, 121)]
    lines = lab.run(files["one"], "1h", script, files)
    assert [] == lab.of(lines, "Check")
    assert [*range(1, 61)] == lab.minutes(lines, "used", "Check", "quay.io")


def test_an_image_added_behind_the_last_one_just_after_a_lap(lab: Any) -> None:
    files = {"more": lab.situation(lab.host({A: lab.images(4)}))}
    lines = lab.run(lab.host({A: lab.images(3)}), "8m", [{"at": "3m1s", "resources": ["more"]}], files)
    assert [3, 4] == lab.laps(lines, A)
