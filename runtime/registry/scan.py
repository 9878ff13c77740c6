"""A scan: what is at a destination, read whole and unpaced, many at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from compiler.duration import SECOND, Nanoseconds, format_duration
from runtime.registry.client import RegistryClient
from runtime.registry.crowd import at_once
from runtime.registry.errors import RequestFailed
from runtime.registry.places import Repository
from runtime.registry.platforms import Platform
from runtime.registry.selection import source_digest
from runtime.registry.verdict import Available, Cause, Unreachable, Verdict

__all__ = ["Desired", "Found", "scan"]


@dataclass(frozen=True, slots=True)
class Desired:
    """A tag that a mirror wants at its destination.

    Attributes:
        filtered: platforms may have been left out, so that the index itself must be read.
    """

    repository: Repository
    tag: str
    filtered: bool = False


@dataclass(frozen=True, slots=True)
class Found:
    """What a scan found of one tag.

    Attributes:
        verdict: NotFound is owed; anything but that and Available says nothing about the tag.
        source_digest: of what the tag was copied from, as far as one can tell.
        platforms: of the index, where it was read.
    """

    desired: Desired
    verdict: Verdict
    source_digest: str | None = None
    platforms: frozenset[Platform] = frozenset()


async def scan(
    client: RegistryClient,
    desired: Iterable[Desired],
    found: Callable[[Found], None],
    *,
    limit: int,
    within: Nanoseconds,
) -> None:
    """Look for every desired tag.

    Args:
        client: asks.
        desired: taken as places come free.
        found: told of each, as answers come.
        limit: how many at once.
        within: the time for each.
    """

    async def look(one: Desired) -> None:
        found(await _look(client, one, within))

    await at_once(limit, desired, look)


async def _look(client: RegistryClient, desired: Desired, within: Nanoseconds) -> Found:
    try:
        async with asyncio.timeout(within / SECOND):
            if not desired.filtered:
                digest = (await client.head_manifest(desired.repository, desired.tag)).digest
                return Found(desired, Available(digest), digest)
            manifest = (await client.get_manifest(desired.repository, desired.tag)).manifest
    except RequestFailed as failed:
        return Found(desired, failed.verdict)
    except TimeoutError:
        return Found(desired, Unreachable(Cause.TIMEOUT, f"no answer within {format_duration(within)}"))
    platforms = frozenset(need.platform for need in manifest.needs if need.platform is not None)
    return Found(desired, Available(manifest.digest), source_digest(manifest), platforms)
