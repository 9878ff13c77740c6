"""Writing a blob: whole in one request, in chunks where the registry wants them, resumed or restarted when it breaks.

A registry shows a blob only when its digest was named and was right, so nothing here can leave half a blob visible.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote, urlencode, urljoin

from runtime.registry.answers import failure
from runtime.registry.client import RegistryClient
from runtime.registry.errors import RequestFailed, unreachable
from runtime.registry.messages import Request, Stream
from runtime.registry.places import Repository
from runtime.registry.reader import BlobReader
from runtime.registry.verdict import Cause, Unreachable
from runtime.registry.wire import Answer

__all__ = ["Uploader"]

_ATTEMPTS: Final = 3
# answers to a whole blob that ask for smaller pieces: a proxy's limit, or a registry that only takes PATCH
_WANTS_CHUNKS: Final = frozenset({405, 413, 501})
# below the limits of common proxies, unless the registry asks for more
_CHUNK: Final = 16 * 1024 * 1024
_OCTETS: Final = {"Content-Type": "application/octet-stream"}


@dataclass(frozen=True, slots=True)
class _Session:
    """An upload that the registry has opened.

    Attributes:
        url: absolute, and new after each request.
        least: the least length of a chunk but the last.
    """

    url: str
    least: int = 0


class Uploader:
    """Writes blobs; remembers which hosts want chunks."""

    def __init__(self, client: RegistryClient) -> None:
        self._client = client
        self._chunked: set[str] = set()

    async def upload(self, target: Repository, digest: str, reader: BlobReader, source: Repository | None) -> bool:
        """Put a blob into a repository.

        Args:
            target: must allow ``pull,push``.
            digest: of the blob.
            reader: gives the blob; it isn't opened unless bytes have to be sent.
            source: a repository of the same registry that is known to have it.

        Returns:
            Whether it was mounted, so that no byte had to be sent.

        Raises:
            RequestFailed: the registry didn't take it.
        """
        if source is not None and await self._mount(target, digest, source):
            return True
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                await self._send(target, digest, reader)
            except RequestFailed as failed:
                if attempt == _ATTEMPTS or not _broke(failed):
                    raise
                await reader.go_to(0)
            else:
                break
        return False

    async def _mount(self, target: Repository, digest: str, source: Repository) -> bool:
        """Ask for a mount; a registry that doesn't like to may open an upload or refuse, and both mean no."""
        query = urlencode({"mount": digest, "from": source.name})
        url = target.url(f"blobs/uploads/?{query}")
        async with self._client.ask(target, Request("POST", url, target.registry), source) as answer:
            await answer.discard()
            return answer.status == 201

    async def _send(self, target: Repository, digest: str, reader: BlobReader) -> None:
        host = target.registry.host
        session = await self._begin(target)
        if host not in self._chunked:
            try:
                if await self._whole(target, session, digest, reader):
                    return
            except RequestFailed as failed:
                if not _broke(failed):
                    raise
                await self._resume(target, session, digest, reader, failed)
                return
            self._chunked.add(host)
            await reader.go_to(0)
            session = await self._begin(target)
        await self._in_chunks(target, session, digest, reader, _CHUNK)

    async def _begin(self, target: Repository) -> _Session:
        url = target.url("blobs/uploads/")
        async with self._client.ask(target, Request("POST", url, target.registry)) as answer:
            if answer.status != 202:
                raise await failure(answer, target.credential, target.registry.host)
            least = answer.headers.get("oci-chunk-min-length", "")
            await answer.discard()
            return _Session(_location(answer), int(least) if least.isdecimal() and len(least) < 12 else 0)

    async def _whole(self, target: Repository, session: _Session, digest: str, reader: BlobReader) -> bool:
        """Send all of it at once; False when the registry wants chunks."""
        request = Request("PUT", _naming(session.url, digest), target.registry, _OCTETS, _piece(reader, reader.size))
        async with self._client.ask(target, request) as answer:
            if answer.status in _WANTS_CHUNKS:
                await answer.discard()
                return False
            await _confirm(answer, target, digest)
            return True

    async def _resume(
        self, target: Repository, session: _Session, digest: str, reader: BlobReader, broken: RequestFailed
    ) -> None:
        """Go on where a broken upload has come to.

        Raises:
            RequestFailed: ``broken``, whatever stood in the way; a registry may have forgotten the upload, or may not
                have noticed yet that it broke.
        """
        try:
            session, received = await self._progress(target, session)
            await reader.go_to(min(received, reader.position))
            await self._in_chunks(target, session, digest, reader, reader.size)
        except RequestFailed:
            raise broken from None

    async def _progress(self, target: Repository, session: _Session) -> tuple[_Session, int]:
        async with self._client.ask(target, Request("GET", session.url, target.registry)) as answer:
            received = _received(answer)
            if answer.status not in {202, 204} or received is None:
                raise await failure(answer, target.credential, target.registry.host)
            await answer.discard()
            return _Session(_location(answer, session.url), session.least), received

    async def _in_chunks(
        self, target: Repository, session: _Session, digest: str, reader: BlobReader, length: int
    ) -> None:
        """Send the rest in pieces of this length, and name the digest at the end."""
        registry, length = target.registry, max(length, session.least)
        while reader.position < reader.size:
            start, piece = reader.position, _piece(reader, length)
            headers = {**_OCTETS, "Content-Range": f"{start}-{start + piece.length - 1}"}
            async with self._client.ask(target, Request("PATCH", session.url, registry, headers, piece)) as answer:
                if answer.status not in {201, 202, 204}:
                    raise await failure(answer, target.credential, registry.host)
                received = _received(answer)
                await answer.discard()
                session = _Session(_location(answer, session.url), session.least)
            if received is not None and start < received < reader.position:
                await reader.go_to(received)
        async with self._client.ask(target, Request("PUT", _naming(session.url, digest), registry)) as answer:
            await _confirm(answer, target, digest)


