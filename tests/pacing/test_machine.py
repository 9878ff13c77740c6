"""The engine under every order of events, against a model that knows the rules and nothing of how they are kept.

Windows open, reads end in any order, plans are swapped, configurations reloaded, processes restarted with and without
their status, leadership is lost, the wall clock steps, the process stalls. After each step the promises are looked at
one by one, in the words of the rules.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from compiler.duration import HOUR, MINUTE, SECOND
from compiler.plan import CheckSeries, Copy, CopySeries, HostPlan, Operation, Plan, Queue, Ring
from runtime.pacing import (
    Engine,
    Lap,
    Outcome,
    Policy,
    Read,
    Record,
    Response,
    Scan,
    UnknownRead,
    Verdict,
    Visit,
    Window,
)

CHECK, COPY = Operation.CHECK, Operation.COPY
HOSTS = ("docker.io", "quay.io")
MONITORS = ("ImageMonitor/a", "ImageMonitor/b")
MIRROR = "ImageMirror/m"
RETRY = 20 * SECOND

names = st.lists(st.sampled_from("abcdef"), unique=True, max_size=6).map(lambda found: tuple(sorted(found)))
placed = st.tuples(names, names)
resources = st.fixed_dictionaries(dict.fromkeys((*MONITORS, MIRROR), placed))
intervals = st.fixed_dictionaries(
    {CHECK: st.sampled_from([7 * SECOND, 10 * SECOND, 30 * SECOND]), COPY: st.sampled_from([13 * SECOND, 30 * SECOND])}
)
configurations = st.fixed_dictionaries(
    {"default": intervals, **{host: st.none() | intervals for host in HOSTS}, "timeout": st.sampled_from([0, SECOND])}
)


@dataclass
class RingModel:
    """What must hold of one ring.

    Attributes:
        stayed: the images that have been in it since the last lap ended.
        seen: those visited since.
        last: when each was visited in this process.
    """

    images: tuple[str, ...]
    started: int
    cursor: str | None = None
    stayed: set[str] = field(default_factory=set)
    seen: set[str] = field(default_factory=set)
    last: dict[str, int] = field(default_factory=dict)


class Pacing(RuleBasedStateMachine):
    """Drives the engine, and keeps the model beside it."""

    @initialize(first=resources, configuration=configurations)
    def start(self, first: dict[str, Any], configuration: dict[str, Any]) -> None:
        self.now = 1_000 * SECOND
        self.wall = 10**9 * SECOND
        self.starts = 0
        self.resources, self.configuration = first, configuration
        self.rings = dict[tuple[str, str], RingModel]()
        self.present = {host: dict[str, str]() for host in HOSTS}
        self.failed = dict[str, tuple[int, int]]()
        self.lead({})

    # the process

    def lead(self, records: dict[str, Record]) -> None:
        self.engine = Engine(self.now, self.starts)
        self.starts += 1
        self.flights = list[Read]()
        self.taken = set[tuple[Any, ...]]()
        self.answered = set[tuple[str, int]]()
        self.anchors = {(host, op): (self.now, self.effective(host, op)) for host in HOSTS for op in (CHECK, COPY)}
        for ring in self.rings.values():
            ring.last.clear()
        self.apply(records)
        # what is at the destination is known from the first scan on, which comes at once here
        self.scan()

    def apply(self, records: dict[str, Record]) -> None:
        plan = self.plan()
        for place, (anchor, interval) in self.anchors.items():
            if self.effective(*place) != interval:
                self.anchors[place] = (self.now, self.effective(*place))
            else:
                self.anchors[place] = (anchor, interval)
        default = self.configuration["default"]
        policy = Policy(default[CHECK], default[COPY], frozenset({MIRROR}), RETRY, 4 * RETRY)
        wanted = {image for host in HOSTS for image in self.wanted(MIRROR, host)}
        self.failed = {image: failure for image, failure in self.failed.items() if image in wanted}
        for host in HOSTS:
            for image in {*self.present[host]} - {*self.wanted(MIRROR, host)}:
                del self.present[host][image]
        before = self.engine.apply(plan, self.now, policy, records)
        self.fit()
        self.end_laps(before.laps)

    def scan(self) -> None:
        present = dict(chain.from_iterable(self.present[host].items() for host in HOSTS))
        laps = self.engine.scanned(MIRROR, Scan(self.now, present), self.now)
        for image in present:
            self.failed.pop(image, None)
        self.fit()
        self.end_laps(laps)

    def effective(self, host: str, operation: Operation) -> int:
        own = self.configuration[host]
        return (own or self.configuration["default"])[operation]

    def wanted(self, owner: str, host: str) -> tuple[str, ...]:
        return tuple(f"{host}/library/{name}:1" for name in self.resources[owner][HOSTS.index(host)])

    def plan(self) -> Plan:
        hosts = []
        for host in HOSTS:
            wanted = {owner: self.wanted(owner, host) for owner in (MIRROR, *MONITORS)}
            rings = tuple(Ring(owner, images) for owner, images in wanted.items() if images)
            queues = tuple(
                Queue(MIRROR, tuple(Copy(i, f"r/{i}") for i in wanted[MIRROR])) for _ in [0] if wanted[MIRROR]
            )
            if rings or self.configuration[host] is not None:
                check, copy = self.effective(host, CHECK), self.effective(host, COPY)
                timeout = self.configuration["timeout"]
                hosts.append(HostPlan(host, CheckSeries(check, timeout, "", rings), CopySeries(copy, 0, "", queues)))
        return Plan(tuple(hosts))

    def fit(self) -> None:
        """Let the model's rings have the images they must have; one that becomes empty is forgotten (R5)."""
        for host in HOSTS:
            for owner in (MIRROR, *MONITORS):
                images = self.wanted(owner, host)
                if owner == MIRROR:
                    images = tuple(i for i in images if i in self.present[host])
                ring = self.rings.get((owner, host))
                if not images:
                    self.rings.pop((owner, host), None)
                elif ring is None:
                    self.rings[owner, host] = RingModel(images, self.now, stayed=set(images))
                else:
                    for image in set(images) - set(ring.images):
                        ring.last.pop(image, None)
                    ring.images = images
                    ring.stayed &= set(images)

    # what happens

    @rule(seconds=st.integers(0, 70), at_once=st.booleans())
    def let_windows_open(self, seconds: int, at_once: bool) -> None:
        end = self.now + seconds * SECOND
        while (opens := self.engine.next_opening()) is not None and opens <= end:
            self.now = max(self.now, opens)
            window = self.engine.open_next(self.now)
            assert window is not None
            self.opened(window)
            if window.read is not None and at_once:
                self.end(self.flights.pop(), Response(Verdict.AVAILABLE, "sha256:one"))
        self.now = end

    @rule(milliseconds=st.integers(0, 100_000))
    def stall(self, milliseconds: int) -> None:
        self.now += milliseconds * SECOND // 1000
        for window in self.engine.open(self.now):
            self.opened(window)

    @precondition(lambda self: self.flights)
    @rule(
        which=st.integers(0, 3),
        verdict=st.sampled_from(Verdict),
        digest=st.sampled_from(["sha256:one", "sha256:one", "sha256:two"]),
        retry_after=st.none() | st.integers(0, 60),
        failure=st.sampled_from([None, None, "PushFailed"]),
    )
    def end_a_read(
        self, which: int, verdict: Verdict, digest: str, retry_after: int | None, failure: str | None
    ) -> None:
        read = self.flights.pop(which % len(self.flights))
        hold = None if retry_after is None else retry_after * SECOND
        failure = failure if read.operation is COPY else None
        found = digest if verdict is Verdict.AVAILABLE else None
        self.end(read, Response(verdict, found, hold, failure=failure))

    @precondition(lambda self: self.flights)
    @rule(which=st.integers(0, 3))
    def withdraw_a_read(self, which: int) -> None:
        read = self.flights.pop(which % len(self.flights))
        before = self.engine.statuses()
        self.engine.withdrawn(read, self.now)
        assert before == self.engine.statuses()

    @rule(changed=resources)
    def swap_the_plan(self, changed: dict[str, Any]) -> None:
        self.resources = changed
        self.apply({})
        self.scan()

    @rule(changed=configurations)
    def reload_the_configuration(self, changed: dict[str, Any]) -> None:
        self.configuration = changed
        self.apply({})
        self.scan()

    @rule(host=st.sampled_from(HOSTS), name=st.sampled_from("abcdef"))
    def lose_a_copy(self, host: str, name: str) -> None:
        image = f"{host}/library/{name}:1"
        self.present[host].pop(image, None)
        laps = self.engine.vanished(MIRROR, image, self.now)
        self.fit()
        self.end_laps(laps)

    @rule(with_status=st.booleans(), down=st.integers(0, 100))
    def restart(self, with_status: bool, down: int) -> None:
        records = self.statuses_at(self.wall - self.now) if with_status else {}
        self.die(down, records)

    @rule(down=st.integers(15, 100))
    def lose_leadership(self, down: int) -> None:
        in_flight = self.engine.resign()
        assert {*in_flight} == {*self.flights}
        assert self.engine.next_opening() is None
        assert [] == self.engine.open(self.now + HOUR)
        self.die(down, self.statuses_at(self.wall - self.now))

    @rule(seconds=st.integers(-(10**6), 10**6))
    def step_the_wall_clock(self, seconds: int) -> None:
        self.wall += seconds * SECOND

    def statuses_at(self, offset: int) -> dict[str, Record]:
        """Write status in wall times and read it back, as a file does."""
        written = {
            owner: (
                [(ring, (ring.cycle_started or 0) + offset) for ring in status.rings],
                [(f, f.last_attempt + offset) for queue in status.queues for f in queue.failed],
            )
            for owner, status in self.engine.statuses().items()
        }
        return {
            owner: Record(
                tuple(replace(ring, cycle_started=wall - offset) for ring, wall in rings),
                tuple(replace(failure, last_attempt=wall - offset) for failure, wall in failures),
            )
            for owner, (rings, failures) in written.items()
        }

    def die(self, down: int, records: dict[str, Record]) -> None:
        self.now += down * SECOND
        if not records:
            self.rings.clear()
            self.failed.clear()
        self.lead(records)

    # what must hold

    def opened(self, window: Window) -> None:
        anchor, interval = self.anchors[window.host, window.operation]
        assert window.opens == anchor + window.number * interval
        if window.operation is COPY:
            self.check_failed_copies_delay_nobody(window)
        for visit in window.visits:
            self.check_reuse(window, visit)
            assert self.next_of(self.rings[visit.owner, window.host]) == visit.image
            self.visited(visit, window.host, window.opens, window.laps)
        if window.read is None:
            assert Outcome.USED is not window.outcome
            return
        # no image starts before a full interval after its series' anchor
        assert anchor + interval <= window.opens <= self.now
        # no window takes two images
        taken = (window.host, window.operation, anchor, window.number)
        assert taken not in self.taken
        self.taken.add(taken)
        if window.operation is CHECK:
            assert self.next_of(self.rings[window.read.owner, window.host]) == window.read.image
        # one at a time
        assert not [r for r in self.flights if (r.host, r.operation) == (window.host, window.operation)]
        self.flights.append(window.read)

    def check_failed_copies_delay_nobody(self, window: Window) -> None:
        pending = [i for i in self.wanted(MIRROR, window.host) if i not in self.present[window.host]]
        fresh = [image for image in pending if image not in self.failed]
        if window.read is not None and window.read.image in self.failed:
            ended, attempts = self.failed[window.read.image]
            assert [] == fresh
            assert ended + min(RETRY * 2 ** (attempts - 1), 4 * RETRY) <= window.opens
        if window.outcome is Outcome.IDLE:
            assert [] == fresh

    def check_reuse(self, window: Window, visit: Visit) -> None:
        """A reused response is newer than the owner's previous visit."""
        ring = self.rings[visit.owner, window.host]
        assert (visit.image, visit.asked) in self.answered
        assert ring.last.get(visit.image, ring.started) < visit.asked <= window.opens

    def end(self, read: Read, response: Response) -> None:
        ended = self.engine.finished(read, response, self.now)
        if read.operation is CHECK and response.verdict is not Verdict.QUOTA_EXCEEDED:
            self.answered.add((read.image, read.opens))
        if ended.visit is not None:
            self.visited(ended.visit, read.host, read.opens, ended.laps)
        elif read.operation is COPY and read.image in self.wanted(MIRROR, read.host):
            if response.verdict is Verdict.AVAILABLE and response.failure is None:
                self.present[read.host][read.image] = response.digest or ""
                self.failed.pop(read.image, None)
                self.fit()
            elif read.image not in self.present[read.host] or read.image in self.failed:
                _, attempts = self.failed.get(read.image, (0, 0))
                self.failed[read.image] = (self.now, attempts + 1)
            else:
                self.failed[read.image] = (self.now, 1)
        try:
            self.engine.finished(read, response, self.now)
        except UnknownRead:
            pass
        else:
            raise AssertionError("a read has ended twice")

    def visited(self, visit: Visit, host: str, opens: int, laps: tuple[Lap, ...]) -> None:
        ring = self.rings[visit.owner, host]
        ring.cursor = visit.image
        ring.seen.add(visit.image)
        ring.last[visit.image] = opens
        if visit.image == ring.images[-1]:
            (lap,) = (lap for lap in laps if lap.owner == visit.owner)
            assert (ring.started, opens) == (lap.started, lap.ended)
            self.end_lap(ring, opens)

    def next_of(self, ring: RingModel) -> str:
        """The successor of the cursor (R2), or the first of the ring when a lap begins (R4)."""
        greater = (image for image in ring.images if ring.seen and ring.cursor is not None and image > ring.cursor)
        return next(greater, ring.images[0])

    def end_laps(self, laps: tuple[Lap, ...]) -> None:
        """End the laps whose last images have gone, those of no length included."""
        told = {(lap.owner, lap.host): lap for lap in laps}
        for place, ring in self.rings.items():
            if ring.seen and ring.cursor is not None and ring.cursor >= ring.images[-1]:
                lap = told.pop(place, None)
                ended = max(ring.last.values(), default=self.now) if lap is None else lap.ended
                assert lap is None or lap.started == ring.started < ended
                self.end_lap(ring, ended)
        assert {} == told

    def end_lap(self, ring: RingModel, ended: int) -> None:
        # every image that is in a ring from one end of lap to the next is visited in between
        assert ring.stayed <= ring.seen
        ring.started, ring.seen, ring.stayed = ended, set(), set(ring.images)

    @invariant()
    def a_series_whose_interval_did_not_change_keeps_its_grid(self) -> None:
        for series in self.engine.series(self.now):
            assert self.anchors[series.host, series.operation] == (series.anchor, series.interval)
            assert series.opens == series.anchor + series.number * series.interval
            assert series.number >= 1

    @invariant()
    def no_cursor_moves_except_by_a_visit(self) -> None:
        found = {
            (owner, ring.registry): (ring.cursor, ring.images, ring.checked > 0)
            for owner, status in self.engine.statuses().items()
            for ring in status.rings
        }
        model = {place: (ring.cursor, len(ring.images), bool(ring.seen)) for place, ring in self.rings.items()}
        assert model == found

    def teardown(self) -> None:
        """Memory returns to its start when everything is removed (the anchors of hosts aside)."""
        if not hasattr(self, "engine"):
            return
        self.engine.apply(Plan(), self.now)
        for read in self.engine.resign():
            self.engine.finished(read, Response(Verdict.AVAILABLE), self.now)
        assert {} == self.engine.statuses()
        for host in self.engine._hosts.values():
            sizes = [host.rings, host.queues, host.checks.answers.wanted, host.checks.answers.kept]
            assert not any(chain(sizes, [host.checks.takers, host.copies.takers]))
            assert (None, None, None) == (host.checks._ring, host.copies._queue, host.checks.reading)
        assert not self.engine._memory.scanned


Pacing.TestCase.settings = settings(stateful_step_count=40)
TestPacing = Pacing.TestCase


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
