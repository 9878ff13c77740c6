"""The queue's semantics, which are client-go's."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compiler.duration import HOUR, MILLISECOND, SECOND
from runtime.clock import loop_clock
from runtime.limiters import ItemExponentialFailure
from runtime.reconcile.keys import Key
from runtime.reconcile.queue import WorkQueue
from tests.reconcile.conftest import VirtualTimeLoop

Run = Callable[[Any], Any]
A, B, C = (Key("ImageMonitor", name) for name in "abc")


def a_queue() -> WorkQueue:
    return WorkQueue(ItemExponentialFailure(5 * MILLISECOND, 1000 * SECOND))


async def taken(queue: WorkQueue) -> list[Key]:
    """Take and end everything that waits."""
    keys = []
    while len(queue):
        key = await queue.get()
        assert key is not None
        keys.append(key)
        queue.done(key)
    return keys


def test_keys_are_handed_out_in_the_order_in_which_they_came(in_virtual_time: Run) -> None:
    async def scenario() -> None:
        queue = a_queue()
        for key in (B, A, C):
            queue.add(key)

        assert [B, A, C] == await taken(queue)

    in_virtual_time(scenario())


def test_key_that_waits_is_there_once(in_virtual_time: Run) -> None:
    async def scenario() -> None:
        queue = a_queue()
        for key in (A, B, A, A):
            queue.add(key)

        assert [A, B] == await taken(queue)

    in_virtual_time(scenario())


def test_key_added_while_in_work_comes_again_after_done(in_virtual_time: Run) -> None:
    async def scenario() -> None:
        queue = a_queue()
        queue.add(A)
        await queue.get()
        queue.add(A)
        queue.add(A)
        queue.add(B)

        assert 1 == len(queue), "only b can be handed out"
        queue.done(A)
        assert [B, A] == await taken(queue)

    in_virtual_time(scenario())


def test_get_waits_for_a_key(in_virtual_time: Run) -> None:
    async def scenario() -> None:
        queue = a_queue()
        asyncio.get_running_loop().call_later(3, queue.add, A)

        assert await queue.get() == A

    in_virtual_time(scenario())


def test_of_two_delays_for_one_key_the_earlier_wins(in_virtual_time: Run) -> None:
    async def scenario() -> tuple[int, Key | None]:
        queue, start = a_queue(), loop_clock()
        queue.add_after(A, 10 * SECOND)
        queue.add_after(A, 2 * SECOND)
        queue.add_after(A, 5 * SECOND)
        first = await queue.get()
        assert first is not None
        queue.done(first)
        took = loop_clock() - start
        await asyncio.sleep(3600)

        assert 0 == len(queue), "the later delays are gone"
        return took, first

    assert (2 * SECOND, A) == in_virtual_time(scenario())


@pytest.mark.parametrize("delay", [0, -1, -HOUR])
def test_delay_of_nothing_adds_at_once(in_virtual_time: Run, delay: int) -> None:
    async def scenario() -> None:
        queue = a_queue()
        queue.add_after(A, delay)

        assert 1 == len(queue)

    in_virtual_time(scenario())


def test_failures_of_a_key_delay_it_more_and_more_until_forgotten(in_virtual_time: Run) -> None:
    async def scenario() -> list[int]:
        queue, delays = a_queue(), []
        for forget in (False, False, True, False):
            if forget:
                queue.forget(A)
            start = loop_clock()
            queue.add_rate_limited(A)
            await queue.get()
            queue.done(A)
            delays.append(loop_clock() - start)
        assert 2 == queue.num_requeues(A)
        assert 0 == queue.num_requeues(B)
        return delays

    expected = [5 * MILLISECOND, 10 * MILLISECOND, 5 * MILLISECOND, 10 * MILLISECOND]
    assert expected == in_virtual_time(scenario())


def test_server_that_asks_for_more_than_the_limiter_gets_it(in_virtual_time: Run) -> None:
    async def scenario() -> int:
        queue, start = a_queue(), loop_clock()
        queue.add_rate_limited(A, at_least=30 * SECOND)
        await queue.get()
        return loop_clock() - start

    assert 30 * SECOND == in_virtual_time(scenario())


def test_shut_down_hands_out_what_waits_and_takes_nothing_more(in_virtual_time: Run) -> None:
    async def scenario() -> None:
        queue = a_queue()
        queue.add(A)
        queue.add_after(B, SECOND)
        queue.shut_down()
        queue.add(C)

        assert await queue.get() == A
        assert await queue.get() is None

    in_virtual_time(scenario())


def test_drain_waits_for_what_is_in_work_and_for_what_came_meanwhile(in_virtual_time: Run) -> None:
    async def scenario() -> None:
        queue = a_queue()
        queue.add(A)
        await queue.get()
        queue.add(A)
        draining = asyncio.create_task(queue.drain())
        await asyncio.sleep(5)
        assert not draining.done(), "a is in work"
        queue.done(A)
        await asyncio.sleep(5)
        assert not draining.done(), "a came again"

        assert await queue.get() == A
        queue.done(A)
        await draining

    in_virtual_time(scenario())


def test_every_getter_ends_when_the_queue_is_shut_down(in_virtual_time: Run) -> None:
    async def scenario() -> list[Key | None]:
        queue = a_queue()
        getters = [asyncio.create_task(queue.get()) for _ in range(3)]
        await asyncio.sleep(1)
        queue.shut_down()
        return await asyncio.gather(*getters)

    assert [None, None, None] == in_virtual_time(scenario())


def test_measures_say_what_happened_under_the_usual_names(in_virtual_time: Run) -> None:
    async def scenario() -> None:
        queue = a_queue()
        queue.add(A)
        queue.add(A)
        queue.add(B)
        queue.add_after(C, SECOND)
        await asyncio.sleep(2)
        await queue.get()
        await asyncio.sleep(3)
        values = {family.name: family.samples[0][1] for family in queue.families()}

        assert 2 == values["workqueue_depth"]
        assert 3 == values["workqueue_adds_total"]
        assert 1 == values["workqueue_retries_total"]
        assert 3.0 == values["workqueue_unfinished_work_seconds"]
        assert 3.0 == values["workqueue_longest_running_processor_seconds"]
        assert 2.0 == values["workqueue_queue_duration_seconds"].total
        queue.done(A)
        worked = {family.name: family.samples[0][1] for family in queue.families()}["workqueue_work_duration_seconds"]
        assert (1, 3.0) == (worked.count, worked.total)

    in_virtual_time(scenario())


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["add", "after", "get", "done", "pass"]), st.sampled_from([A, B, C]), st.integers(0, 9)
        )
    )
)
def test_no_key_is_in_work_twice_and_none_is_lost(steps: list[tuple[str, Key, int]]) -> None:
    async def scenario() -> None:
        queue, in_work, owed = a_queue(), set[Key](), set[Key]()
        for step, key, seconds in steps:
            match step:
                case "add":
                    queue.add(key)
                    owed.add(key)
                case "after":
                    queue.add_after(key, seconds * SECOND)
                    owed.add(key)
                case "get" if len(queue):
                    got = await queue.get()
                    assert got is not None
                    assert got not in in_work
                    in_work.add(got)
                    owed.discard(got)
                case "done" if key in in_work:
                    in_work.discard(key)
                    queue.done(key)
                case "pass":
                    await asyncio.sleep(seconds)
        for key in in_work:
            queue.done(key)
        await asyncio.sleep(10)
        assert owed <= {*await taken(queue)}

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        runner.run(scenario())
