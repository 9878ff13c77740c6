"""The plan for people: one layout whatever the terminal, and nothing in a name that acts on it."""

from __future__ import annotations

import re
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from compiler.changes import Change
from compiler.diff import diff
from compiler.plan import Copy, CopyForecast, HostPlan, Plan, Queue, Ring, without_forecasts
from compiler.render import table
from compiler.render.columns import Cell, lay_out
from compiler.terminal import Style, width

_SGR = re.compile(r"\x1b\[[0-9;]*m")

EXAMPLE = """\
HOST       OPERATION  EVERY  OWNERS            IMAGES  LAP (best)         FROM
docker.io  Check      1m0s   ImageMirror/prod      41  1h22m0s (41m0s)    registries.docker.io.check.interval
                             ImageMonitor/all     173  2h53m0s (2h53m0s)
docker.io  Copy       10m0s  ImageMirror/prod      41  drains in 6h50m0s  registries.docker.io.copy.interval
quay.io    Check      30s    -                                            registries.default.check.interval
quay.io    Copy       3m0s   -                                            registries.default.copy.interval
"""

AGAINST = """\

Against plan.yaml
~ docker.io Check  1m0s → 30s: its windows restart, the first 30s after the reload  config.yaml:7
+ docker.io Check  ImageMonitor/team-b joins with 34 images, 30 of them shared      team-b.yaml:1
  docker.io Check  at most 2880 windows a day (was 1440)
  docker.io Check  ImageMirror/prod lap 1h22m0s as before, at best 41m0s → 20m30s
  docker.io Check  ImageMonitor/all lap 2h53m0s → 1h28m0s
= docker.io Copy   unchanged, keeps its times
= quay.io          unchanged, keeps its times
1 series restarts, 1 ring joins, 1 lap gets shorter; at most 2880 windows a day on docker.io (was 1440).
"""


def source(change: Change) -> str | None:
    places = {"registries.docker.io.check.interval": "config.yaml:7", "ImageMonitor/team-b": "team-b.yaml:1"}
    return next((places[cause] for cause in change.causes if cause in places), None)


def with_check(plan: Plan, **fields: object) -> Plan:
    first = plan.hosts[0]
    return replace(plan, hosts=(replace(first, check=replace(first.check, **fields)), *plan.hosts[1:]))


def test_the_example_of_the_specification(before: Plan) -> None:
    assert table.render(before) == EXAMPLE


def test_what_changes_comes_below_with_its_place_in_the_input(before: Plan, after: Plan) -> None:
    rendered = table.render(after, diff(before, after), against="plan.yaml", sources=source)
    assert rendered.removeprefix(table.render(after)) == AGAINST


def test_laps_have_a_column_only_where_there_are_forecasts(before: Plan) -> None:
    lines = table.render(without_forecasts(before)).splitlines()
    assert lines[0].split() == ["HOST", "OPERATION", "EVERY", "OWNERS", "IMAGES", "FROM"]
    assert lines[1].split() == [
        "docker.io", "Check", "1m0s", "ImageMirror/prod", "41", "registries.docker.io.check.interval",
    ]  # fmt: skip


def test_nothing_changes(before: Plan) -> None:
    lines = table.render(before, diff(before, before), against="plan.yaml").splitlines()
    assert lines[-4:] == [
        "Against plan.yaml",
        "= docker.io  unchanged, keeps its times",
        "= quay.io    unchanged, keeps its times",
        "Nothing changes.",
    ]


def test_an_empty_plan_says_so() -> None:
    assert table.render(Plan()) == "No registry is configured, and none is read.\n"


def test_a_plan_of_templates_says_so(before: Plan) -> None:
    assert table.render(replace(before, superset=True)).splitlines()[-1] == (
        "Made from templates: a superset of what the cluster runs."
    )


def test_what_is_suspended_or_shared_by_clusters_says_so(before: Plan) -> None:
    host = before.hosts[1]
    rings = (Ring("ImageMonitor/all", ("quay.io/a/b:1",), suspended=True),)
    host = replace(host, suspended=True, clusters=3, check=replace(host.check, rings=rings))
    assert re.split(" {2,}", table.render(Plan((host,))).splitlines()[1]) == [
        "quay.io (suspended)",
        "Check",
        "30s",
        "ImageMonitor/all (suspended)",
        "1",
        "registries.default.check.interval, for 3 clusters",
    ]


