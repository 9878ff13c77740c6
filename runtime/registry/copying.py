"""A copy: verbatim, by digest, children before parents, the tag last.

So at any moment, a kill included, a tag of the destination points at something complete or isn't there. What the
destination has is not sent again: a manifest that is there has all that it needs, and a blob is looked for in the
repository, then in those of the same registry that are known to have it.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterator
from contextlib import aclosing, contextmanager
from dataclasses import dataclass, field
from typing import Final

from compiler.duration import SECOND, Nanoseconds, format_duration
from runtime.registry.client import RegistryClient
from runtime.registry.crowd import at_once
from runtime.registry.digests import is_digest
from runtime.registry.errors import CopyFailed, CopyReason, RequestFailed, source_failed, target_failed
from runtime.registry.limits import NO_LIMITS, Limits
from runtime.registry.manifest import Descriptor, Manifest
from runtime.registry.places import Repository
from runtime.registry.platforms import Platform
from runtime.registry.reader import BlobReader
from runtime.registry.selection import select
from runtime.registry.uploads import Uploader
from runtime.registry.verdict import NotFound

__all__ = ["Copied", "Copier", "Transfer"]

# enough to hide the latency of a registry; more only splits the same bandwidth
_STREAMS: Final = 4
_MANIFESTS: Final = 4
# an index of indexes is legal, one that never ends is not
_DEPTH: Final = 4
# (registry, digest) pairs whose repository is remembered for mounts, about 200 bytes each
_HOMES: Final = 16384


@dataclass(frozen=True, slots=True)
class Transfer:
    """One copy to be made.

    Attributes:
        reference: a tag or digest of ``source``.
        target: must allow ``pull,push``.
        tags: written in this order, so the one that pods use comes last.
        platforms: to be copied of an index; None copies all. A digest is always copied whole.
        timeout: for all of it; 0 sets no limit (C3).
    """

    source: Repository
    reference: str
    target: Repository
    tags: tuple[str, ...]
    platforms: tuple[Platform, ...] | None = None
    timeout: Nanoseconds = 0


@dataclass(frozen=True, slots=True)
class Copied:
    """What a copy came to.

    Attributes:
        digest: of what the tags point at now.
        source_digest: of what it was made from; another one only where platforms were left out.
        bytes: read from the source.
        sent: blobs that were uploaded.
        mounted: blobs that the destination had in another repository.
        present: blobs and manifests that were there already.
        limits: what the source said about its quota.
    """

    digest: str
    source_digest: str
    bytes: int = 0
    sent: int = 0
    mounted: int = 0
    present: int = 0
    limits: Limits = NO_LIMITS


class Copier:
    """Copies images; remembers where each registry has which blob, and how it likes to get them.

    Args:
        client: for both sides.
        moved: told of the bytes that come, with the source's host, as they come.
    """

    def __init__(
        self, client: RegistryClient, *, moved: Callable[[str, int], None] = lambda _host, _count: None
    ) -> None:
        self._client = client
        self._moved = moved
        self._uploader = Uploader(client)
        self._homes = Homes()

    async def copy(self, transfer: Transfer) -> Copied:
        """Copy an image.

        Raises:
            CopyFailed: with the reason; also whatever ``before_request`` raises.
        """
        walk = _Walk(self._client, self._uploader, self._homes, transfer, self._moved)
        try:
            async with asyncio.timeout(transfer.timeout / SECOND if transfer.timeout else None):
                return await walk.run()
        except TimeoutError:
            message = f"not complete within {format_duration(transfer.timeout)}"
            raise CopyFailed(CopyReason.TIMEOUT, message, limits=walk.tally.limits) from None


class Homes:
    """Which repository of a registry has a blob, as far as this process has seen it."""

    def __init__(self) -> None:
        self._repositories: OrderedDict[tuple[str, str], str] = OrderedDict()

    def settle(self, repository: Repository, digest: str) -> None:
        """Note that a repository has a blob; the latest is the likeliest to have it still."""
        key = (repository.registry.host, digest)
        self._repositories[key] = repository.name
        self._repositories.move_to_end(key)
        if len(self._repositories) > _HOMES:
            self._repositories.popitem(last=False)

    def elsewhere(self, target: Repository, digest: str, source: Repository) -> Repository | None:
        """Give another repository of the target's registry that a blob can be mounted from."""
        if source.registry.host == target.registry.host and source.name != target.name:
            return source
        name = self._repositories.get((target.registry.host, digest))
        return None if name in {None, target.name} else Repository(target.registry, str(name), target.credential)


@dataclass(slots=True)
class _Tally:
    bytes: int = 0
    sent: int = 0
    mounted: int = 0
    present: int = 0
    limits: Limits = NO_LIMITS


