"""The local adapter: resources and workloads are files, status is files, leadership is a lock.

The embedded default: ``kuik run -f P… --state DIR`` needs no cluster, and is driven by the same controller.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from compiler.diagnostics import Diagnostic
from compiler.duration import SECOND, Nanoseconds
from compiler.source import Text
from runtime.clock import Clock, boot_clock
from runtime.cluster.contents import Contents, merge, read_contents
from runtime.cluster.feed import Feed
from runtime.cluster.leadership import Leadership, LeaseTimes
from runtime.cluster.port import Observation, Report, Severity, Snapshot, Topic
from runtime.cluster.state import StateFolder, read_statuses
from runtime.files import STDIN, read_file, read_files
from runtime.watching import watch_files

__all__ = ["LocalCluster", "Sources"]

log: Final = logging.getLogger(__name__)


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

    status_spacing: Nanoseconds = 0

    def __init__(self, sources: Sources, state: Path, clock: Clock = boot_clock) -> None:
        self._sources, self._folder, self._clock = sources, StateFolder(state), clock
        self._statuses = dict[str, Mapping[str, Any]]()
        self._observation: _FilesObserved | None = None

    @asynccontextmanager
    async def lead(self, times: LeaseTimes) -> AsyncIterator[Leadership]:
        """Wait for the lock of the state folder and hold it."""
        lock = self._folder.lock
        while not lock.acquire():
            log.info("another process holds the state folder", extra={"folder": str(self._folder.path)})
            await asyncio.sleep(times.retry / SECOND)
        try:
            transitions = await asyncio.to_thread(self._folder.count_start)
            await asyncio.to_thread(self._folder.remove_leftovers)
            now = self._clock()
            leadership = Leadership(times, transitions, taken_at=now, renewed_at=now)
            keeping = asyncio.create_task(self._keep(leadership, lock.is_held, times.retry))
            try:
                yield leadership
            finally:
                keeping.cancel()
        finally:
            lock.release()

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
        observation = _FilesObserved(self._sources, insecure, self._statuses)
        await observation.look()
        self._observation = observation
        watching = asyncio.create_task(watch_files(self._watched(), observation.look))
        try:
            yield observation
        finally:
            self._observation = None
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)

    def _watched(self) -> Sequence[str]:
        return [path for path in self._sources.paths if path != STDIN]

    async def write_status(self, owner: str, status: Mapping[str, Any]) -> bool:
        """Write the status file of a resource that is in the files."""
        if self._observation is not None and not self._observation.has(owner):
            return False
        kind, _, name = owner.partition("/")
        await asyncio.to_thread(self._folder.write_status, kind, name, status)
        self._statuses[owner] = status
        return True

    async def set_finalizer(self, owner: str, *, wanted: bool) -> bool:  # noqa: ARG002  the port's signature
        """Do nothing: a deleted file is gone."""
        return self._observation is None or self._observation.has(owner)

    async def report(self, report: Report) -> None:
        """Log it."""
        level = logging.WARNING if report.severity is Severity.WARNING else logging.INFO
        log.log(level, "event", extra={"reason": report.reason, "detail": report.message, "about": report.about})


class _FilesObserved:
    """What the files hold, compared by content each time they are looked at."""

    def __init__(self, sources: Sources, insecure: frozenset[str], statuses: dict[str, Mapping[str, Any]]) -> None:
        self._sources, self._insecure, self._statuses = sources, insecure, statuses
        self._stdin: Text | Diagnostic | None = None
        self._read = dict[Text, Contents]()
        self._contents = Contents()
        # the watch has let things settle already
        self._feed = Feed(coalesced_for=0)

    async def look(self) -> None:
        """Read everything that changed."""
        await self._adopt(await asyncio.to_thread(self._load, self._insecure, self._read))

    async def read_with(self, insecure: frozenset[str]) -> None:
        """Read everything anew."""
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
        return any(f"{r.kind}/{r.value['metadata']['name']}" == owner for r in self._contents.resources)

    def _load(self, insecure: frozenset[str], known: Mapping[Text, Contents]) -> tuple[dict[Text, Contents], Contents]:
        """Read the files, those of the same content from what is known; runs in a thread and changes nothing."""
        sources = self._sources
        paths = [path for path in sources.paths if path != STDIN]
        files = read_files(paths, exclude=sources.exclude, besides=sources.besides)
        if STDIN in sources.paths:
            self._stdin = self._stdin or read_file(STDIN)
            (files.diagnostics if isinstance(self._stdin, Diagnostic) else files.texts).append(self._stdin)  # type: ignore[arg-type]
        read = {text: known.get(text) or read_contents(text, insecure) for text in files.texts}
        return read, merge(read.values(), files.diagnostics)

    async def _adopt(self, loaded: tuple[dict[Text, Contents], Contents]) -> None:
        before, (self._read, self._contents) = self._contents, loaded
        for topic in self._contents.differs_from(before):
            self._feed.note(topic)
