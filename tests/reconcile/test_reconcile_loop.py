"""What each outcome of a reconcile leads to, on virtual time."""

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from compiler.duration import MILLISECOND, MINUTE, SECOND
from runtime.clock import loop_clock
from runtime.cluster.errors import ClusterError, Conflict, Unavailable
from runtime.limiters import InvalidLimiter, ItemExponentialFailure
from runtime.reconcile.keys import Key
from runtime.reconcile.limits import LimiterByKind
from runtime.reconcile.loop import ReconcileLoop
from runtime.reconcile.queue import WorkQueue

Run = Callable[[Any], Any]
A, B = Key("ImageMonitor", "a"), Key("ImageMirror", "b")


class Script:
    """A reconcile that does what it is told, one outcome after another, then succeeds."""

    def __init__(self, *outcomes: Exception | int | None) -> None:
        self._outcomes = list(outcomes)
        self.at = list[int]()
        self._start: int | None = None

    async def __call__(self, _: Key) -> int | None:
        self._start = loop_clock() if self._start is None else self._start
        self.at.append(loop_clock() - self._start)
        outcome = self._outcomes.pop(0) if self._outcomes else None
        if isinstance(outcome, Exception):
            raise outcome
        return outcome


async def reconciled(script: Script, seconds: float) -> tuple[ReconcileLoop, WorkQueue]:
    """Add a key, and let the loop run for so long."""
    queue = WorkQueue(ItemExponentialFailure(5 * MILLISECOND, 1000 * SECOND))
    loop = ReconcileLoop(queue, script)
    queue.add(A)
    running = asyncio.create_task(loop.run())
    await asyncio.sleep(seconds)
    await queue.drain()
    await running
    return loop, queue


def test_success_is_not_repeated_and_forgets_failures(in_virtual_time: Run) -> None:
    script = Script(ClusterError("no"), ClusterError("no"))

    loop, queue = in_virtual_time(reconciled(script, 3600))

    assert [0, 5 * MILLISECOND, 15 * MILLISECOND] == script.at
    assert 0 == queue.num_requeues(A)
    assert {("ImageMonitor", "error"): 2, ("ImageMonitor", "success"): 1} == loop.measures.results
    assert {A: 2} == loop.measures.requeues


def test_wish_to_come_back_is_granted_and_is_no_failure(in_virtual_time: Run) -> None:
    script = Script(ClusterError("no"), MINUTE)

    loop, queue = in_virtual_time(reconciled(script, 3600))

    assert [0, 5 * MILLISECOND, MINUTE + 5 * MILLISECOND] == script.at
    assert 0 == queue.num_requeues(A)
    assert 1 == loop.measures.results["ImageMonitor", "requeue_after"]


def test_retry_after_of_the_server_is_kept_to(in_virtual_time: Run) -> None:
    script = Script(Unavailable("429", 20 * SECOND), Unavailable("503"))

    in_virtual_time(reconciled(script, 3600))

    assert [0, 20 * SECOND, 20 * SECOND + 10 * MILLISECOND] == script.at


def test_conflict_is_tried_again_at_once_five_times(in_virtual_time: Run) -> None:
    script = Script(*[Conflict("changed")] * 6)

    loop, _ = in_virtual_time(reconciled(script, 3600))

    assert [0] * 6 + [5 * MILLISECOND] == script.at
    assert 1 == loop.measures.results["ImageMonitor", "error"]


def test_mistake_of_ours_stops_nothing(in_virtual_time: Run, caplog: pytest.LogCaptureFixture) -> None:
    script = Script(KeyError("oops"))

    in_virtual_time(reconciled(script, 3600))

    assert [0, 5 * MILLISECOND] == script.at
    assert ["reconcile failed unexpectedly"] == [record.message for record in caplog.records]


def test_key_is_never_reconciled_twice_at_a_time_whatever_the_workers(in_virtual_time: Run) -> None:
    async def scenario() -> int:
        queue = WorkQueue(ItemExponentialFailure(5 * MILLISECOND, 1000 * SECOND))
        at_work, most = Counter[Key](), 0

        async def reconcile(key: Key) -> None:
            nonlocal most
            at_work[key] += 1
            most = max(most, at_work[key])
            await asyncio.sleep(1)
            at_work[key] -= 1

        running = asyncio.create_task(ReconcileLoop(queue, reconcile).run(workers=4))
        for _ in range(20):
            queue.add(A)
            queue.add(B)
            await asyncio.sleep(0.3)
        await queue.drain()
        await running
        return most

    assert 1 == in_virtual_time(scenario())


def test_kinds_have_limiters_of_their_own() -> None:
    limiter = LimiterByKind(lambda: 0)
    limiter.configure(None, {"ImageMirror": {"type": "ItemFastSlow", "fast": "1s", "slow": "1m", "attempts": 2}})

    assert [5 * MILLISECOND, 10 * MILLISECOND] == [limiter.when(A), limiter.when(A)]
    assert [SECOND, SECOND, MINUTE] == [limiter.when(B), limiter.when(B), limiter.when(B)]


def test_limiter_that_stays_the_same_in_a_reload_keeps_its_counts() -> None:
    mirror = {"type": "ItemFastSlow", "fast": "1s", "slow": "1m", "attempts": 2}
    limiter = LimiterByKind(lambda: 0)
    limiter.configure(None, {"ImageMirror": mirror})
    limiter.when(A)
    limiter.when(B)

    limiter.configure(
        {"type": "ItemExponentialFailure", "baseDelay": "1s", "maxDelay": "1h"}, {"ImageMirror": {**mirror}}
    )

    assert (0, 1) == (limiter.num_requeues(A), limiter.num_requeues(B))
    assert SECOND == limiter.when(A)


def test_invalid_limiter_changes_nothing() -> None:
    limiter = LimiterByKind(lambda: 0)
    limiter.when(A)

    with pytest.raises(InvalidLimiter, match=r"perKind\.ImageMirror\.type"):
        limiter.configure({"type": "Bucket", "rate": 1, "burst": 1}, {"ImageMirror": {"type": "Oops"}})

    assert 10 * MILLISECOND == limiter.when(A)
