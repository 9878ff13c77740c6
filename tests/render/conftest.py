"""Plans to be shown: the one of the specification's example before and after a change, and any other."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import strategies as st

from compiler.duration import HOUR, MINUTE, SECOND
from compiler.plan import (
    CheckForecast,
    CheckSeries,
    Copy,
    CopyForecast,
    CopySeries,
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


@st.composite
def rings(draw: st.DrawFn, owner: str) -> Ring:
    images = sorted(draw(st.sets(st.sampled_from(IMAGES), min_size=1)))
    auth = draw(st.dictionaries(st.sampled_from(images), st.sampled_from(("a", "b")), max_size=2))
    insecure = draw(st.sets(st.sampled_from(images), max_size=2))
    return Ring(owner, tuple(images), draw(st.booleans()), tuple(sorted(auth.items())), tuple(sorted(insecure)))


@st.composite
def queues(draw: st.DrawFn, owner: str) -> Queue:
    images = draw(st.lists(st.sampled_from(IMAGES), min_size=1, unique=True))
    copies = (
        Copy(i, draw(st.sampled_from(("here/", "there/"))) + i, draw(st.none() | st.just("anchor"))) for i in images
    )
    return Queue(owner, tuple(copies), draw(st.booleans()))


@st.composite
def hosts(draw: st.DrawFn, name: str) -> HostPlan:
    interval = st.sampled_from((SECOND, MINUTE, HOUR))
    timeout = st.sampled_from((0, SECOND))
    origin = st.sampled_from(("registries.default", "registries.own"))
    owners = st.sets(st.sampled_from(OWNERS)).map(sorted)
    return HostPlan(
        name,
        CheckSeries(draw(interval), draw(timeout), draw(origin), tuple(draw(rings(o)) for o in draw(owners))),
        CopySeries(draw(interval), draw(timeout), draw(origin), tuple(draw(queues(o)) for o in draw(owners))),
        clusters=draw(st.integers(1, 2)),
        suspended=draw(st.booleans()),
        insecure=draw(st.booleans()),
        ca_file=draw(st.none() | st.sampled_from(("/a.pem", "/b.pem"))),
        auth=draw(st.sampled_from(((), (FallbackAuth("/", "a"),), (FallbackAuth("/", "b"), FallbackAuth("/x", "a"))))),
    )


@st.composite
def any_plan(draw: st.DrawFn) -> Plan:
    names = sorted(draw(st.sets(st.sampled_from(("a.io", "b.io", "c.io")))))
    return Plan(tuple(draw(hosts(name)) for name in names), draw(st.booleans()))


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


IMAGES = ("x/a:1", "x/b:1", "x/c:1@sha256:00", "y/d:1")
OWNERS = ("ImageMirror/m", "ImageMonitor/a", "ImageMonitor/b")


@pytest.fixture(scope="session")
def plans() -> st.SearchStrategy[Plan]:
    """Small plans of few names, so that two of them have much in common."""
    return any_plan()


@pytest.fixture(scope="session")
def changes() -> st.SearchStrategy[tuple[Plan, Plan]]:
    """A plan and the one that takes its place."""
    return any_change()
