"""The local adapter: resources and workloads are files, status is files, leadership is a lock.

The embedded default: ``kuik run -f P… --state DIR`` needs no cluster, and is driven by the same controller.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

from compiler.duration import SECOND, Nanoseconds
from compiler.source import Text
from runtime.clock import Clock, boot_clock
from runtime.cluster.contents import Contents, merge, read_contents
from runtime.cluster.errors import Unavailable
from runtime.cluster.feed import Feed
from runtime.cluster.leadership import Leadership, LeaseTimes
from runtime.cluster.port import Observation, Report, Severity, Snapshot, Topic
from runtime.cluster.state import Lock, StateFolder, read_statuses
from runtime.files import STDIN, Files, read_file, read_files
from runtime.watching import watch_files

__all__ = ["LocalCluster", "Sources"]

log: Final = logging.getLogger(__name__)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Sources:
    """Where a local run reads.

    Attributes:
        paths: files and folders of manifests; ``-`` is standard input, read once.
        exclude: globs of files that are left out.
        besides: the configuration, which is no manifest although it may lie among them.
        registry_config: a Docker config.json for every secret that no manifest holds.
    """

    paths: tuple[str, ...]
    exclude: tuple[str, ...] = ()
    besides: str | None = None
    registry_config: str | None = None


class LocalCluster:
    """A folder in place of a cluster.

    Args:
        sources: what is read.
        state: the state folder, made if need be.
        clock: for the lease.
    """

    status_spacing: Nanoseconds = SECOND // 4
    """Soon enough before the next window of any series, and one write where many windows open at once."""

    def __init__(self, sources: Sources, state: Path, clock: Clock = boot_clock) -> None:
        self._sources, self._folder, self._clock = sources, StateFolder(state), clock
        self._statuses = dict[str, Mapping[str, Any]]()
        self._observation: _FilesObserved | None = None
        self._leads = False

    @asynccontextmanager
    async def lead(self, times: LeaseTimes) -> AsyncIterator[Leadership]:
        """Wait for the lock of the state folder and hold it."""
        lock = self._folder.lock
        await self._take(lock, times.retry)
        try:
            transitions = await self._on_disk(self._folder.count_start)
            await self._on_disk(self._folder.remove_leftovers)
            now = self._clock()
            leadership = Leadership(times, transitions, taken_at=now, renewed_at=now)
            keeping = asyncio.create_task(self._keep(leadership, lock.is_held, times.retry))
            self._leads = True
            try:
                yield leadership
            finally:
                self._leads = False
                keeping.cancel()
        finally:
            lock.release()

    async def _take(self, lock: Lock, every: Nanoseconds) -> None:
        has_waited = False
        while not await self._on_disk(lock.acquire):
            if not has_waited:
                log.info("another process holds the state folder", extra={"folder": str(self._folder.path)})
                has_waited = True
            await asyncio.sleep(every / SECOND)

    async def _on_disk(self, act: Callable[..., T], *arguments: Any) -> T:
        """Do something in the state folder, in a thread: it waits for a disk.

        Raises:
            Unavailable: the system refused, because the disk is full or the folder is not ours.
        """
        try:
            return await asyncio.to_thread(act, *arguments)
        except OSError as error:
            raise Unavailable(f"the state folder {self._folder.path} can't be used: {error}") from error

    async def _keep(self, leadership: Leadership, is_held: Callable[[], bool], every: Nanoseconds) -> None:
        """Look after the lock. Nobody can take it from a process that slept, so a late look is a renewal too."""
        while True:
            start = self._clock()
            if not is_held():
                leadership.lose("the state folder was moved or deleted")
                return
            leadership.renewed(start)
            await asyncio.sleep(every / SECOND)

    @asynccontextmanager
    async def observe(self, insecure: frozenset[str]) -> AsyncIterator[Observation]:
        """Read the files and watch them."""
        self._statuses, odd = await asyncio.to_thread(read_statuses, self._folder.path)
        for diagnostic in odd:
            log.warning("a status is not used", extra={"file": str(diagnostic.position), "reason": diagnostic.message})
        observation = _FilesObserved(self._sources, insecure, self._statuses, self._remove_statuses)
        await observation.begin()
        self._observation = observation
        watching = asyncio.create_task(watch_files(self._watched(), observation.look))
        observation.depend_on(watching)
        try:
            yield observation
        finally:
            self._observation = None
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)

    async def _remove_statuses(self, owners: Iterable[str]) -> None:
        """Remove the status of what is no longer there, as a cluster does; who only looks removes nothing."""
        if self._leads:
            for owner in owners:
                try:
                    await self._on_disk(self._folder.remove_status, *_split(owner))
                except Unavailable as error:
                    # it stays known, so that the next look tries again
                    log.warning("status not removed", extra={"about": owner, "reason": str(error)})
                else:
                    self._statuses.pop(owner, None)

    def _watched(self) -> Sequence[str]:
        return [path for path in self._sources.paths if path != STDIN]

    async def write_status(self, owner: str, status: Mapping[str, Any]) -> bool:
        """Write the status file of a resource that is in the files.

        Raises:
            Unavailable: it could not be written.
            ValueError: the name is none that a resource can have.
        """
        if self._observation is not None and not self._observation.has(owner):
            return False
        await self._on_disk(self._folder.write_status, *_split(owner), status)
        self._statuses[owner] = status
        return True

    async def set_finalizer(self, owner: str, *, wanted: bool) -> bool:  # noqa: ARG002  the port's signature
        """Do nothing: a deleted file is gone."""
        return self._observation is None or self._observation.has(owner)

    async def report(self, report: Report) -> None:
        """Log it."""
        level = logging.WARNING if report.severity is Severity.WARNING else logging.INFO
        log.log(level, "event", extra={"reason": report.reason, "detail": report.message, "about": report.about})


def _split(owner: str) -> tuple[str, str]:
    kind, _, name = owner.partition("/")
    return kind, name


class _FilesObserved:
    """What the files hold, compared by content each time they are looked at.

    Args:
        statuses: by owner, as they were written last; not its own.
        on_gone: told of owners that have a status and are in no file any more.
    """

    def __init__(
        self,
        sources: Sources,
        insecure: frozenset[str],
        statuses: Mapping[str, Mapping[str, Any]],
        on_gone: Callable[[Iterable[str]], Awaitable[None]],
    ) -> None:
        self._sources, self._insecure, self._statuses, self._on_gone = sources, insecure, statuses, on_gone
        self._one_at_a_time = asyncio.Lock()
        self._stdin: Files | None = None
        self._read = dict[Text, Contents]()
        self._contents = Contents()
        # the watch has let things settle already
        self._feed = Feed(coalesced_for=0)

    def depend_on(self, work: asyncio.Future[Any]) -> None:
        """Let ``changes`` end with the error of the watch, should it end."""
        self._feed.follow(work)

    async def begin(self) -> None:
        """Read everything for the first time."""
        await self.look()
        self._feed.clear()

    async def look(self) -> None:
        """Read everything that changed."""
        async with self._one_at_a_time:
            await self._adopt(await asyncio.to_thread(self._load, self._insecure, self._read))

    async def read_with(self, insecure: frozenset[str]) -> None:
        """Read everything anew."""
        async with self._one_at_a_time:
            if insecure != self._insecure:
                self._insecure = insecure
                await self._adopt(await asyncio.to_thread(self._load, insecure, {}))

    def snapshot(self) -> Snapshot:
        """Give what the files hold, each resource with the status that was written last."""
        return self._contents.snapshot(self._statuses)

    def changes(self) -> AsyncIterator[frozenset[Topic]]:
        """Give what changed."""
        return self._feed.changes()

    def docker_config(self, secret: str) -> str | None:
        """Find a Secret manifest, else read the Docker config.json of the command line."""
        if (found := self._contents.docker_configs.get(secret)) is not None:
            return found
        if self._sources.registry_config is None:
            return None
        text = read_file(self._sources.registry_config)
        return text.content if isinstance(text, Text) else None

    def has(self, owner: str) -> bool:
        """Say whether a resource is in the files."""
        return owner in self._contents.owners

    def _load(self, insecure: frozenset[str], known: Mapping[Text, Contents]) -> tuple[dict[Text, Contents], Contents]:
        """Read the files, those of the same content from what is known; runs in a thread."""
        sources = self._sources
        paths = [path for path in sources.paths if path != STDIN]
        files = read_files(paths, exclude=sources.exclude, besides=sources.besides)
        if STDIN in sources.paths:
            self._stdin = self._stdin or read_files([STDIN])
            files.texts += self._stdin.texts
            files.diagnostics += self._stdin.diagnostics
        read = {text: known.get(text) or read_contents(text, insecure) for text in files.texts}
        return read, merge(read.values(), files.diagnostics)

    async def _adopt(self, loaded: tuple[dict[Text, Contents], Contents]) -> None:
        before, (self._read, self._contents) = self._contents, loaded
        for topic in self._contents.differs_from(before):
            self._feed.note(topic)
        if self._contents.is_sound:
            await self._on_gone(self._statuses.keys() - self._contents.owners)
