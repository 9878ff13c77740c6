"""What the pacing engine costs: per window beside a bare heapq loop, per ring entry in memory, per swap of a plan.

``python bench/engine.py`` prints it. Times are CPU time, so that a busy machine doesn't show; what is compared runs by
turns, and a ratio is the median of the ratios of neighbours.
"""

from __future__ import annotations

import gc
import random
import sys
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from heapq import heapify, heapreplace
from pathlib import Path
from statistics import median
from time import process_time
from typing import Final

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from compiler.duration import HOUR, MINUTE, SECOND
from compiler.plan import CheckSeries, CopySeries, HostPlan, Plan, Ring
from runtime.pacing import Engine, Response, Verdict
from runtime.simulation import Simulation, Situation, forecast

AVAILABLE: Final = Response(Verdict.AVAILABLE, f"sha256:{'0' * 64}")
HOSTS, OWNERS = 100, 10
WINDOWS, ROUNDS = 50_000, 9
SHARES: Final = {"every owner its own images": 0.0, "half of them shared": 0.5, "all of them shared": 1.0}


def main() -> None:
    """Print the tables."""
    print(f"\n{HOSTS} hosts with {OWNERS} owners each; the median of {ROUNDS} rounds of {WINDOWS:,} windows\n")
    print(f"{'rings':<28}{'entries':>10}{'a window':>12}{'heapq':>10}{'ratio':>8}{'visits a window':>18}")
    for title, share in SHARES.items():
        times = {size: _windows(title, size, share) for size in (2, 100, 1000)}
        print(f"{'':<28}from 2,000 to 1,000,000 entries: {times[1000] / times[2]:.2f} times as long")
    print()
    for title, share in SHARES.items():
        _memory(title, share)
    print()
    _swaps()
    _idle()
    _month()
    _forecast()


def make_plan(size: int, share: float, hosts: int = HOSTS, owners: int = OWNERS) -> Plan:
    """Make a plan whose rings have ``size`` images each, a share of them the same for all owners of a host."""
    common = round(size * share)
    made = []
    for h in range(hosts):
        name = f"registry-{h:03}.example.com"
        same = [f"{name}/common/image-{i:04}:1.2.3" for i in range(common)]
        rings = []
        for o in range(owners):
            own = (f"{name}/team-{o:02}/image-{i:04}:1.2.3" for i in range(size - common))
            rings.append(Ring(f"ImageMonitor/m{o:02}", (*same, *own)))
        # seven paces, so that the series don't all open together
        check, copy = (1 + h % 7) * 10 * SECOND, (1 + h % 7) * MINUTE
        made.append(HostPlan(name, CheckSeries(check, 0, "", tuple(rings)), CopySeries(copy, 0, "")))
    return Plan(tuple(made))


def drive(engine: Engine, windows: int) -> int:
    """Open windows and end their reads at once; count the visits."""
    visits = 0
    for _ in range(windows):
        window = engine.open_next(engine.next_opening() or 0)
        if window is not None:
            visits += len(window.visits)
            if window.read is not None:
                visits += 1
                engine.finished(window.read, AVAILABLE, window.opens)
    return visits


def loop_over_a_heap(plan: Plan, windows: int) -> None:
    """Do with nothing but a heap what says when the next window opens."""
    intervals = [i for h in plan.hosts for i in (h.check.interval, h.copy.interval)]
    heap = [(interval, rank) for rank, interval in enumerate(intervals)]
    heapify(heap)
    for _ in range(windows):
        opens, rank = heap[0]
        heapreplace(heap, (opens + intervals[rank], rank))


def _timed(work: Callable[[], object]) -> float:
    gc.collect()
    start = process_time()
    work()
    return process_time() - start


