"""Tells when files may have changed: the manifests of a local run, the configuration.

What is watched are folders, never files: an editor puts a new file in the place of the old one, and a ConfigMap's mount
swaps the link ``..data`` that the file's own link goes through. Whether anything did change is for the reader to see by
comparing content. Where the system tells nothing (a network file system, too many watches) a look now and then does.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

from watchfiles import awatch

from compiler.duration import MILLISECOND, SECOND, Nanoseconds

__all__ = ["watch_files"]

log: Final = logging.getLogger(__name__)

QUIET_FOR: Final = 200 * MILLISECOND
"""How long nothing more must have changed: who writes a file in pieces is let finish."""
LONGEST_WAIT: Final = SECOND
"""How long a reader waits where something changes all the time."""
LOOK_EVERY: Final = 30 * SECOND

_Identity: TypeAlias = tuple[str, int, int]


async def watch_files(
    paths: Sequence[str], look: Callable[[], Awaitable[None]], every: Nanoseconds = LOOK_EVERY
) -> None:
    """Call ``look`` at once, and then whenever something below the paths may have changed; never returns.

    Args:
        paths: files and folders, which may come and go.
        look: reads what it is about and compares; the next call waits for its end.
        every: how long at most between two calls.
    """
    while True:
        places = await asyncio.to_thread(_find_places, paths)
        async with _watching(places) as changed:
            # the watches exist by now: what changes from here on is seen by this look or by the next
            await look()
            while places == await asyncio.to_thread(_find_places, paths):
                await _wait(changed, every)
                await look()


@dataclass(frozen=True, slots=True)
class _Places:
    """Folders to watch, by path and identity: a folder that was replaced is another one.

    Attributes:
        trees: with all that is below them.
        folders: themselves alone.
    """

    trees: frozenset[_Identity]
    folders: frozenset[_Identity]


def _find_places(paths: Sequence[str]) -> _Places:
    trees, folders = set[_Identity](), set[_Identity]()
    for path in map(Path, paths):
        folders.update(_links_on_the_way(path))
        if path.is_dir():
            trees.update(_trees(path))
            folders.update(place for link in _links(path) for place in _links_on_the_way(link))
    return _Places(frozenset(trees), frozenset(folders - trees))


def _links_on_the_way(path: Path) -> Iterator[_Identity]:
    """Give the folder in which a path stands, and those of the links that it goes through."""
    seen = set[Path]()
    # nothing is normalised: "link/.." is beside what the link points at, not beside the link
    step = path.absolute()
    while step not in seen:
        seen.add(step)
        yield from _identity(step.parent)
        if step.is_symlink():
            step = step.parent / step.readlink()
        elif step.parent.is_symlink():
            # a file below a link to a folder, such as ..data
            step = step.parent


def _trees(folder: Path) -> Iterator[_Identity]:
    """Give a folder, and those outside that links below it point at."""
    pending, seen = [folder], set[_Identity]()
    while pending:
        tree = pending.pop()
        for identity in _identity(tree):
            if identity not in seen:
                seen.add(identity)
                yield identity
                pending += (link for link in _links(tree) if link.is_dir())


def _links(folder: Path) -> Iterator[Path]:
    for base, folders, files in os.walk(folder):
        yield from (path for name in (*folders, *files) if (path := Path(base, name)).is_symlink())


def _identity(path: Path) -> Iterator[_Identity]:
    """Give what tells a folder from another that took its place; nothing when it isn't there."""
    try:
        status = path.stat()
        yield str(path.resolve()), status.st_dev, status.st_ino
    except OSError:
        return


@asynccontextmanager
async def _watching(places: _Places) -> AsyncIterator[asyncio.Event]:
    """Watch while the context lasts; the event is set when something changes."""
    changed = asyncio.Event()
    tasks = [
        asyncio.create_task(_pump(sorted(path for path, *_ in group), recursive, changed))
        for group, recursive in ((places.trees, True), (places.folders, False))
        if group
    ]
    # a task's first step makes its watches, without waiting for anything
    await asyncio.sleep(0)
    try:
        yield changed
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _pump(paths: Sequence[str], recursive: bool, changed: asyncio.Event) -> None:
    quiet, longest = QUIET_FOR // MILLISECOND, LONGEST_WAIT // MILLISECOND
    try:
        async for _ in awatch(*paths, watch_filter=None, recursive=recursive, step=quiet, debounce=longest):
            changed.set()
    except OSError as error:
        # most often no room for another watch, or a folder that has just gone
        log.warning("folders are not watched, only looked at now and then", extra={"reason": str(error)})
        changed.set()


async def _wait(changed: asyncio.Event, longest: Nanoseconds) -> None:
    try:
        async with asyncio.timeout(longest / SECOND):
            await changed.wait()
    except TimeoutError:
        return
    changed.clear()
