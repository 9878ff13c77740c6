"""Checks: every row of the specification's table, and how many requests each costs, counted at the server."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from typing import Any

import pytest

from compiler.duration import MILLISECOND, SECOND
from runtime.registry import (
    Available,
    Cause,
    Checker,
    Credential,
    Limits,
    NotFound,
    QuotaExceeded,
    Registry,
    RegistryClient,
    Report,
    Repository,
    Unauthorized,
    Unreachable,
    Verdict,
)
from runtime.registry.manifest import ACCEPT
from tests.support.hostile import Hostile, Reply, hostile
from tests.support.images import digest, image, index, layer

pytestmark = pytest.mark.anyio

IMAGE = image([layer(1)])
INDEX = index([image([layer(1)], platform="linux/amd64"), image([layer(2)], platform="linux/arm64")])
HEAD, GET = "HEAD /v2/team/app/manifests/1", "GET /v2/team/app/manifests/1"
USER = Credential("kuik", "sesame")


def found(body: bytes = IMAGE.body, media_type: str = IMAGE.media_type, **headers: str) -> Reply:
    return Reply(200, {"Docker-Content-Digest": digest(body), "Content-Type": media_type, **headers}, body)


async def report(
    registry: Hostile,
    credential: Credential | None = None,
    reference: str = "1",
    *,
    checks: int = 1,
    within: int = 10 * SECOND,
    running: Collection[str] | None = None,
    name: str = "team/app",
) -> Report:
    """Check an image, several times over with one client, and give the last report."""
    repository = Repository(Registry(registry.host, insecure=True), name, credential)
    async with RegistryClient() as client:
        checker = Checker(client)
        for _ in range(checks - 1):
            await checker.check(repository, reference, within=within, running=running)
        return await checker.check(repository, reference, within=within, running=running)


async def verdict(
    registry: Hostile, credential: Credential | None = None, reference: str = "1", **more: Any
) -> Verdict:
    return (await report(registry, credential, reference, **more)).verdict


async def test_an_answer_with_a_digest_is_available_for_one_head() -> None:
    async with hostile({HEAD: found()}) as registry:
        assert Available(IMAGE.digest) == await verdict(registry)
        assert ["HEAD /v2/team/app/manifests/1"] == registry.asked()


async def test_every_manifest_type_is_accepted() -> None:
    async with hostile({HEAD: found()}) as registry:
        await verdict(registry)
        assert ACCEPT == registry.requests[0].headers["accept"]
        assert 4 == len(ACCEPT.split(", "))


async def test_an_answer_without_a_digest_is_read_once_and_hashed() -> None:
    async with hostile({HEAD: Reply(200), GET: Reply(200, {}, IMAGE.body)}) as registry:
        assert Available(IMAGE.digest) == await verdict(registry)
        assert [HEAD, GET] == registry.asked()


async def test_a_digest_that_is_none_is_as_good_as_missing() -> None:
    odd = {"Docker-Content-Digest": "sha256:../../secrets"}
    async with hostile({HEAD: Reply(200, odd), GET: Reply(200, odd, IMAGE.body)}) as registry:
        assert Available(IMAGE.digest) == await verdict(registry)


async def test_what_is_not_there_is_not_found() -> None:
    async with hostile({HEAD: Reply(404)}) as registry:
        assert isinstance(await verdict(registry), NotFound)
        assert [HEAD] == registry.asked()


@pytest.mark.parametrize("status", [401, 403])
async def test_an_anonymous_refusal_names_what_is_missing(status: int) -> None:
    async with hostile({HEAD: Reply(status)}) as registry:
        refused = await verdict(registry)
        assert isinstance(refused, Unauthorized)
        assert "perPrefixFallbackAuth" in refused.message
        assert "no such repository" in refused.message
        assert [HEAD] == registry.asked()


@pytest.mark.parametrize("status", [401, 403])
async def test_a_credential_that_is_refused_is_shown_once(status: int) -> None:
    async with hostile({HEAD: Reply(status, {"WWW-Authenticate": 'Basic realm="x"'})}) as registry:
        refused = await verdict(registry, USER)
        assert isinstance(refused, Unauthorized)
        assert "perPrefixFallbackAuth" not in refused.message
        assert [HEAD, HEAD] == registry.asked()
        assert [False, True] == ["authorization" in seen.headers for seen in registry.requests]


@pytest.mark.rule("W10")
async def test_w10_a_429_is_quota_exceeded_and_never_repeated() -> None:
    async with hostile({HEAD: Reply(429, {"Retry-After": "120"})}) as registry:
        rationed = await report(registry)
        assert isinstance(rationed.verdict, QuotaExceeded)
        assert 120 * SECOND == rationed.verdict.retry_after
        assert 120 * SECOND == rationed.limits.retry_after
        assert [HEAD] == registry.asked()


@pytest.mark.rule("W10")
async def test_w10_a_429_without_a_time_has_none() -> None:
    async with hostile({HEAD: Reply(429)}) as registry:
        rationed = await verdict(registry)
        assert isinstance(rationed, QuotaExceeded)
        assert rationed.retry_after is None


@pytest.mark.rule("W10")
async def test_w10_the_body_of_a_get_says_how_long() -> None:
    body = b'{"errors":[{"code":"toomanyrequests","message":"retry-after: 1.5s, allowed: 44000/minute"}]}'
    async with hostile({HEAD: Reply(405), GET: Reply(403, {}, body)}) as registry:
        rationed = await verdict(registry)
        assert isinstance(rationed, QuotaExceeded)
        assert 1500 * MILLISECOND == rationed.retry_after


async def test_nothing_left_of_the_quota_is_still_available() -> None:
    async with hostile(
        {HEAD: found(**{"RateLimit-Limit": "100;w=21600", "RateLimit-Remaining": "0;w=21600"})}
    ) as registry:
        checked = await report(registry)
        assert Available(IMAGE.digest) == checked.verdict
        assert Limits(limit=100, remaining=0, window=21600 * SECOND) == checked.limits


@pytest.mark.parametrize("status", [400, 405, 501])
async def test_a_registry_without_head_is_asked_by_get_from_then_on(status: int) -> None:
    async with hostile({HEAD: Reply(status), GET: found()}) as registry:
        assert Available(IMAGE.digest) == await verdict(registry, checks=3)
        assert [HEAD, GET, GET, GET] == registry.asked()


async def test_a_registry_that_refuses_get_as_well_is_asked_by_head_again() -> None:
    async with hostile({HEAD: Reply(400), GET: Reply(400)}) as registry:
        assert Unreachable(Cause.STATUS, f"{registry.host} answered 400 Bad Request") == await verdict(
            registry, checks=2
        )
        assert [HEAD, GET, HEAD, GET] == registry.asked()


@pytest.mark.parametrize("status", [201, 204, 304, 402, 410, 500, 502, 503, 504])
async def test_any_other_status_is_unreachable(status: int) -> None:
    async with hostile({HEAD: Reply(status)}) as registry:
        odd = await verdict(registry)
        assert isinstance(odd, Unreachable)
        assert Cause.STATUS == odd.cause
        assert str(status) in odd.message
        assert [HEAD] == registry.asked()


async def test_a_503_is_no_matter_of_quota() -> None:
    async with hostile({HEAD: Reply(503, {"Retry-After": "60"})}) as registry:
        checked = await report(registry)
        assert isinstance(checked.verdict, Unreachable)
        assert checked.limits.retry_after is None


async def test_a_name_without_an_address() -> None:
    repository = Repository(Registry("no-such-host.invalid", insecure=True), "team/app")
    async with RegistryClient() as client:
        checked = await Checker(client).check(repository, "1", within=30 * SECOND)
    assert isinstance(checked.verdict, Unreachable)
    assert Cause.DNS == checked.verdict.cause
    assert "no-such-host.invalid" in checked.verdict.message


async def test_nobody_listens() -> None:
    async with hostile({}) as registry:
        pass
    refused = await verdict(registry)
    assert isinstance(refused, Unreachable)
    assert Cause.CONNECT == refused.cause
    assert "refused" in refused.message


async def test_the_time_is_for_all_of_the_check() -> None:
    never = asyncio.Event().wait
    async with hostile({HEAD: Reply(before=never)}) as registry:
        late = await verdict(registry, within=50 * MILLISECOND)
        assert Unreachable(Cause.TIMEOUT, "no answer within 50ms") == late
        assert [HEAD] == registry.asked()


async def test_a_body_that_never_ends_is_cut_off_with_the_check() -> None:
    async with hostile({HEAD: Reply(405), GET: Reply(200, {}, b"{", length=100, hang=True)}) as registry:
        assert Unreachable(Cause.TIMEOUT, "no answer within 50ms") == await verdict(registry, within=50 * MILLISECOND)


async def test_a_body_that_breaks_off() -> None:
    async with hostile({HEAD: Reply(405), GET: Reply(200, {}, IMAGE.body, length=10_000)}) as registry:
        broken = await verdict(registry)
        assert isinstance(broken, Unreachable)
        assert Cause.BROKEN == broken.cause
        assert [HEAD, GET] == registry.asked()


@pytest.mark.parametrize(
    "body", [b"", b"<html>sign in</html>", b"[]", b'{"schemaVersion": 1}', b"[" * 100_000, b'{"schemaVersion": 2}']
)
async def test_a_page_that_is_no_manifest_is_not_available(body: bytes) -> None:
    async with hostile({HEAD: Reply(200), GET: Reply(200, {}, body)}) as registry:
        broken = await verdict(registry)
        assert isinstance(broken, Unreachable)
        assert Cause.BROKEN == broken.cause


async def test_a_manifest_without_end_is_given_up() -> None:
    async with hostile({HEAD: Reply(200), GET: Reply(200, {}, b" " * 5_000_000)}) as registry:
        broken = await verdict(registry)
        assert isinstance(broken, Unreachable)
        assert Cause.BROKEN == broken.cause


@pytest.mark.parametrize("raw", [b"not HTTP at all\r\n\r\n", b"HTTP/1.1 200 OK\r\nbad header\r\n\r\n", b"HTTP/1.1 2"])
async def test_what_is_not_http(raw: bytes) -> None:
    async with hostile({HEAD: Reply(raw=raw)}) as registry:
        broken = await verdict(registry)
        assert isinstance(broken, Unreachable)
        assert Cause.BROKEN == broken.cause
        assert [HEAD] == registry.asked()


async def test_another_digest_than_asked_for() -> None:
    asked = digest(b"something else")
    async with hostile({f"HEAD /v2/team/app/manifests/{asked}": found()}) as registry:
        wrong = await verdict(registry, reference=asked)
        assert isinstance(wrong, Unreachable)
        assert Cause.DIGEST_MISMATCH == wrong.cause
        assert 1 == len(registry.requests)


async def test_a_body_that_is_not_of_its_digest() -> None:
    lie = Reply(200, {"Docker-Content-Digest": digest(b"something else")}, IMAGE.body)
    async with hostile({HEAD: Reply(405), GET: lie}) as registry:
        wrong = await verdict(registry)
        assert isinstance(wrong, Unreachable)
        assert Cause.DIGEST_MISMATCH == wrong.cause


async def test_a_sha512_digest_is_hashed_as_such() -> None:
    import hashlib

    asked = f"sha512:{hashlib.sha512(IMAGE.body).hexdigest()}"
    path = f"/v2/team/app/manifests/{asked}"
    async with hostile({f"HEAD {path}": found(), f"GET {path}": found()}) as registry:
        assert Available(asked) == await verdict(registry, reference=asked)
        assert [f"HEAD {path}", f"GET {path}"] == registry.asked()


# kept-alive connections


async def test_a_kept_alive_connection_that_died_is_tried_once_more() -> None:
    async with hostile({HEAD: [found(), Reply(raw=b""), found()]}) as registry:
        assert Available(IMAGE.digest) == await verdict(registry, checks=2)
        assert [HEAD, HEAD, HEAD] == registry.asked()
        assert 2 == registry.connections


async def test_a_kept_alive_connection_that_dies_twice_is_not_tried_again() -> None:
    async with hostile({HEAD: [found(), Reply(raw=b"")]}) as registry:
        dead = await verdict(registry, checks=2)
        assert isinstance(dead, Unreachable)
        assert Cause.BROKEN == dead.cause
        assert [HEAD, HEAD, HEAD] == registry.asked()


async def test_a_new_connection_that_dies_is_not_tried_again() -> None:
    async with hostile({HEAD: Reply(raw=b"")}) as registry:
        assert isinstance(await verdict(registry), Unreachable)
        assert [HEAD] == registry.asked()


async def test_a_byte_of_an_answer_is_an_answer() -> None:
    async with hostile({HEAD: [found(), Reply(raw=b"H"), found()]}) as registry:
        assert isinstance(await verdict(registry, checks=2), Unreachable)
        assert [HEAD, HEAD] == registry.asked()


# drift

RUNNING = digest(b"what runs")
BY_DIGEST = f"GET /v2/team/app/manifests/{INDEX.digest}"
PLATFORMS = frozenset(need.digest for need in INDEX.needs)


async def test_an_index_that_is_new_is_read_once() -> None:
    async with hostile(
        {HEAD: found(INDEX.body, INDEX.media_type), BY_DIGEST: found(INDEX.body, INDEX.media_type)}
    ) as registry:
        assert Available(INDEX.digest, PLATFORMS) == await verdict(registry, running={RUNNING}, checks=3)
        assert [HEAD, BY_DIGEST, HEAD, HEAD] == registry.asked()


async def test_what_runs_is_not_read() -> None:
    async with hostile({HEAD: found(INDEX.body, INDEX.media_type)}) as registry:
        assert Available(INDEX.digest) == await verdict(registry, running={RUNNING, INDEX.digest})
        assert [HEAD] == registry.asked()


async def test_a_single_manifest_is_not_read() -> None:
    async with hostile({HEAD: found()}) as registry:
        assert Available(IMAGE.digest, frozenset()) == await verdict(registry, running={RUNNING})
        assert [HEAD] == registry.asked()


async def test_what_was_read_already_is_not_read_again() -> None:
    async with hostile({HEAD: Reply(405), GET: found(INDEX.body, INDEX.media_type)}) as registry:
        assert Available(INDEX.digest, PLATFORMS) == await verdict(registry, running={RUNNING})
        assert [HEAD, GET] == registry.asked()


async def test_an_index_that_cannot_be_read_is_available_all_the_same() -> None:
    rationed = Reply(429, {"Retry-After": "7"})
    async with hostile({HEAD: found(INDEX.body, INDEX.media_type), BY_DIGEST: rationed}) as registry:
        checked = await report(registry, running={RUNNING})
        assert Available(INDEX.digest) == checked.verdict
        assert 7 * SECOND == checked.limits.retry_after
