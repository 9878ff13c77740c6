"""The stream of changes: what its reader learns of those who note them."""

from __future__ import annotations

import asyncio

import pytest

from runtime.cluster.feed import Feed
from runtime.cluster.port import Topic


def test_a_flood_is_one_change() -> None:
    async def act() -> None:
        feed = Feed(coalesced_for=0)
        for _ in range(1000):
            feed.note(Topic.WORKLOADS)
        feed.note(Topic.RESOURCES)
        assert {Topic.WORKLOADS, Topic.RESOURCES} == await anext(feed.changes())

    asyncio.run(act())


def test_work_that_ends_is_no_silence_to_who_waits_for_its_changes() -> None:
    async def work(feed: Feed) -> None:
        feed.note(Topic.WORKLOADS)
        await asyncio.sleep(0)
        raise RuntimeError("a mistake of ours")

    async def act() -> None:
        feed = Feed(coalesced_for=0)
        feed.follow(asyncio.ensure_future(work(feed)))
        changes = feed.changes()
        await anext(changes)
        feed.clear()
        with pytest.raises(RuntimeError, match="a mistake of ours"):
            await anext(changes)

    asyncio.run(act())


def test_work_that_is_cancelled_ends_nothing() -> None:
    async def act() -> None:
        feed = Feed(coalesced_for=0)
        work = asyncio.ensure_future(asyncio.Event().wait())
        feed.follow(work)
        work.cancel()
        await asyncio.wait([work])
        feed.note(Topic.SECRETS)
        assert {Topic.SECRETS} == await anext(feed.changes())

    asyncio.run(act())
