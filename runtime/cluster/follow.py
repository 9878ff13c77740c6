"""Follows the objects of one kind: a list, then a watch, for as long as it is wanted.

Nothing is lost when a watch is cut: it goes on from the last version that was seen, and where the server has forgotten
that version (410) a fresh list takes the place of everything. Nothing is asked in a hot loop either: whatever goes
wrong, the next request waits longer than the one before, until a watch has proved itself by lasting.
"""

from __future__ import annotations

import asyncio
import json
import logging
import operator
import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Generic, TypeVar

from compiler.duration import MILLISECOND, MINUTE, SECOND, Nanoseconds
from runtime.clock import Clock, loop_clock
from runtime.cluster.api import Api, Call
from runtime.cluster.errors import ClusterError, Expired, NotFound, Unavailable, error_of_status
from runtime.limiters import exponential_delay

__all__ = ["Collection", "Follower", "Pace"]

log: Final = logging.getLogger(__name__)

V = TypeVar("V")

PAGE: Final = 100
"""Objects a request of a list: a page of pods is read within a few milliseconds, and windows open in between."""
LONGEST_STRETCH: Final = 5 * MILLISECOND
"""How long events of one chunk may keep the event loop."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How a follower treats the server.

    Attributes:
        first, longest: the delay after a failure, doubling; client-go's reflector has the same.
        lasting: a watch that went on for so long was sound, and the next one may begin at once.
        watch_for: how long the server is asked to keep a watch open.
        silence: after that much of it a connection is dead; servers send a bookmark each minute.
    """

    first: Nanoseconds = 800 * MILLISECOND
    longest: Nanoseconds = 30 * SECOND
    lasting: Nanoseconds = 5 * SECOND
    watch_for: Nanoseconds = 5 * MINUTE
    silence: Nanoseconds = 90 * SECOND


@dataclass(frozen=True, slots=True)
class Collection(Generic[V]):
    """Objects of one kind, and what kuik keeps of each.

    Attributes:
        path: of the API, such as ``/api/v1/pods``.
        read: gives what is kept of an object; None when that is nothing.
        same: whether two values make no difference to anybody; the newer one is kept in any case.
        query: what restricts it, such as a field selector.
        may_be_missing: the kind itself need not be there; then there are no objects of it.
    """

    path: str
    read: Callable[[Mapping[str, Any]], V | None]
    same: Callable[[V, V], bool] = operator.eq
    query: Mapping[str, str] = field(default_factory=dict)
    may_be_missing: bool = False


