"""What kuik can ask a registry: a small surface over the distribution API, the same for source and destination."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Final, Self

import httpx

from runtime.registry.answers import MAX_DOCUMENT, failure
from runtime.registry.digests import digest_of, is_digest
from runtime.registry.door import Door
from runtime.registry.errors import RequestFailed, unreachable
from runtime.registry.limits import Limits
from runtime.registry.listing import next_page, read_tags
from runtime.registry.manifest import ACCEPT, InvalidManifest, Manifest, may_be_index, read_manifest
from runtime.registry.messages import CLOCKS, Clocks, Request, Sent, origin
from runtime.registry.places import Repository
from runtime.registry.verdict import Cause, Unreachable
from runtime.registry.wire import Answer, Wire

__all__ = ["Fetched", "Head", "RegistryClient"]

# how registries say that they don't do HEAD; 400 is old Nexus
_NO_HEAD: Final = frozenset({400, 405, 501})
# one request without and one with authentication, and one more after a cached token was refused
_ATTEMPTS: Final = 3
_PAGE_SIZE: Final = 1000
# a repository with more tags than this is taken for a registry that pages for ever
_MAX_PAGES: Final = 1000


@dataclass(frozen=True, slots=True)
class Head:
    """A manifest that exists.

    Attributes:
        may_be_index: what the registry said of its type leaves that open.
        manifest: where the registry had to be asked by GET.
    """

    digest: str
    limits: Limits
    may_be_index: bool
    manifest: Manifest | None = None


@dataclass(frozen=True, slots=True)
class Fetched:
    """A manifest, verified."""

    manifest: Manifest
    limits: Limits


class RegistryClient:
    """Reads and writes registries; one is enough for a process.

    It depends on no loop until it is used, and is then used from one. Arguments are those of ``Wire``. Every method
    raises ``RequestFailed`` for an answer that isn't what was asked for, and whatever ``before_request`` raises.
    """

    def __init__(
        self,
        *,
        before_request: Callable[[], None] = lambda: None,
        after_request: Callable[[Sent], None] = lambda _: None,
        clocks: Clocks = CLOCKS,
        environ: Mapping[str, str] = os.environ,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._wire = Wire(
            before_request=before_request,
            after_request=after_request,
            clocks=clocks,
            environ=environ,
            transport=transport,
        )
        self._door = Door(self._wire, clocks.steady)
        self._refuse_head: set[str] = set()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close every connection."""
        await self._wire.aclose()

    async def head_manifest(self, repository: Repository, reference: str) -> Head:
        """Ask for the digest of a tag, or whether a digest exists.

        A registry that doesn't do HEAD is asked by GET, and from then on only so; one that gives no digest is asked by
        GET each time.
        """
        host = repository.registry.host
        refused = host in self._refuse_head
        if not refused:
            async with self.ask(repository, _manifest_request("HEAD", repository, reference)) as answer:
                if answer.status != 200 and answer.status not in _NO_HEAD:
                    raise await failure(answer, repository.credential, host)
                if answer.status == 200 and (digest := _said_digest(answer, reference)):
                    _compare(reference, digest, answer)
                    return Head(digest, answer.limits, may_be_index(answer.headers.get("content-type", "")))
            refused = answer.status != 200
        try:
            fetched = await self.get_manifest(repository, reference)
        except RequestFailed as error:
            # an answer to GET that says something is proof that HEAD was the problem
            if refused and not isinstance(error.verdict, Unreachable):
                self._refuse_head.add(host)
            raise
        if refused:
            self._refuse_head.add(host)
        manifest = fetched.manifest
        return Head(manifest.digest, fetched.limits, manifest.is_index, manifest)

    async def get_manifest(self, repository: Repository, reference: str) -> Fetched:
        """Read a manifest by tag or digest, and compare its digest with whatever is known of it."""
        async with self.ask(repository, _manifest_request("GET", repository, reference)) as answer:
            if answer.status != 200:
                raise await failure(answer, repository.credential, repository.registry.host)
            body = await answer.body(MAX_DOCUMENT)
        known = reference if is_digest(reference) else _said_digest(answer, reference)
        digest = digest_of(body, known or "sha256:")
        _compare(known or digest, digest, answer)
        try:
            return Fetched(read_manifest(body, answer.headers.get("content-type", ""), digest), answer.limits)
        except InvalidManifest as error:
            raise unreachable(Cause.BROKEN, str(error), answer.limits) from None

    async def push_manifest(self, repository: Repository, reference: str, manifest: Manifest) -> None:
        """Write a manifest under a tag or its digest; everything it needs must be there."""
        url = repository.url(f"manifests/{reference}")
        headers = {"Content-Type": manifest.media_type}
        async with self.ask(repository, Request("PUT", url, repository.registry, headers, manifest.body)) as answer:
            if answer.status not in {200, 201}:
                raise await failure(answer, repository.credential, repository.registry.host)
            _compare(manifest.digest, _said_digest(answer, manifest.digest) or manifest.digest, answer)
            await answer.discard()

    async def has_manifest(self, repository: Repository, digest: str) -> bool:
        """Say whether a manifest is there."""
        return await self._has(repository, _manifest_request("HEAD", repository, digest))

    async def has_blob(self, repository: Repository, digest: str) -> bool:
        """Say whether a blob is there; a registry that doesn't do HEAD is taken to have none."""
        return await self._has(repository, Request("HEAD", repository.url(f"blobs/{digest}"), repository.registry))

    @asynccontextmanager
    async def blob(self, repository: Repository, digest: str, start: int = 0) -> AsyncIterator[Answer]:
        """Open a blob from an offset on.

        The answer is a 206, or a 200 with the whole blob from a registry that doesn't do ranges. Nothing is verified
        here; see ``BlobReader``.
        """
        headers = {"Range": f"bytes={start}-"} if start else {}
        request = Request("GET", repository.url(f"blobs/{digest}"), repository.registry, headers)
        async with self.ask(repository, request) as answer:
            if answer.status not in ({200, 206} if start else {200}):
                raise await failure(answer, repository.credential, repository.registry.host)
            yield answer

    async def tags(self, repository: Repository, *, page: int = _PAGE_SIZE) -> AsyncGenerator[str, None]:
        """List the tags of a repository, pages of so many at a time; ``Link`` is followed as it stands.

        A list that can't be read to its end fails, so that a part is never taken for the whole.
        """
        url = repository.url(f"tags/list?n={page}")
        for _ in range(_MAX_PAGES):
            async with self.ask(repository, Request("GET", url, repository.registry)) as answer:
                if answer.status != 200:
                    raise await failure(answer, repository.credential, repository.registry.host)
                tags = read_tags(await answer.body(MAX_DOCUMENT), answer.limits)
            for tag in tags:
                yield tag
            following = next_page(answer)
            if following is None:
                return
            url = following
        raise unreachable(Cause.BROKEN, f"the list of tags has more than {_MAX_PAGES} pages")

    @asynccontextmanager
    async def ask(self, repository: Repository, request: Request, *mounted: Repository) -> AsyncIterator[Answer]:
        """Send a request with what the registry wants to see; the answer is closed at the end of the context.

        Args:
            repository: says which credential, and which actions a token must allow.
            request: for the repository; one for another host goes without a credential.
            mounted: repositories that a token must let us read beside.
        """
        if origin(request.url) != origin(repository.registry.root):
            # an upload or a page on another host: nothing of ours was meant for it
            async with self._wire.follow(request) as answer:
                yield answer
            return
        scopes = (*(replace(r, actions="pull").scope for r in mounted), repository.scope)
        for attempt in range(_ATTEMPTS):
            grant = await self._door.grant(repository, scopes)
            async with self._wire.follow(request.with_authorization(grant.header)) as answer:
                again = self._door.may_try_again(repository, grant, answer, first=attempt == 0)
                if not again or attempt == _ATTEMPTS - 1:
                    yield answer
                    return
                await answer.discard()

    async def _has(self, repository: Repository, request: Request) -> bool:
        async with self.ask(repository, request) as answer:
            if answer.status == 404 or answer.status in _NO_HEAD:
                return False
            if answer.status != 200:
                raise await failure(answer, repository.credential, repository.registry.host)
            return True


def _manifest_request(method: str, repository: Repository, reference: str) -> Request:
    return Request(method, repository.url(f"manifests/{reference}"), repository.registry, {"Accept": ACCEPT})


def _said_digest(answer: Answer, asked: str) -> str | None:
    """Give the digest that the registry says, if it is one, and of the algorithm that was asked for."""
    said = answer.headers.get("docker-content-digest", "").strip()
    if not is_digest(said) or (is_digest(asked) and said.partition(":")[0] != asked.partition(":")[0]):
        return None
    return said


def _compare(expected: str, found: str, answer: Answer) -> None:
    if is_digest(expected) and expected != found:
        raise unreachable(Cause.DIGEST_MISMATCH, f"{expected} was asked for and {found} came", answer.limits)
