"""Reading a blob: in order, verified while it passes, and going on where a read broke off.

The last bytes of a blob are handed out only when the digest of all of it is right. So an upload of known length can't
be completed with wrong content, whatever the destination checks.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack
from typing import Any, Final

from compiler.duration import MILLISECOND, SECOND
from runtime.registry.client import RegistryClient
from runtime.registry.digests import hasher
from runtime.registry.errors import RequestFailed, source_failed, unreachable
from runtime.registry.manifest import Descriptor
from runtime.registry.places import Repository
from runtime.registry.verdict import Cause, Unreachable
from runtime.registry.wire import Answer

__all__ = ["BlobReader"]

# a copy of the hash is kept this often, so that a reader can go back without hashing from the start
_CHECKPOINT: Final = 16 * 1024 * 1024
# a source that breaks off so often without this much in between is given up
_BREAKS: Final = 5
_PROGRESS: Final = 1024 * 1024
_PAUSE: Final = 100 * MILLISECOND
_CONTENT_RANGE: Final = re.compile(r"bytes\s+(\d+)-\d+/.*")


class BlobReader:
    """Reads one blob.

    Args:
        moved: told of the bytes that came, as they come.

    Attributes:
        position: where the next byte that is handed out stands.
    """

    def __init__(
        self,
        client: RegistryClient,
        repository: Repository,
        blob: Descriptor,
        moved: Callable[[int], None] = lambda _: None,
    ) -> None:
        self.position = 0
        self._client = client
        self._repository = repository
        self._blob = blob
        self._moved = moved
        self._hash = hasher(blob.digest)
        self._hashed = 0
        self._checkpoints: list[tuple[int, Any]] = [(0, self._hash.copy())]
        self._rest = b""
        self._open_read: AsyncExitStack | None = None
        self._chunks: AsyncGenerator[bytes, None] | None = None
        self._last_break = 0
        self._breaks = 0

    @property
    def size(self) -> int:
        """The length of the blob."""
        return self._blob.size

    async def take(self, length: int) -> AsyncGenerator[bytes, None]:
        """Hand out the next bytes.

        Raises:
            CopyFailed: the source broke off for good, or sent something else (``DigestMismatch``).
        """
        end = min(self.position + length, self.size)
        try:
            while self.position < end:
                if not self._rest:
                    self._rest = await self._next_chunk()
                chunk, self._rest = self._rest[: end - self.position], self._rest[end - self.position :]
                self.position += len(chunk)
                yield chunk
        except RequestFailed as failed:
            raise source_failed(failed) from None

    async def go_to(self, offset: int) -> None:
        """Go back to an offset that has been handed out before, for an upload that lost what came after it."""
        if offset == self.position:
            return
        await self.aclose()
        self._checkpoints = [c for c in self._checkpoints if c[0] <= offset]
        self._hashed, kept = self._checkpoints[-1]
        self._hash = kept.copy()
        self.position, self._rest = self._hashed, b""
        async for _ in self.take(offset - self._hashed):
            pass

    async def aclose(self) -> None:
        """Let go of the source."""
        if self._open_read is not None:
            open_read, self._open_read, self._chunks = self._open_read, None, None
            await open_read.aclose()

    async def _next_chunk(self) -> bytes:
        """Read on, through breaks, and verify what is the last."""
        chunk = b""
        while not chunk:
            try:
                chunk = await self._read()
            except RequestFailed as failed:
                await self.aclose()
                await self._wait_or_give_up(failed)
        self._hash.update(chunk)
        self._hashed += len(chunk)
        self._moved(len(chunk))
        self._verify()
        if self._hashed - self._checkpoints[-1][0] >= _CHECKPOINT:
            self._checkpoints.append((self._hashed, self._hash.copy()))
        return chunk

    async def _read(self) -> bytes:
        chunk = await anext(self._chunks or await self._open(), b"")
        if not chunk:
            raise unreachable(Cause.BROKEN, f"{self._blob.digest} broke off at {self._hashed} of {self.size} bytes")
        return chunk

    async def _open(self) -> AsyncGenerator[bytes, None]:
        async with AsyncExitStack() as opening:
            answer = await opening.enter_async_context(
                self._client.blob(self._repository, self._blob.digest, self._hashed)
            )
            start = _start(answer)
            self._compare_length(start, answer.headers.get("content-length", ""))
            whole = answer.chunks()
            opening.push_async_callback(whole.aclose)
            self._chunks = _behind(whole, self._hashed - start)
            self._open_read = opening.pop_all()
        return self._chunks

    async def _wait_or_give_up(self, failed: RequestFailed) -> None:
        """Let a read that broke off go on; a first request that fails and a stall are final (C3)."""
        broke = isinstance(failed.verdict, Unreachable) and failed.verdict.cause in {Cause.BROKEN, Cause.CONNECT}
        if self._hashed - self._last_break >= _PROGRESS:
            self._breaks = 0
        self._last_break = self._hashed
        self._breaks += 1
        if not broke or not self._hashed or self._breaks > _BREAKS:
            raise failed
        await asyncio.sleep(_PAUSE * 2 ** (self._breaks - 1) / SECOND)

    def _compare_length(self, start: int, length: str) -> None:
        """Refuse a blob of another length before its bytes have been sent on."""
        if length.isdecimal() and len(length) < 19 and start + int(length) != self.size:
            said = start + int(length)
            raise unreachable(Cause.DIGEST_MISMATCH, f"{self._blob.digest} has {said} bytes in place of {self.size}")

    def _verify(self) -> None:
        if self._hashed < self.size:
            return
        algorithm = self._blob.digest.partition(":")[0]
        found = f"{algorithm}:{self._hash.hexdigest()}"
        if self._hashed > self.size or found != self._blob.digest:
            what = found if self._hashed == self.size else f"more than its {self.size} bytes"
            raise unreachable(Cause.DIGEST_MISMATCH, f"{self._blob.digest} was asked for and {what} came")


def _start(answer: Answer) -> int:
    """Where the answer begins: a 200 is the whole blob, whatever was asked for."""
    if answer.status != 206:
        return 0
    match = _CONTENT_RANGE.fullmatch(answer.headers.get("content-range", "").strip())
    if match is None:
        raise unreachable(Cause.STATUS, "a part of a blob without Content-Range", answer.limits)
    return int(match[1])


async def _behind(chunks: AsyncGenerator[bytes, None], skip: int) -> AsyncGenerator[bytes, None]:
    """Leave out the first bytes."""
    if skip < 0:
        raise unreachable(Cause.STATUS, "a part of a blob that begins too late")
    async for chunk in chunks:
        if skip < len(chunk):
            yield chunk[skip:]
        skip = max(0, skip - len(chunk))
