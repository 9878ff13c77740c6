"""Status is written seldom, late, whole, and not once more than needed."""

import asyncio
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

from compiler.duration import MILLISECOND, SECOND
from runtime.clock import loop_clock
from runtime.cluster.errors import Unavailable
from runtime.limiters import ItemExponentialFailure
from runtime.reconcile.loop import ReconcileLoop
from runtime.reconcile.queue import WorkQueue
from runtime.reconcile.status import StatusWriter

Run = Callable[[Any], Any]
OWNER = "ImageMonitor/all"


class Shelf:
    """A cluster as far as the writer sees it, which notes what is written and when."""

    def __init__(self, spacing: int = 5 * SECOND) -> None:
        self.status_spacing = spacing
        self.writes = list[tuple[int, str, Mapping[str, Any]]]()
        self.present: dict[str, Mapping[str, Any]] = {OWNER: {"n": 0}}
        self.failures = 0
        self.gone = set[str]()
        self._start = loop_clock()
        limiter = ItemExponentialFailure(5 * MILLISECOND, 1000 * SECOND)
        self.queue = WorkQueue(limiter)
        self.writer = StatusWriter(self, self.queue, self.present.get)  # type: ignore[arg-type]
        self.loop = asyncio.create_task(ReconcileLoop(self.queue, self.writer.reconcile).run())

    async def write_status(self, owner: str, status: Mapping[str, Any]) -> bool:
        await asyncio.sleep(0.1)
        if self.failures:
            self.failures -= 1
            raise Unavailable("busy")
        if owner in self.gone:
            return False
        self.writes.append((loop_clock() - self._start, owner, status))
        return True

    def change(self, n: int, owner: str = OWNER) -> None:
        self.present[owner] = {"n": n}
        self.writer.touch(owner)


def test_many_changes_are_one_write_in_five_seconds_and_the_last_is_written(in_virtual_time: Run) -> None:
    async def scenario() -> list[tuple[int, str, Mapping[str, Any]]]:
        shelf = Shelf()
        for n in range(100):
            shelf.change(n)
            await asyncio.sleep(0.1)
        await asyncio.sleep(60)
        return shelf.writes

    writes = in_virtual_time(scenario())

    assert 3 == len(writes)
    assert all(later[0] - earlier[0] >= 5 * SECOND for earlier, later in pairwise(writes))
    assert {"n": 99} == writes[-1][2]


def test_what_did_not_change_is_not_written_again(in_virtual_time: Run) -> None:
    async def scenario() -> int:
        shelf = Shelf()
        for _ in range(10):
            shelf.change(7)
            await asyncio.sleep(10)
        return len(shelf.writes)

    assert 1 == in_virtual_time(scenario())


def test_failed_write_is_tried_again_with_what_is_present_then(in_virtual_time: Run) -> None:
    async def scenario() -> list[Mapping[str, Any]]:
        shelf = Shelf()
        shelf.failures = 3
        shelf.change(1)
        await asyncio.sleep(0.15)
        shelf.present[OWNER] = {"n": 2}
        await asyncio.sleep(60)
        return [status for _, _, status in shelf.writes]

    assert [{"n": 2}] == in_virtual_time(scenario())


def test_resource_that_is_gone_is_no_error_and_forgotten(in_virtual_time: Run) -> None:
    async def scenario() -> tuple[int, int]:
        shelf = Shelf()
        shelf.gone.add(OWNER)
        shelf.change(1)
        await asyncio.sleep(60)
        gone = len(shelf.writes)
        shelf.gone.clear()
        shelf.writer.touch(OWNER)
        await asyncio.sleep(60)
        return gone, len(shelf.writes)

    assert (0, 1) == in_virtual_time(scenario())


def test_flush_writes_at_once_what_waits_for_its_time(in_virtual_time: Run) -> None:
    async def scenario() -> None:
        shelf = Shelf()
        shelf.change(1)
        await asyncio.sleep(1)
        shelf.change(2)
        shelf.failures = 2
        start = loop_clock()

        assert await shelf.writer.flush(20 * SECOND)
        assert loop_clock() - start < SECOND
        assert [{"n": 1}, {"n": 2}] == [status for _, _, status in shelf.writes]
        await shelf.loop

    in_virtual_time(scenario())


def test_flush_gives_up_in_time_when_the_server_does_not_answer(in_virtual_time: Run) -> None:
    async def scenario() -> None:
        shelf = Shelf()
        shelf.failures = 10**9
        shelf.change(1)
        start = loop_clock()

        assert not await shelf.writer.flush(20 * SECOND)
        assert loop_clock() - start <= 20 * SECOND
        await shelf.loop

    in_virtual_time(scenario())


def test_flush_with_nothing_to_write_ends_at_once(in_virtual_time: Run) -> None:
    async def scenario() -> None:
        shelf = Shelf()

        assert await shelf.writer.flush(20 * SECOND)
        await shelf.loop

    in_virtual_time(scenario())