class Follower(Generic[V]):
    """Keeps the values of a collection up to date.

    Args:
        on_change: called when a value came, changed or went.
    """

    def __init__(
        self,
        api: Api,
        collection: Collection[V],
        on_change: Callable[[], None],
        pace: Pace,
        clock: Clock = loop_clock,
    ) -> None:
        self._api, self._collection, self._on_change = api, collection, on_change
        self._pace, self._clock = pace, clock
        self.values = dict[str, V]()
        self._listed = asyncio.Event()
        self._version: str | None = None
        self._list_wanted = asyncio.Event()
        self._listed_at: Nanoseconds = 0
        self._watching_since: Nanoseconds | None = None
        self._failures = 0
        self._last_logged = ""

    async def synced(self) -> None:
        """Wait until the collection was listed once."""
        await self._listed.wait()

    async def list_again(self, collection: Collection[V]) -> None:
        """Read every object anew, as another collection says, and return when that is done."""
        self._collection = collection
        self._listed.clear()
        self._list_wanted.set()
        await self._listed.wait()

    async def read_once(self) -> Mapping[str, V]:
        """List the collection once, instead of following it; a kind that may be missing and is gives nothing.

        Raises:
            ClusterError: the list could not be read.
        """
        try:
            await self._list()
        except NotFound:
            if not self._collection.may_be_missing:
                raise
        return self.values

    async def run(self) -> None:
        """Follow; never returns."""
        while True:
            turn = asyncio.create_task(self._turn())
            wanted = asyncio.create_task(self._list_wanted.wait())
            try:
                await asyncio.wait({turn, wanted}, return_when=asyncio.FIRST_COMPLETED)
                if self._list_wanted.is_set():
                    self._list_wanted.clear()
                    self._version = None
                else:
                    await turn
            finally:
                turn.cancel()
                wanted.cancel()
                await asyncio.gather(turn, wanted, return_exceptions=True)

    async def _turn(self) -> None:
        """List if need be, watch until that ends, and wait for what that was worth."""
        asked_for = 0
        try:
            if self._version is None:
                await self._list()
            self._watching_since = self._clock()
            await self._watch(self._version or "")
        except Expired:
            self._version = None
            if self._clock() - self._listed_at >= self._pace.lasting:
                return
        except ClusterError as error:
            if isinstance(error, NotFound):
                # the kind is gone; a version of it would mean nothing when it comes back
                self._version = None
            asked_for = error.retry_after if isinstance(error, Unavailable) else 0
            self._log(error)
        except Exception:
            # a mistake of ours about one object must not end the watch of the others
            log.exception("watch failed unexpectedly", extra={"path": self._collection.path})
            self._version = None
        await asyncio.sleep(max(asked_for, self._pause()) / SECOND)

    def _pause(self) -> Nanoseconds:
        """Give the time to the next request: none after a watch that lasted, else more and more."""
        since, self._watching_since = self._watching_since, None
        if since is not None and self._clock() - since >= self._pace.lasting:
            self._failures = 0
            return 0
        delay = exponential_delay(self._pace.first, self._pace.longest, self._failures)
        self._failures += 1
        # jitter: all watches are cut at the same moment when a server restarts
        return round(delay * random.uniform(1, 1.5))  # noqa: S311

    def _log(self, error: ClusterError) -> None:
        """Log why it goes no further, once until that changes."""
        level = logging.DEBUG if str(error) == self._last_logged else logging.WARNING
        self._last_logged = str(error)
        log.log(level, "watch interrupted", extra={"path": self._collection.path, "reason": str(error)})

    async def _list(self) -> None:
        """Put what is there now in the place of everything.

        No version is named, so the server answers with the newest state and not with its cache's: a new leader sees
        what its predecessor wrote last.
        """
        values = dict[str, V]()
        query: dict[str, str | int] = {**self._collection.query, "limit": PAGE}
        try:
            while True:
                page = await self._api.send(Call(self._collection.path, query=query, timeout=MINUTE))
                values.update(self._read_page(page.get("items") or ()))
                if not (further := page["metadata"].get("continue")):
                    break
                query["continue"] = further
        except NotFound:
            if self._collection.may_be_missing:
                self._replace({})
            raise
        self._version, self._listed_at = page["metadata"]["resourceVersion"], self._clock()
        self._last_logged = ""
        self._replace(values)

    def _read_page(self, items: Iterable[Mapping[str, Any]]) -> dict[str, V]:
        values = dict[str, V]()
        for item in items:
            if (value := self._collection.read(item)) is not None:
                values[_key(item)] = value
        return values

    async def _watch(self, version: str) -> None:
        query: dict[str, str | int] = {
            **self._collection.query,
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": version,
            # not all at once, a few minutes after a restart of the server
            "timeoutSeconds": max(1, round(self._pace.watch_for / SECOND * random.uniform(0.8, 1))),  # noqa: S311
        }
        async with self._api.stream(Call(self._collection.path, query=query), self._pace.silence) as lines:
            stretch_from = self._clock()
            async for line in lines:
                self._apply(line)
                if self._clock() - stretch_from > LONGEST_STRETCH:
                    await asyncio.sleep(0)
                    stretch_from = self._clock()

    def _apply(self, line: bytes) -> None:
        try:
            event = json.loads(line)
            kind, item = event["type"], event["object"]
        except (ValueError, KeyError, TypeError) as error:
            raise Unavailable("the watch sent something else than events") from error
        if kind == "ERROR":
            raise error_of_status(item.get("code") or 500, item.get("message") or "the watch failed")
        if kind in {"ADDED", "MODIFIED"}:
            self._put(_key(item), self._collection.read(item))
        elif kind == "DELETED":
            self._put(_key(item), None)
        # a bookmark has a version and nothing else
        self._version = item["metadata"]["resourceVersion"]

    def _put(self, key: str, value: V | None) -> None:
        before = self.values.pop(key, None) if value is None else self.values.get(key)
        if value is not None:
            self.values[key] = value
        if not self._is_same(before, value):
            self._on_change()

    def _replace(self, values: dict[str, V]) -> None:
        before, self.values = self.values, values
        is_same = before.keys() == values.keys() and all(self._is_same(before[key], values[key]) for key in values)
        self._listed.set()
        if not is_same:
            self._on_change()

    def _is_same(self, before: V | None, value: V | None) -> bool:
        if before is None or value is None:
            return before is value
        return self._collection.same(before, value)


def _key(item: Mapping[str, Any]) -> str:
    metadata = item["metadata"]
    return f"{metadata.get('namespace', '')}/{metadata['name']}"