def _windows(title: str, size: int, share: float) -> float:
    plan = make_plan(size, share)
    engine = Engine(0)
    engine.apply(plan, 0)
    visits = drive(engine, 4 * WINDOWS)
    ours, bare = [], []
    for _ in range(ROUNDS):
        ours.append(_timed(lambda: drive(engine, WINDOWS)))
        bare.append(_timed(lambda: loop_over_a_heap(plan, WINDOWS)))
    ratio = median(o / b for o, b in zip(ours, bare, strict=True))
    print(
        f"{title:<28}{size * HOSTS * OWNERS:>10,}{median(ours) / WINDOWS * 1e6:>9.2f} µs"
        f"{median(bare) / WINDOWS * 1e6:>7.2f} µs{ratio:>8.1f}{visits / WINDOWS / 4:>18.1f}"
    )
    return median(ours)


def _memory(title: str, share: float) -> None:
    plan = make_plan(1000, share)
    entries = sum(len(ring.images) for host in plan.hosts for ring in host.check.rings)
    gc.collect()
    tracemalloc.start()
    engine = Engine(0)
    engine.apply(plan, 0)
    applied = tracemalloc.get_traced_memory()[0]
    drive(engine, 4 * WINDOWS)
    gc.collect()
    driven = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    print(
        f"memory a ring entry beside its reference, {title}: {applied / entries:.0f} bytes, "
        f"{driven / entries:.0f} after {4 * WINDOWS:,} windows"
    )


def _swaps() -> None:
    plan, engine = make_plan(1000, 0.5), Engine(0)
    print(f"the first plan, 1,000,000 entries: {_timed(lambda: engine.apply(plan, 0)) * 1e3:.0f} ms")
    same = replace(plan)
    print(f"a swap for the same hosts: {_timed(lambda: engine.apply(same, 1)) * 1e3:.2f} ms")
    equal = make_plan(1000, 0.5)
    print(f"a swap for an equal plan of other objects: {_timed(lambda: engine.apply(equal, 2)) * 1e3:.0f} ms")
    first = equal.hosts[0]
    shorter = replace(first.check.rings[0], images=first.check.rings[0].images[:-1])
    changed = replace(first, check=replace(first.check, rings=(shorter, *first.check.rings[1:])))
    other = replace(equal, hosts=(changed, *equal.hosts[1:]))
    print(f"a swap that changes one ring of 1,000 images: {_timed(lambda: engine.apply(other, 3)) * 1e3:.2f} ms")


def _idle() -> None:
    names = (f"h{h:05}.example.com" for h in range(10_000))
    hosts = tuple(HostPlan(n, CheckSeries(30 * SECOND, 0, ""), CopySeries(3 * MINUTE, 0, "")) for n in names)
    engine = Engine(0)
    engine.apply(Plan(hosts), 0)
    spent = _timed(lambda: [engine.open(second * SECOND) for second in range(1, 601)])
    print(f"10,000 hosts at 30s with nothing to read: {spent / 600:.2%} of a core")


def _month() -> None:
    plan = make_plan(50, 0.5, hosts=5, owners=3)
    plan = replace(plan, hosts=tuple(replace(h, check=replace(h.check, interval=MINUTE)) for h in plan.hosts))
    lines = 0

    def run() -> None:
        nonlocal lines
        lines = sum(1 for _ in Simulation(Situation(plan)).run(30 * 24 * HOUR))

    spent = _timed(run)
    print(
        f"30 days of 5 hosts at 1m in the simulation: {spent:.1f} s, {lines:,} lines; a year {spent * 365 / 30:.0f} s"
    )


def _forecast() -> None:
    draw = random.Random(1)
    hosts = []
    for h, size in enumerate([600, 300, 200] + [53] * 17):
        images = [f"h{h}.example.com/app-{i:04}:1" for i in range(size)]
        rings = tuple(
            Ring(f"ImageMonitor/m{o}", tuple(sorted(draw.sample(images, 1 + int(size * draw.random() * 0.9)))))
            for o in range(OWNERS)
        )
        hosts.append(HostPlan(f"h{h}.example.com", CheckSeries(MINUTE, 0, "", rings), CopySeries(HOUR, 0, "")))
    plan = Plan(tuple(hosts))
    print(f"forecasts of 2,000 images, 10 owners, 20 hosts: {_timed(lambda: forecast(plan)):.2f} s")


if __name__ == "__main__":
    main()