@dataclass(slots=True)
class _Walk:
    """One copy under way."""

    client: RegistryClient
    uploader: Uploader
    homes: Homes
    transfer: Transfer
    moved: Callable[[str, int], None]
    tally: _Tally = field(default_factory=_Tally)
    streams: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_STREAMS))
    # platforms share layers: whoever comes second waits for the first
    turns: defaultdict[str, asyncio.Lock] = field(default_factory=lambda: defaultdict(asyncio.Lock))
    arrived: set[str] = field(default_factory=set)

    async def run(self) -> Copied:
        source = await self._root()
        root = self._selected(source)
        missing = [tag for tag in self.transfer.tags if await self._digest_at_target(tag) != root.digest]
        if missing:
            if len(missing) == len(self.transfer.tags):
                await self._complete(root)
            for tag in missing:
                with _at_target():
                    await self.client.push_manifest(self.transfer.target, tag, root)
        t = self.tally
        return Copied(root.digest, source.digest, t.bytes, t.sent, t.mounted, t.present, t.limits)

    async def _root(self) -> Manifest:
        """Read what is to be copied, from the destination if a digest is there already."""
        reference = self.transfer.reference
        if is_digest(reference) and await self._digest_at_target(reference) == reference:
            with _at_target():
                return (await self.client.get_manifest(self.transfer.target, reference)).manifest
        return await self._read(reference)

    def _selected(self, source: Manifest) -> Manifest:
        wanted = self.transfer.platforms
        if wanted is None or not source.is_index or is_digest(self.transfer.reference):
            return source
        selected = select(source, wanted)
        if selected is None:
            message = f"the index has none of the platforms {', '.join(map(str, wanted))}"
            raise CopyFailed(CopyReason.SOURCE_UNAVAILABLE, message, NotFound(message), self.tally.limits)
        return selected

    async def _digest_at_target(self, reference: str) -> str | None:
        try:
            return (await self.client.head_manifest(self.transfer.target, reference)).digest
        except RequestFailed as failed:
            if isinstance(failed.verdict, NotFound):
                return None
            raise target_failed(failed) from None

    async def _read(self, reference: str) -> Manifest:
        with _at_source():
            fetched = await self.client.get_manifest(self.transfer.source, reference)
        self.tally.limits = self.tally.limits.updated(fetched.limits)
        return fetched.manifest

    async def _complete(self, manifest: Manifest, depth: int = 0) -> None:
        """Bring everything that a manifest needs, unless it is there itself."""
        if depth > _DEPTH:
            message = f"indexes nested more than {_DEPTH} deep"
            raise CopyFailed(CopyReason.SOURCE_UNAVAILABLE, message, limits=self.tally.limits)
        with _at_target():
            if await self.client.has_manifest(self.transfer.target, manifest.digest):
                self.tally.present += 1
                return

        async def bring(need: Descriptor) -> None:
            if need.is_manifest:
                await self._child(need, depth + 1)
            elif not need.is_foreign:
                await self._blob(need)

        await at_once(min(_MANIFESTS, len(manifest.needs)), manifest.needs, bring)

    async def _child(self, need: Descriptor, depth: int) -> None:
        """Copy a manifest of an index: what it needs, then itself."""
        async with self.turns[need.digest]:
            if need.digest in self.arrived:
                return
            with _at_target():
                present = await self.client.has_manifest(self.transfer.target, need.digest)
            if present:
                self.tally.present += 1
            else:
                manifest = await self._read(need.digest)
                await self._complete(manifest, depth)
                with _at_target():
                    await self.client.push_manifest(self.transfer.target, need.digest, manifest)
            self.arrived.add(need.digest)

    async def _blob(self, need: Descriptor) -> None:
        async with self.turns[need.digest], self.streams:
            if need.digest not in self.arrived:
                with _at_target():
                    await self._bring(need)
                self.homes.settle(self.transfer.target, need.digest)
                self.arrived.add(need.digest)

    async def _bring(self, need: Descriptor) -> None:
        if await self.client.has_blob(self.transfer.target, need.digest):
            self.tally.present += 1
            return
        elsewhere = self.homes.elsewhere(self.transfer.target, need.digest, self.transfer.source)
        reader = BlobReader(self.client, self.transfer.source, need, self._count)
        async with aclosing(reader):
            if await self.uploader.upload(self.transfer.target, need.digest, reader, elsewhere):
                self.tally.mounted += 1
            else:
                self.tally.sent += 1

    def _count(self, length: int) -> None:
        self.tally.bytes += length
        self.moved(self.transfer.source.registry.host, length)


@contextmanager
def _at_source() -> Iterator[None]:
    try:
        yield
    except RequestFailed as failed:
        raise source_failed(failed) from None


@contextmanager
def _at_target() -> Iterator[None]:
    try:
        yield
    except RequestFailed as failed:
        raise target_failed(failed) from None
