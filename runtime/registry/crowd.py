"""Several at once, but never more than so many."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

__all__ = ["at_once"]

T = TypeVar("T")


async def at_once(limit: int, items: Iterable[T], work: Callable[[T], Awaitable[None]]) -> None:
    """Work on every item, on up to ``limit`` of them at a time; items are taken as places come free.

    The first failure cancels the others, and is raised when they have ended.
    """
    waiting = iter(items)

    async def take_in_turn() -> None:
        for item in waiting:
            await work(item)

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(limit):
                group.create_task(take_in_turn())
    except BaseExceptionGroup as failures:
        raise _first(failures) from None


def _first(failure: BaseException) -> BaseException:
    while isinstance(failure, BaseExceptionGroup):
        failure = failure.exceptions[0]
    return failure
