"""What a simulation prints, and in which order things happen at one instant (page 2)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from runtime.simulation import Simulation, parse_script
from runtime.simulation.world import digest_of

A, B, M = "ImageMonitor/a", "ImageMonitor/b", "ImageMirror/m"


def short(line: dict[str, Any]) -> tuple[Any, ...]:
    image = line.get("image", "").rpartition("/")[2].partition(":")[0]
    return (line["t"], line["operation"], line["outcome"], image)


def test_a_line_has_the_form_of_the_page(lab: Any) -> None:
    lines = lab.run(lab.host({A: lab.images("x"), B: lab.images("x", "y")}), "2m")
    first = (
        '{"t": 60.0, "host": "docker.io", "operation": "Check", "window": 1, "outcome": "used", '
        '"owner": "ImageMonitor/a", "image": "docker.io/library/x:1", "reused": [], '
        '"laps": [{"owner": "ImageMonitor/a", "seconds": 60.0}]}'
    )
    second = (
        '{"t": 120.0, "host": "docker.io", "operation": "Check", "window": 2, "outcome": "used", '
        '"owner": "ImageMonitor/b", "image": "docker.io/library/y:1", '
        '"reused": [["ImageMonitor/b", "docker.io/library/x:1"]], '
        '"laps": [{"owner": "ImageMonitor/b", "seconds": 120.0}]}'
    )
    assert [first, second] == [json.dumps(line) for line in lines]


def test_owner_and_image_are_there_when_the_window_was_used(lab: Any) -> None:
    (line,) = lab.run(lab.host(), "1m")
    assert {
        "t": 60.0,
        "host": "docker.io",
        "operation": "Check",
        "window": 1,
        "outcome": "idle",
        "reused": [],
        "laps": [],
    } == line


def test_every_series_of_every_host_is_printed_by_time_host_and_operation(lab: Any) -> None:
    lines = lab.run(
        lab.situation(lab.host(copy="1m"), lab.host(name="quay.io", copy="1m"), lab.host(name="a.io")), "3m"
    )
    keys = [(line["t"], line["host"], line["operation"]) for line in lines]
    assert sorted(keys) == keys
    assert 3 * 5 + 1 == len(keys)


def test_the_last_moment_counts(lab: Any) -> None:
    assert [60.0] == [line["t"] for line in lab.run(lab.host(copy="1h"), "119s")]
    assert [60.0, 120.0] == [line["t"] for line in lab.run(lab.host(copy="1h"), "2m")]


def test_reads_end_before_the_windows_of_the_instant_open(lab: Any) -> None:
    slow = {"at": 0, "latency": {"host": "docker.io", "operation": "Check", "seconds": 60}}
    lines = lab.run(lab.host({A: lab.images(9)}), "5m", [slow])
    assert [1, 2, 3, 4, 5] == lab.minutes(lines, "used", "Check")


def test_the_script_comes_before_the_windows_and_behind_the_reads(lab: Any) -> None:
    files = {"none": lab.situation(lab.host())}
    slow = {"at": 0, "latency": {"host": "docker.io", "operation": "Check", "seconds": 60}}
    lines = lab.run(lab.host({A: lab.images(1)}), "3m", [slow, {"at": "2m", "resources": ["none"]}], files)
    # the read that began at 1m ends at 2m and is the ring's lap; then the ring goes; then the window opens
    assert [(60.0, "Check", "used", "i0000"), (120.0, "Check", "idle", ""), (180.0, "Check", "idle", "")] == [
        short(line) for line in lab.of(lines, "Check")
    ]
    assert [1] == lab.laps(lines, A)


def test_a_copy_window_sees_the_drift_that_its_host_s_check_has_just_found(lab: Any) -> None:
    start = lab.situation(lab.host({M: lab.images("x")}, {M: lab.images("x")}, copy="1m"), synced=[M])
    moved = {"at": "4m30s", "answer": {"host": "docker.io", "image": "docker.io/library/x:1", "digest": "sha256:two"}}
    lines = lab.run(start, "6m", [moved])
    assert [1, 5] == lab.minutes(lines, "used", "Copy")
    assert [2, 3, 4, 5, 6] == lab.minutes(lines, "used", "Check")


def test_a_read_is_cut_at_its_timeout(lab: Any) -> None:
    slow = {"at": 0, "latency": {"host": "docker.io", "operation": "Check", "seconds": 600}}
    lines = lab.run(lab.host({A: lab.images(9)}, timeouts=(90 * lab.second, 0)), "7m", [slow])
    assert [1, 3, 5, 7] == lab.minutes(lines, "used", "Check")


def test_c3_a_copy_cut_at_its_timeout_has_failed(lab: Any) -> None:
    slow = {"at": 0, "latency": {"host": "docker.io", "operation": "Copy", "seconds": 600}}
    start = lab.host(queues={M: lab.images("a", "b")}, timeouts=(0, 60 * lab.second))
    simulation = lab.simulation(start, [slow])
    lines = [*simulation.run(20 * 60 * lab.second)]
    assert ["a", "b", "a", "b", "a", "b"] == [line.image[-3] for line in lines if line.image]
    (queue,) = simulation.summary().queues
    assert (0, 2, 2, None) == (queue.copied, queue.pending, queue.failed, queue.drained)


def test_latency_may_end(lab: Any) -> None:
    def slow(at: str, seconds: float) -> dict[str, Any]:
        return {"at": at, "latency": {"host": "docker.io", "operation": "Check", "seconds": seconds}}

    lines = lab.run(lab.host({A: lab.images(9)}), "8m", [slow("0", 90.5), slow("5m", 0)])
    assert [2, 4] == lab.minutes(lines, "busy", "Check")


def test_lines_wait_for_the_laps_of_a_read_in_flight(lab: Any) -> None:
    slow = {"at": 0, "latency": {"host": "docker.io", "operation": "Check", "seconds": 150}}
    lines = lab.run(lab.host({A: lab.images(2)}), "20m", [slow])
    assert [(1, "used", 0), (2, "busy", 0), (3, "busy", 0), (4, "used", 1)] == [
        (line["t"] / 60, line["outcome"], len(line["laps"])) for line in lab.of(lines, "Check")[:4]
    ]
    assert sorted(line["t"] for line in lines) == [line["t"] for line in lines]


def test_a_lap_that_a_removal_ended_stands_on_the_next_line_of_the_series(lab: Any) -> None:
    files = {"less": lab.situation(lab.host({A: lab.images(2)}))}
    lines = lab.run(lab.host({A: lab.images(5)}), "6m", [{"at": "2m50s", "resources": ["less"]}], files)
    assert [(180.0, "Check", 120.0), (240.0, "Check", 120.0)] == [
        (line["t"], line["operation"], lap["seconds"]) for line in lines for lap in line["laps"]
    ][:2]


def test_nothing_is_printed_while_the_process_is_down_and_windows_count_anew(lab: Any) -> None:
    lines = lab.run(lab.host({A: lab.images(9)}, copy="1h"), "10m", [{"at": "150s", "restart": "4m"}])
    assert [(60, 1), (120, 2), (450, 1), (510, 2), (570, 3)] == [(line["t"], line["window"]) for line in lines]


def test_reads_in_flight_are_lost_by_a_restart_and_done_again(lab: Any) -> None:
    slow = {"at": 0, "latency": {"host": "docker.io", "operation": "Check", "seconds": 50}}
    lines = lab.run(lab.host({A: lab.images(3)}), "4m", [slow, {"at": "130s", "restart": "10s"}])
    assert [(60.0, "i0000"), (120.0, "i0001"), (200.0, "i0001")] == [
        (t, image) for t, _, _, image in map(short, lab.of(lines, "Check"))
    ]


def test_what_the_script_says_while_the_process_is_down_holds_when_it_comes_back(lab: Any) -> None:
    files = {"slow": lab.situation(lab.host({A: lab.images(9)}, check="2m"))}
    script = [{"at": "90s", "restart": "5m"}, {"at": "2m", "config": "slow"}]
    assert [1, 8.5] == lab.minutes(lab.run(lab.host({A: lab.images(9)}), "9m", script, files), "used", "Check")


def test_a_restart_while_the_process_is_down_starts_the_time_again(lab: Any) -> None:
    script = [{"at": "90s", "restart": "5m"}, {"at": "2m", "restart": "1m"}]
    assert [1, 4] == lab.minutes(lab.run(lab.host({A: lab.images(9)}), "4m", script), "used", "Check")


def test_what_was_copied_survives_a_restart_and_is_known_at_once(lab: Any) -> None:
    start = lab.host({M: lab.images("a", "b")}, {M: lab.images("a", "b")})
    lines = lab.run(start, "14m", [{"at": "4m", "restart": "0"}])
    assert [(180.0, "Copy", "used", "a"), (420.0, "Copy", "used", "b")] == [
        short(line) for line in lab.of(lines, "Copy") if line["outcome"] == "used"
    ]
    assert {"a", "b"} == {short(line)[3] for line in lab.of(lines, "Check")} - {""}


def test_c2_failures_survive_a_restart(lab: Any) -> None:
    broken = {"at": 0, "answer": {"host": "docker.io", "image": "docker.io/library/a:1", "verdict": "NotFound"}}
    script = [broken, {"at": "10m", "restart": "0"}]
    lines = lab.run(lab.host(queues={M: lab.images("a")}, copy="1m"), "20m", script)
    # attempts at 1m, 2m, 4m, 8m; the fifth is due 8 minutes after the fourth
    assert [1, 2, 4, 8, 16] == lab.minutes(lines, "used", "Copy")


def test_what_was_copied_is_not_forgotten_when_a_resource_goes_and_comes_back(lab: Any) -> None:
    files = {
        "with": lab.situation(lab.host(queues={M: lab.images("a", "b")})),
        "without": lab.situation(lab.host()),
    }
    script = [{"at": "4m", "resources": ["without"]}, {"at": "5m", "resources": ["with"]}]
    lines = lab.run(files["with"], "12m", script, files)
    assert ["a", "b"] == [short(line)[3] for line in lab.of(lines, "Copy") if line["outcome"] == "used"]


def test_a_vanished_copy_is_copied_first(lab: Any) -> None:
    script = [{"at": "10m", "vanish": {"owner": M, "image": "b:1"}}]
    start = lab.host({M: lab.images("a", "b", "c", "d")}, {M: lab.images("a", "b", "c", "d")})
    lines = lab.run(start, "16m", script)
    assert ["a", "b", "c", "b", "d"] == [short(line)[3] for line in lab.of(lines, "Copy")]


def test_w10_a_hold_ends_at_its_time(lab: Any) -> None:
    answer = {"host": "docker.io", "image": "i0001:1", "verdict": "QuotaExceeded", "retryAfter": 120}
    ends = {"host": "docker.io", "image": "i0001:1", "verdict": "Available"}
    script = [{"at": 0, "answer": answer}, {"at": "3m", "answer": ends}]
    lines = lab.run(lab.host({A: lab.images(9)}), "6m", script)
    assert [3] == lab.minutes(lines, "held", "Check")
    assert [3] == lab.minutes(lines, "held", "Copy")
    assert [1, 2, 4, 5, 6] == lab.minutes(lines, "used", "Check")


def test_h5_a_configuration_that_is_refused_changes_nothing(lab: Any) -> None:
    files = {"bad": None, "bad+more": None, "more": lab.situation(lab.host({A: lab.images(9)}, check="1m"))}
    script = [{"at": "90s", "config": "bad"}, {"at": "2m", "resources": ["more"]}]
    # the resources go with the last good configuration, not with the refused one
    assert [1, 2, 3] == lab.minutes(lab.run(lab.host({A: lab.images(3)}), "3m", script, files), "used", "Check")


def test_status_in_the_input_counts_for_cursors_only(lab: Any) -> None:
    start = lab.situation(lab.host({A: lab.images("a", "b", "c")}), cursors={A: "docker.io/library/a:1"})
    lines = lab.run(start, "5m")
    assert ["b", "c", "a", "b", "c"] == [short(line)[3] for line in lab.of(lines, "Check")]
    assert [2, 3] == lab.laps(lines, A)


def test_a_cursor_on_the_last_image_begins_a_lap(lab: Any) -> None:
    start = lab.situation(lab.host({A: lab.images("a", "b")}), cursors={A: "docker.io/library/b:1"})
    assert [2] == lab.laps(lab.run(start, "2m"), A)


def test_the_same_situation_twice_gives_the_same_lines(lab: Any) -> None:
    start = lab.situation(
        lab.host({A: lab.images(20), M: lab.images(7)}, {M: lab.images(7)}),
        lab.host({A: lab.images(5, host="quay.io"), B: lab.images(9, host="quay.io")}, name="quay.io", check="7s"),
        synced=[M],
    )
    script = [
        {"at": "1m", "latency": {"host": "quay.io", "operation": "Check", "seconds": 10}},
        {"at": "3m", "restart": "1m"},
        {"at": "9m", "answer": {"host": "docker.io", "image": "i0001:1", "verdict": "QuotaExceeded", "retryAfter": 99}},
    ]
    assert lab.run(start, "2h", script) == lab.run(start, "2h", script)


def test_a_simulation_gives_lines_while_it_runs(lab: Any) -> None:
    lines = lab.simulation(lab.host({A: lab.images(9)})).run(10**6 * 3600 * lab.second)
    assert 60 == next(lines).t / lab.second


def test_a_script_that_names_files_needs_something_to_read_them_with(lab: Any) -> None:
    with pytest.raises(ValueError, match="names files"):
        Simulation(lab.situation(lab.host()), parse_script([{"at": "1m", "config": "c.yaml"}]))


def test_a_reference_has_its_own_digest_or_one_of_its_text() -> None:
    assert f"sha256:{'0' * 64}" == digest_of(f"docker.io/library/a:1@sha256:{'0' * 64}")
    assert digest_of("docker.io/library/a:1") != digest_of("docker.io/library/a:2")


def test_the_summary_adds_up(lab: Any) -> None:
    slow = {"at": 0, "latency": {"host": "docker.io", "operation": "Copy", "seconds": 420}}
    simulation = lab.simulation(
        lab.situation(
            lab.host({A: lab.images(6), B: lab.images(6)}, {M: lab.images(2)}),
            lab.host({A: lab.images(3, host="quay.io")}, name="quay.io"),
        ),
        [slow],
    )
    lines = [*simulation.run(60 * 60 * lab.second)]
    summary = simulation.summary()
    assert len(lines) == sum(sum(series.windows.values()) for series in summary.series)
    assert [("docker.io", "Check"), ("docker.io", "Copy"), ("quay.io", "Check"), ("quay.io", "Copy")] == [
        (series.host, series.operation) for series in summary.series
    ]
    assert {"used": 2, "busy": 4, "idle": 14} == summary.series[1].windows
    assert [("docker.io", A, 6, 6.0, 1.0), ("docker.io", B, 6, 6.0, 1.0), ("quay.io", A, 3, 3.0, 1.0)] == [
        (ring.host, ring.owner, ring.images, ring.last / 60 / lab.second, ring.ratio) for ring in summary.rings
    ]
    (queue,) = summary.queues
    assert (2, 0, 0, 19) == (queue.copied, queue.pending, queue.failed, queue.drained / 60 / lab.second)


def test_the_summary_of_a_process_that_is_down_tells_what_status_holds(lab: Any) -> None:
    simulation = lab.simulation(lab.host({A: lab.images(6)}), [{"at": "7m", "restart": "1h"}])
    assert 6 + 2 == len([*simulation.run(30 * 60 * lab.second)])
    assert [1] == [ring.laps for ring in simulation.summary().rings]


def test_the_summary_tells_of_a_ring_whose_host_went_while_the_process_was_down(lab: Any) -> None:
    script = [{"at": "7m", "restart": "1h"}, {"at": "8m", "resources": ["other"]}]
    other = lab.situation(lab.host({A: lab.images(2, host="quay.io")}, name="quay.io"))
    simulation = lab.simulation(lab.host({A: lab.images(6)}), script, {"other": other})
    assert 6 + 2 == len([*simulation.run(30 * 60 * lab.second)])
    assert [("docker.io", 1, None, None)] == [
        (ring.host, ring.laps, ring.best_case, ring.ratio) for ring in simulation.summary().rings
    ]
