"""A stream of changes in which a flood of events is one change."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any, Final

from compiler.duration import MILLISECOND, SECOND, Nanoseconds
from runtime.cluster.port import Topic

__all__ = ["COALESCED_FOR", "Feed"]

COALESCED_FOR: Final = 200 * MILLISECOND
"""Page 3, "The controller"."""


class Feed:
    """Collects what changed until the reader comes back for it.

    Args:
        coalesced_for: how long a change waits for others; never longer, however many come.
    """

    def __init__(self, coalesced_for: Nanoseconds = COALESCED_FOR) -> None:
        self._coalesced_for = coalesced_for
        self._topics = set[Topic]()
        self._changed = asyncio.Event()
        self._error: BaseException | None = None

    def follow(self, work: asyncio.Future[Any]) -> None:
        """End for the reader with the error, if any, with which the work ends that notes the changes.

        It was meant to go on: a reader that waited for its changes would wait for ever, and nobody would know.
        """
        work.add_done_callback(self._ended)

    def _ended(self, work: asyncio.Future[Any]) -> None:
        if not work.cancelled():
            self._error = work.exception()
            self._changed.set()

    def note(self, topic: Topic) -> None:
        """Note a change."""
        self._topics.add(topic)
        self._changed.set()

    def clear(self) -> None:
        """Forget what was noted: whoever begins to look sees it anyway."""
        self._topics.clear()
        if self._error is None:
            self._changed.clear()

    async def changes(self) -> AsyncIterator[frozenset[Topic]]:
        """Give what was noted since the last time, as often as something was.

        Raises:
            Exception: that of the work which is followed.
        """
        while True:
            await self._changed.wait()
            if self._error is not None:
                raise self._error
            await asyncio.sleep(self._coalesced_for / SECOND)
            topics = frozenset(self._topics)
            self.clear()
            yield topics
