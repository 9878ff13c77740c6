"""Plans to be shown: the one of the specification's example before and after a change, and any other."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, permutations

import pytest
from hypothesis import strategies as st

from compiler.duration import HOUR, MINUTE, SECOND
from compiler.plan import (
    CheckForecast,
    CheckSeries,
    Copy,
    CopyForecast,
    CopySeries,
    DefaultPace,
    FallbackAuth,
    HostPlan,
    LapForecast,
    Plan,
    Queue,
    Ring,
)

QUAY = HostPlan(
    "quay.io",
    CheckSeries(30 * SECOND, 10 * SECOND, "registries.default.check.interval"),
    CopySeries(3 * MINUTE, 0, "registries.default.copy.interval"),
)
LIBRARY = tuple(f"docker.io/library/image-{number:03}:1" for number in range(173))
HUB = HostPlan(
    "docker.io",
    CheckSeries(
        MINUTE,
        10 * SECOND,
        "registries.docker.io.check.interval",
        (Ring("ImageMirror/prod", LIBRARY[:41]), Ring("ImageMonitor/all", LIBRARY)),
        CheckForecast(
            1440,
            173,
            (
                LapForecast("ImageMirror/prod", 41 * MINUTE, 82 * MINUTE),
                LapForecast("ImageMonitor/all", 173 * MINUTE, 173 * MINUTE),
            ),
        ),
    ),
    CopySeries(
        10 * MINUTE,
        0,
        "registries.docker.io.copy.interval",
        (Queue("ImageMirror/prod", tuple(Copy(i, f"registry.tld/mirror/{i}") for i in LIBRARY[:41])),),
        CopyForecast(6 * HOUR + 50 * MINUTE),
    ),
)


@pytest.fixture(scope="session")
def before() -> Plan:
    """The plan of page 2, before the change that its example shows."""
    return Plan((HUB, QUAY))


@pytest.fixture(scope="session")
def after() -> Plan:
    """The same at 30s, with a second monitor."""
    rings = (
        *HUB.check.rings,
        Ring("ImageMonitor/team-b", (*LIBRARY[:30], *(f"docker.io/team-b/{n}:1" for n in "abcd"))),
    )
    laps = (
        LapForecast("ImageMirror/prod", 41 * MINUTE // 2, 82 * MINUTE),
        LapForecast("ImageMonitor/all", 173 * MINUTE // 2, 88 * MINUTE),
        LapForecast("ImageMonitor/team-b", 17 * MINUTE, 88 * MINUTE),
    )
    check = replace(HUB.check, interval=30 * SECOND, rings=rings, forecast=CheckForecast(2880, 177, laps))
    return Plan((replace(HUB, check=check), QUAY))


IMAGES = ("x/a:1", "x/b:1", "x/c:1@sha256:00")
OWNERS = ("ImageMirror/m", "ImageMonitor/a", "ImageMonitor/b")
ACCESS = (
    {},
    {"suspended": True},
    {"auth": (("x/a:1", "a"),)},
    {"auth": (("x/a:1", "b"),), "insecure": ("x/a:1",)},
)


def rings_of(owner: str) -> list[Ring]:
    rings = [Ring(owner, images) for size in (1, 2, 3) for images in combinations(IMAGES, size)]
    return rings + [Ring(owner, IMAGES, **fields) for fields in ACCESS]


def queues_of(owner: str) -> list[Queue]:
    copies = {i: (Copy(i, f"here/{i}"), Copy(i, f"there/{i}"), Copy(i, f"here/{i}", "anchor")) for i in IMAGES}
    orders = [order for size in (1, 2) for order in permutations(IMAGES, size)]
    queues = [Queue(owner, tuple(copies[image][which] for image in order)) for order in orders for which in range(3)]
    return [*queues, *(replace(queue, suspended=True) for queue in queues[:3])]


# prepared, because a plan drawn image by image takes a test most of its time
RINGS = {owner: st.sampled_from(rings_of(owner)) for owner in OWNERS}
QUEUES = {owner: st.sampled_from(queues_of(owner)) for owner in OWNERS}
WHO = st.sampled_from([owners for size in range(4) for owners in combinations(OWNERS, size)])
SETTINGS = st.sampled_from(
    [
        {},
        {},
        {"clusters": 2},
        {"suspended": True},
        {"insecure": True},
        {"ca_file": "/a.pem"},
        {"ca_file": "/b.pem", "auth": (FallbackAuth("/", "a"),)},
        {"auth": (FallbackAuth("/", "b"), FallbackAuth("/x", "a"))},
    ]
)
PACES = st.sampled_from(
    [(i, t, f"registries.{o}") for i in (SECOND, MINUTE, HOUR) for t in (0, SECOND) for o in ("default", "own")]
)


@st.composite
def hosts(draw: st.DrawFn, name: str) -> HostPlan:
    check = CheckSeries(*draw(PACES), tuple(draw(RINGS[owner]) for owner in draw(WHO)))
    copy = CopySeries(*draw(PACES), tuple(draw(QUEUES[owner]) for owner in draw(WHO)))
    return HostPlan(name, check, copy, **draw(SETTINGS))


@st.composite
def any_plan(draw: st.DrawFn) -> Plan:
    names = draw(st.sampled_from(((), ("a.io",), ("b.io",), ("a.io", "b.io"))))
    default = draw(st.sampled_from((DefaultPace(), DefaultPace(check_interval=MINUTE, copy_timeout=SECOND))))
    return Plan(tuple(draw(hosts(name)) for name in names), draw(st.booleans()), default)


@st.composite
def any_change(draw: st.DrawFn) -> tuple[Plan, Plan]:
    """Two plans that differ in one host, in one part of one host, or in everything."""
    plan = draw(any_plan())
    if not plan.hosts or draw(st.integers(0, 3)) == 0:
        return plan, draw(any_plan())
    index = draw(st.integers(0, len(plan.hosts) - 1))
    old, other = plan.hosts[index], draw(hosts(plan.hosts[index].host))
    field = draw(st.sampled_from(("check", "copy", "clusters", "suspended", "insecure", "ca_file", "auth")))
    new = replace(old, **{field: getattr(other, field)})
    return plan, replace(plan, hosts=(*plan.hosts[:index], new, *plan.hosts[index + 1 :]))


@pytest.fixture(scope="session")
def plans() -> st.SearchStrategy[Plan]:
    """Small plans of few names, so that two of them have much in common."""
    return any_plan()


@pytest.fixture(scope="session")
def changes() -> st.SearchStrategy[tuple[Plan, Plan]]:
    """A plan and the one that takes its place."""
    return any_change()