def test_queues_that_never_drain_say_so_once(before: Plan) -> None:
    host = before.hosts[1]
    queues = tuple(Queue(f"ImageMirror/{name}", (Copy("quay.io/a", "r/a"),), suspended=True) for name in "ab")
    host = replace(host, copy=replace(host.copy, queues=queues, forecast=CopyForecast(None)))
    assert table.render(Plan((host,))).count("never drains") == 1


def test_images_that_come_and_go_are_listed_and_a_long_list_is_cut(before: Plan) -> None:
    ring = before.hosts[0].check.rings[1]
    few, many = (with_check(before, rings=(replace(ring, images=ring.images[n:]),)) for n in (2, 20))
    old = with_check(before, rings=(ring,))
    lines = table.render(few, diff(old, few)).splitlines()
    assert [line for line in lines if line.startswith("    ")] == [
        "    - docker.io/library/image-000:1",
        "    - docker.io/library/image-001:1",
    ]
    lines = table.render(many, diff(old, many)).splitlines()
    assert [line for line in lines if line.startswith("    ")][-2:] == [
        "    - docker.io/library/image-009:1",
        "    … and 10 more images",
    ]


def test_colours_change_nothing_but_colours(before: Plan, after: Plan) -> None:
    found = diff(before, after)
    plain, painted = (table.render(after, found, against="x", sources=source, color=c) for c in (False, True))
    assert "\x1b" not in plain
    assert "\x1b[32m+ docker.io Check\x1b[0m" in painted
    assert [line.rstrip() for line in _SGR.sub("", painted).splitlines()] == plain.splitlines()


def test_a_name_cannot_act_on_the_terminal(before: Plan) -> None:
    evil = "ImageMonitor/\x1b]0;owned\x07\u202e"
    rendered = table.render(
        with_check(before, rings=(Ring(evil, ("a",)),)),
        diff(before, with_check(before, rings=(Ring(evil, ("b\x1b[2J",)),))),
        against="\x1b[2J\n",
    )
    assert all(line.isprintable() for line in rendered.splitlines())
    assert r"ImageMonitor/\x1b]0;owned\x07\u202e" in rendered


@given(data=st.data())
def test_columns_begin_at_the_same_place_in_every_line(data: st.DataObject, plans: st.SearchStrategy[Plan]) -> None:
    plan = data.draw(plans)
    if not plan.hosts:
        return
    heading, *lines = table.render(plan).splitlines()
    start = heading.index("OPERATION")
    for line in lines[: sum(rows_of(host) for host in plan.hosts)]:
        assert line[start - 2 : start] == "  "
        assert line[start : start + 5].strip() in {"Check", "Copy", ""}


def rows_of(host: HostPlan) -> int:
    return max(1, len(host.check.rings)) + max(1, len(host.copy.queues))


@given(st.lists(st.lists(st.text("aé日 ", max_size=5), min_size=3, max_size=3), min_size=1, max_size=5))
def test_every_cell_stands_below_the_one_above(rows: list[list[str]]) -> None:
    lines = lay_out([[Cell(text) for text in row] for row in rows])
    start = 0
    for index in range(3):
        widest = max(width(row[index]) for row in rows)
        for row, line in zip(rows, lines, strict=True):
            assert "".join(places(line)[start : start + widest]).rstrip() == row[index].rstrip()
        start += widest + 2


def places(line: str) -> list[str]:
    """Give what stands in each column of a terminal: a wide character in the first of its two."""
    return [place for character in line for place in ([character, ""] if width(character) == 2 else [character])]


def test_wide_characters_take_two_columns_and_combining_ones_none() -> None:
    rows = [[Cell("日本"), Cell("a")], [Cell("e\u0301"), Cell("b")], [Cell("1234"), Cell("c")]]
    assert lay_out(rows) == ["日本  a", "e\u0301     b", "1234  c"]


def test_a_column_can_end_at_the_same_place() -> None:
    assert lay_out([[Cell("a"), Cell("1")], [Cell("b"), Cell("100")]], right={1}) == ["a    1", "b  100"]


def test_rows_may_differ_in_length_and_styles_take_no_room() -> None:
    rows = [[Cell("a", Style.ADDED), Cell("b")], [Cell("long")], []]
    assert lay_out(rows, color=True) == ["\x1b[32ma\x1b[0m     b", "long", ""]
