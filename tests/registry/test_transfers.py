"""Blobs on a bad network: reads that break off, wrong content, uploads that are cut, refused or sent elsewhere."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest

from compiler.duration import SECOND
from runtime.registry import (
    Copied,
    Copier,
    CopyFailed,
    CopyReason,
    Credential,
    QuotaExceeded,
    Registry,
    RegistryClient,
    Repository,
    Transfer,
    Unreachable,
)
from tests.support.hostile import Hostile, Reply, Seen, hostile
from tests.support.images import Content, digest, image, layer

pytestmark = pytest.mark.anyio

LAYER = layer(1, size=300_000)
IMAGE = image([LAYER])
BLOB = f"/v2/app/blobs/{LAYER.digest}"


@dataclass
class Store:
    """A destination that keeps what it gets, and does with uploads what registries do."""

    blobs: dict[str, bytes] = field(default_factory=dict)
    manifests: dict[str, bytes] = field(default_factory=dict)
    uploads: dict[str, bytearray] = field(default_factory=dict)
    largest: int = 10**9
    least: int = 0

    def answer(self, seen: Seen) -> Reply:
        kind, _, name = seen.path.removeprefix("/v2/mirror/").partition("/")
        if kind == "manifests":
            return self._manifest(seen, name)
        if name.startswith("uploads/"):
            return self._upload(seen, name.removeprefix("uploads/"))
        return Reply(200 if name in self.blobs else 404)

    def _manifest(self, seen: Seen, name: str) -> Reply:
        if seen.method == "PUT":
            self.manifests[name] = self.manifests[digest(seen.body)] = seen.body
            return Reply(201, {"Docker-Content-Digest": digest(seen.body)})
        body = self.manifests.get(name)
        return Reply(404) if body is None else Reply(200, {"Docker-Content-Digest": digest(body)}, body)

    def _upload(self, seen: Seen, name: str) -> Reply:
        if seen.method == "POST":
            name = f"session-{len(self.uploads)}"
            self.uploads[name] = bytearray()
            more = {"OCI-Chunk-Min-Length": str(self.least)} if self.least else {}
            return Reply(202, {"Location": f"/v2/mirror/blobs/uploads/{name}?state=1", **more})
        if name not in self.uploads:
            return Reply(404)
        if len(seen.body) > self.largest:
            return Reply(413)
        self.uploads[name] += seen.body
        received = len(self.uploads[name])
        if seen.method != "PUT":
            status = 202 if seen.method == "PATCH" else 204
            location = f"/v2/mirror/blobs/uploads/{name}?state={received}"
            return Reply(status, {"Location": location, "Range": f"0-{max(0, received - 1)}"})
        wanted = re.sub("%3[Aa]", ":", seen.target.rpartition("digest=")[2])
        if digest(bytes(self.uploads[name])) != wanted:
            return Reply(400)
        self.blobs[wanted] = bytes(self.uploads.pop(name))
        return Reply(201, {"Docker-Content-Digest": wanted})


@asynccontextmanager
async def destination() -> AsyncIterator[tuple[Hostile, Store]]:
    store = Store()
    async with hostile({}) as target:
        target.otherwise = store.answer
        yield target, store


def origin(content: Content = IMAGE) -> dict[str, Reply | list[Reply] | Callable[[Seen], Reply]]:
    """Give the answers of a source that is well behaved."""
    answers: dict[str, Reply | list[Reply] | Callable[[Seen], Reply]] = {
        "GET /v2/app/manifests/1": Reply(200, {"Content-Type": content.media_type}, content.body)
    }
    for need in content.needs:
        answers[f"GET /v2/app/blobs/{need.digest}"] = Reply(200, {}, need.body)
    return answers


def ranged(body: bytes) -> Callable[[Seen], Reply]:
    def answer(seen: Seen) -> Reply:
        start = int(seen.headers.get("range", "bytes=0-").removeprefix("bytes=").rstrip("-"))
        headers = {"Content-Range": f"bytes {start}-{len(body) - 1}/{len(body)}"} if start else {}
        return Reply(206 if start else 200, headers, body[start:])

    return answer


async def copy(source: Hostile, target: Hostile, credential: Credential | None = None) -> Copied:
    async with RegistryClient() as client:
        return await Copier(client).copy(
            Transfer(
                Repository(Registry(source.host, insecure=True), "app"),
                "1",
                Repository(Registry(target.host, insecure=True), "mirror", credential, "pull,push"),
                ("1",),
                timeout=20 * SECOND,
            )
        )


def ranges(source: Hostile) -> list[str]:
    return [seen.headers.get("range", "") for seen in source.requests if seen.path == BLOB]


async def test_a_read_that_breaks_off_goes_on_by_range() -> None:
    answers = origin()
    answers[f"GET {BLOB}"] = [Reply(200, {}, LAYER.body[:100_000], length=300_000), ranged(LAYER.body)]
    async with hostile(answers) as source, destination() as (target, store):
        copied = await copy(source, target)
        assert LAYER.body == store.blobs[LAYER.digest]
        assert ["", "bytes=100000-"] == ranges(source)
        assert len(LAYER.body) + len(IMAGE.needs[0].body) == copied.bytes
        assert IMAGE.body == store.manifests["1"]


async def test_a_source_without_ranges_is_read_again_and_skipped() -> None:
    answers = origin()
    answers[f"GET {BLOB}"] = [Reply(200, {}, LAYER.body[:100_000], length=300_000), Reply(200, {}, LAYER.body)]
    async with hostile(answers) as source, destination() as (target, store):
        await copy(source, target)
        assert LAYER.body == store.blobs[LAYER.digest]


async def test_a_source_that_breaks_off_for_ever_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runtime.registry.reader._PAUSE", 0)
    answers = origin()
    answers[f"GET {BLOB}"] = lambda seen: (
        Reply(200, {}, LAYER.body[:1], length=300_000)
        if "range" not in seen.headers
        else Reply(206, {"Content-Range": "bytes 1-299999/300000"}, b"", length=299_999)
    )
    async with hostile(answers) as source, destination() as (target, store):
        with pytest.raises(CopyFailed) as failed:
            await copy(source, target)
        assert CopyReason.SOURCE_UNAVAILABLE == failed.value.reason
        assert isinstance(failed.value.verdict, Unreachable)
        assert 6 == len(ranges(source))
        assert {} == store.manifests


async def test_a_range_that_begins_elsewhere_is_refused() -> None:
    answers = origin()
    answers[f"GET {BLOB}"] = [
        Reply(200, {}, LAYER.body[:100_000], length=300_000),
        Reply(206, {"Content-Range": "bytes 200000-299999/300000"}, LAYER.body[200_000:]),
    ]
    async with hostile(answers) as source, destination() as (target, store):
        with pytest.raises(CopyFailed, match="begins too late"):
            await copy(source, target)
        assert LAYER.digest not in store.blobs


@pytest.mark.parametrize("wrong", [LAYER.body[:-1] + b"!", LAYER.body + b"more", bytes(300_000)])
async def test_wrong_content_never_completes_an_upload(wrong: bytes) -> None:
    answers = origin()
    answers[f"GET {BLOB}"] = Reply(200, {}, wrong)
    async with hostile(answers) as source, destination() as (target, store):
        with pytest.raises(CopyFailed) as failed:
            await copy(source, target)
        assert CopyReason.DIGEST_MISMATCH == failed.value.reason
        # the destination, which checks nothing here, has not got the last byte either
        assert not any(seen.method == "PUT" and len(seen.body) >= 300_000 for seen in target.requests)
        assert {} == store.manifests


async def test_a_blob_of_another_length_is_not_even_read() -> None:
    answers = origin()
    answers[f"GET {BLOB}"] = Reply(200, {}, LAYER.body[:1000])
    async with hostile(answers) as source, destination() as (target, store):
        with pytest.raises(CopyFailed) as failed:
            await copy(source, target)
        assert CopyReason.DIGEST_MISMATCH == failed.value.reason
        assert 1 == len(ranges(source))
        assert {} == store.manifests


@pytest.mark.rule("W10")
async def test_w10_a_source_that_rations_in_the_middle() -> None:
    answers = origin()
    answers[f"GET {BLOB}"] = Reply(429, {"Retry-After": "60"}, b'{"errors":[{"code":"TOOMANYREQUESTS"}]}')
    async with hostile(answers) as source, destination() as (target, store):
        with pytest.raises(CopyFailed) as failed:
            await copy(source, target)
        assert CopyReason.QUOTA_EXCEEDED == failed.value.reason
        assert isinstance(failed.value.verdict, QuotaExceeded)
        assert 60 * SECOND == failed.value.limits.retry_after
        assert 1 == len(ranges(source))
        assert {} == store.manifests


async def test_a_destination_that_rations_says_nothing_of_the_source() -> None:
    async with hostile(origin()) as source, destination() as (target, _):
        target.answers["POST /v2/mirror/blobs/uploads/"] = [Reply(429, {"Retry-After": "60"})]
        with pytest.raises(CopyFailed) as failed:
            await copy(source, target)
        assert CopyReason.PUSH_FAILED == failed.value.reason
        assert failed.value.verdict is None
        assert failed.value.limits.retry_after is None


# uploads


def puts(target: Hostile) -> list[tuple[str, str, int]]:
    return [
        (seen.method, seen.headers.get("content-range", ""), len(seen.body))
        for seen in target.requests
        if "uploads/session" in seen.target and len(seen.body) != len(IMAGE.needs[0].body)
    ]


async def test_a_blob_is_sent_whole() -> None:
    async with hostile(origin()) as source, destination() as (target, store):
        await copy(source, target)
        assert [("PUT", "", 300_000)] == puts(target)
        assert LAYER.body == store.blobs[LAYER.digest]


async def test_a_registry_that_wants_chunks_gets_them() -> None:
    big = layer(2, size=40_000_000)
    content = image([big])
    async with hostile(origin(content)) as source, destination() as (target, store):
        store.largest = 16 * 2**20
        await copy(source, target)
        assert big.body == store.blobs[big.digest]
        patches = [p for p in puts(target) if p[0] == "PATCH"]
        assert ["0-16777215", "16777216-33554431", "33554432-39999999"] == [p[1] for p in patches]


async def test_an_upload_that_was_cut_is_resumed() -> None:
    async with hostile(origin()) as source, destination() as (target, store):
        target.cut = lambda seen: (
            100_000 if seen.headers.get("content-length") == "300000" and not puts(target) else None
        )

        def keep(seen: Seen) -> None:
            store.uploads[seen.path.rpartition("/")[2]] += seen.body

        target.when_cut = keep
        source.answers[f"GET {BLOB}"] = [ranged(LAYER.body)]
        await copy(source, target)
        assert LAYER.body == store.blobs[LAYER.digest]
        assert [("PUT", "", 100_000), ("GET", "", 0), ("PATCH", "100000-299999", 200_000), ("PUT", "", 0)] == puts(
            target
        )


async def test_an_upload_that_was_forgotten_is_restarted() -> None:
    async with hostile(origin()) as source, destination() as (target, store):
        target.cut = lambda seen: (
            100_000 if seen.headers.get("content-length") == "300000" and not puts(target) else None
        )
        target.when_cut = lambda seen: store.uploads.pop(seen.path.rpartition("/")[2])
        source.answers[f"GET {BLOB}"] = [ranged(LAYER.body)]
        await copy(source, target)
        assert LAYER.body == store.blobs[LAYER.digest]
        assert ["PUT", "GET", "PUT"] == [method for method, _, _ in puts(target)]


async def test_an_upload_that_is_cut_each_time_is_given_up() -> None:
    async with hostile(origin()) as source, destination() as (target, store):
        target.cut = lambda seen: 10 if seen.method in {"PUT", "PATCH"} and "session" in seen.target else None
        source.answers[f"GET {BLOB}"] = [ranged(LAYER.body)]
        with pytest.raises(CopyFailed) as failed:
            await copy(source, target)
        assert CopyReason.PUSH_FAILED == failed.value.reason
        assert {} == store.manifests


async def test_a_location_on_another_host_gets_no_credential() -> None:
    user = Credential("kuik", "sesame")
    async with hostile(origin()) as source, destination() as (target, store), hostile({}) as storage:

        def elsewhere(seen: Seen) -> Reply:
            if "authorization" not in seen.headers:
                return Reply(401, {"WWW-Authenticate": "Basic"})
            reply = store.answer(seen)
            location = reply.headers.get("Location", "")
            return Reply(reply.status, {**reply.headers, "Location": f"http://{storage.host}{location}"}, reply.body)

        target.otherwise = elsewhere
        storage.otherwise = store.answer
        await copy(source, target, user)
        assert LAYER.body == store.blobs[LAYER.digest]
        assert 2 == len(storage.requests)
        assert not any("authorization" in seen.headers for seen in storage.requests)


async def test_a_destination_that_stores_something_else_is_not_tagged() -> None:
    lie = Reply(201, {"Docker-Content-Digest": digest(b"something else")})
    async with hostile(origin()) as source, destination() as (target, store):
        target.otherwise = lambda seen: lie if seen.method == "PUT" and "uploads" in seen.path else store.answer(seen)
        with pytest.raises(CopyFailed) as failed:
            await copy(source, target)
        assert CopyReason.DIGEST_MISMATCH == failed.value.reason
        assert {} == store.manifests


@pytest.mark.parametrize("status", [401, 403, 405, 500, 202])
async def test_a_mount_that_is_refused_becomes_an_upload(status: int) -> None:
    async with hostile(origin()) as source, destination() as (target, store):

        def answer(seen: Seen) -> Reply:
            return Reply(status) if "mount=" in seen.target else store.answer(seen)

        target.otherwise = answer
        source.otherwise = answer
        source.host = target.host
        target.answers.update(source.answers)
        copied = await copy(target, target)
        assert (0, 2) == (copied.mounted, copied.sent)
        assert LAYER.body == store.blobs[LAYER.digest]
