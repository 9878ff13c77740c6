"""What the pacing engine costs: per window beside a bare heapq loop, per ring entry in memory, per swap of a plan.

Run it as ``python bench/engine.py``; every ratio compares two measurements of the same run.
"""

from __future__ import annotations

import gc
import sys
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from heapq import heapify, heapreplace
from pathlib import Path
from statistics import median
from time import perf_counter

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from compiler.duration import MINUTE, SECOND
from compiler.plan import CheckSeries, Copy, CopySeries, HostPlan, Plan, Queue, Ring
from runtime.pacing import Engine, Response, Verdict

AVAILABLE = Response(Verdict.AVAILABLE, "sha256:" + "0" * 64)
HOSTS, OWNERS = 100, 10
WINDOWS = 200_000
ROUNDS = 5


def main() -> None:
    """Print the table."""
    print(f"{HOSTS} hosts with {OWNERS} owners each, {WINDOWS:,} windows, the median of {ROUNDS} rounds\n")
    print(f"{'rings':<34}{'entries':>10}{'a window':>12}{'heapq':>12}{'ratio':>8}{'visits a window':>18}")
    times = {}
    for title, shared in (
        ("every owner its own images", 0.0),
        ("half of them shared", 0.5),
        ("all of them shared", 1.0),
    ):
        for size in (1, 100, 1000):
            times[title, size] = _windows(title, size, shared)
    for title in dict.fromkeys(title for title, _ in times):
        print(f"from 1,000 to 1,000,000 entries, {title}: {times[title, 1000] / times[title, 1]:.2f} times as long")
    print()
    _memory()
    _swaps()
    _idle()


def make_plan(size: int, shared: float, hosts: int = HOSTS, owners: int = OWNERS) -> Plan:
    """Make a plan whose rings have ``size`` images each, a share of them the same for all owners of a host."""
    common = round(size * shared)
    made = []
    for h in range(hosts):
        name = f"registry-{h:03}.example.com"
        same = [f"{name}/common/image-{i:04}:1.2.3" for i in range(common)]
        rings = tuple(
            Ring(
                f"ImageMonitor/m{o:02}",
                (*same, *(f"{name}/team-{o:02}/image-{i:04}:1.2.3" for i in range(size - common))),
            )
            for o in range(owners)
        )
        # seven paces, so that the series don't all open together
        check, copy = (1 + h % 7) * 10 * SECOND, (1 + h % 7) * MINUTE
        made.append(HostPlan(name, CheckSeries(check, 0, "", rings), CopySeries(copy, 0, "")))
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
    start = perf_counter()
    work()
    return perf_counter() - start


def _windows(title: str, size: int, shared: float) -> float:
    plan = make_plan(size, shared)
    engine = Engine(0)
    engine.apply(plan, 0)
    visits = drive(engine, WINDOWS)
    ours, bare = [], []
    for _ in range(ROUNDS):
        ours.append(_timed(lambda: drive(engine, WINDOWS)))
        bare.append(_timed(lambda: loop_over_a_heap(plan, WINDOWS)))
    ratio = median(o / b for o, b in zip(ours, bare, strict=True))
    print(
        f"{title:<34}{size * HOSTS * OWNERS:>10,}{median(ours) / WINDOWS * 1e6:>9.2f} µs"
        f"{median(bare) / WINDOWS * 1e6:>9.2f} µs{ratio:>8.1f}{visits / WINDOWS:>18.1f}"
    )
    return median(ours)


def _memory() -> None:
    for title, shared in (("own images", 0.0), ("half shared", 0.5), ("all shared", 1.0)):
        plan = make_plan(1000, shared)
        entries = sum(len(r.images) for h in plan.hosts for r in h.check.rings)
        gc.collect()
        tracemalloc.start()
        engine = Engine(0)
        engine.apply(plan, 0)
        held = tracemalloc.get_traced_memory()[0]
        drive(engine, WINDOWS)
        gc.collect()
        driven = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
        print(f"memory, {title}: {held / entries:.0f} bytes an entry, {driven / entries:.0f} after {WINDOWS:,}")
    print()


def _swaps() -> None:
    plan = make_plan(1000, 0.5)
    engine = Engine(0)
    print(f"the first plan, 1,000,000 entries: {_timed(lambda: engine.apply(plan, 0)) * 1e3:.0f} ms")
    same = replace(plan)
    print(f"a swap that changes nothing: {_timed(lambda: engine.apply(same, 1)) * 1e3:.2f} ms")
    equal = make_plan(1000, 0.5)
    print(f"a swap for an equal plan of other objects: {_timed(lambda: engine.apply(equal, 2)) * 1e3:.0f} ms")
    first = equal.hosts[0]
    rings = (replace(first.check.rings[0], images=first.check.rings[0].images[:-1]), *first.check.rings[1:])
    other = replace(equal, hosts=(replace(first, check=replace(first.check, rings=rings)), *equal.hosts[1:]))
    print(f"a swap that changes one ring of 1,000: {_timed(lambda: engine.apply(other, 3)) * 1e3:.2f} ms\n")


def _idle() -> None:
    hosts = tuple(
        HostPlan(f"h{h:05}.example.com", CheckSeries(30 * SECOND, 0, ""), CopySeries(3 * MINUTE, 0, ""))
        for h in range(10_000)
    )
    engine = Engine(0)
    engine.apply(Plan(hosts), 0)
    spent = _timed(lambda: [engine.open(second * SECOND) for second in range(1, 601)])
    print(f"10,000 hosts at 30s with nothing to read: {spent / 600:.2%} of a core")
    queued = replace(
        hosts[0],
        copy=replace(hosts[0].copy, queues=(Queue("ImageMirror/m", tuple(Copy(f"i{n}", f"o{n}") for n in range(9))),)),
    )
    engine.apply(Plan((queued, *hosts[1:])), 600 * SECOND)


if __name__ == "__main__":
    main()