def _piece(reader: BlobReader, length: int) -> Stream:
    start = reader.position
    length = min(length, reader.size - start)

    async def chunks() -> AsyncGenerator[bytes, None]:
        await reader.go_to(start)
        async with aclosing(reader.take(length)) as taken:
            async for chunk in taken:
                yield chunk

    return Stream(length, chunks)


async def _confirm(answer: Answer, target: Repository, digest: str) -> None:
    if answer.status not in {200, 201, 204}:
        raise await failure(answer, target.credential, target.registry.host)
    said = answer.headers.get("docker-content-digest", digest)
    await answer.discard()
    if said != digest:
        raise unreachable(Cause.DIGEST_MISMATCH, f"{digest} was sent and {said} was stored", answer.limits)


def _location(answer: Answer, default: str = "") -> str:
    """Give the absolute URL to go on with: Location may be relative, or on another host."""
    location = answer.headers.get("location", "")
    if not location and not default:
        raise unreachable(Cause.BROKEN, "an upload without a Location", answer.limits)
    return urljoin(answer.url, location) if location else default


def _naming(url: str, digest: str) -> str:
    return f"{url}{'&' if '?' in url else '?'}digest={quote(digest)}"


def _received(answer: Answer) -> int | None:
    """Give the number of bytes that the registry has, by ``Range: 0-N``; an empty upload says 0-0 as one byte does."""
    first, dash, last = answer.headers.get("range", "").removeprefix("bytes=").partition("-")
    if first != "0" or not dash or not last.isdecimal() or len(last) > 18:
        return None
    return int(last) + 1 if int(last) else 0


def _broke(failed: RequestFailed) -> bool:
    """Whether the connection is to blame, and not what was sent."""
    verdict = failed.verdict
    return isinstance(verdict, Unreachable) and verdict.cause in {Cause.BROKEN, Cause.CONNECT}
