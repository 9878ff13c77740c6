"""Authentication: the challenge decides, is remembered, and costs at most a token and a HEAD."""

from __future__ import annotations

import asyncio
import base64
import json
import logging
from collections.abc import Callable
from typing import Any

import pytest

from compiler.duration import SECOND
from runtime.registry import (
    Available,
    Cause,
    Checker,
    Clocks,
    Credential,
    NotFound,
    QuotaExceeded,
    Registry,
    RegistryClient,
    Repository,
    Unauthorized,
    Unreachable,
    Verdict,
)
from tests.support.hostile import Hostile, Reply, Seen, hostile
from tests.support.images import image, layer
from tests.support.token_server import TokenServer

pytestmark = pytest.mark.anyio

IMAGE = image([layer(1)])
HEAD = "HEAD /v2/team/app/manifests/1"
FOUND = Reply(200, {"Docker-Content-Digest": IMAGE.digest})
USER = Credential("kuik", "sesame")
ASKED = "GET /token?service=registry.test&scope=repository%3Ateam%2Fapp%3Apull"


class Clock:
    def __init__(self) -> None:
        self.now = 0

    def __call__(self) -> int:
        return self.now


def bearer(registry: Hostile, token: str = "good", **parameters: str) -> Callable[[Seen], Reply]:
    """Answer as a registry that wants a certain token."""

    def answer(seen: Seen) -> Reply:
        if seen.headers.get("authorization") == f"Bearer {token}":
            return FOUND
        more = "".join(f',{name}="{value}"' for name, value in parameters.items())
        realm = f'Bearer realm="http://{registry.host}/token",service="registry.test"{more}'
        return Reply(401, {"WWW-Authenticate": realm})

    return answer


def tokens(*answers: dict[str, Any] | Reply) -> list[Any]:
    return [a if isinstance(a, Reply) else Reply(200, {}, json.dumps(a).encode()) for a in answers]


async def verdicts(
    registry: Hostile, credential: Credential | None = None, *, waits: tuple[int, ...] = (0,), name: str = "team/app"
) -> list[Verdict]:
    """Check an image after each of these waits, with one client."""
    clock = Clock()
    found = []
    async with RegistryClient(clocks=Clocks(clock)) as client:
        checker = Checker(client)
        for wait in waits:
            clock.now += wait
            place = Repository(Registry(registry.host, insecure=True), name, credential)
            found.append((await checker.check(place, "1", within=10 * SECOND)).verdict)
    return found


async def test_a_token_is_asked_for_with_service_and_one_scope() -> None:
    async with hostile({"GET /token": tokens({"token": "good"})}) as registry:
        registry.answers[HEAD] = [bearer(registry)]
        assert [Available(IMAGE.digest)] == await verdicts(registry)
        assert [HEAD, ASKED, HEAD] == registry.asked()
        assert "authorization" not in registry.requests[1].headers


async def test_the_second_check_costs_a_head() -> None:
    async with hostile({"GET /token": tokens({"access_token": "good"})}) as registry:
        registry.answers[HEAD] = [bearer(registry)]
        assert [Available(IMAGE.digest)] * 2 == await verdicts(registry, waits=(0, 40 * SECOND))
        assert [HEAD, ASKED, HEAD, HEAD] == registry.asked()


async def test_a_remembered_challenge_costs_a_token_and_a_head() -> None:
    async with hostile({"GET /token": tokens({"token": "good"})}) as registry:
        registry.answers[HEAD] = [bearer(registry)]
        assert [Available(IMAGE.digest)] * 2 == await verdicts(registry, waits=(0, 60 * SECOND))
        assert [HEAD, ASKED, HEAD, ASKED, HEAD] == registry.asked()


@pytest.mark.parametrize(
    "said, kept, gone",
    [
        (None, 49, 50),
        (0, 49, 50),
        (-5, 49, 50),
        ("300", 49, 50),
        (True, 49, 50),
        (10, 7, 9),
        (300, 289, 290),
        (3600.5, 3590, 3591),
    ],
)
async def test_a_token_is_kept_until_shortly_before_it_expires(said: Any, kept: int, gone: int) -> None:
    answer = {"token": "good"} if said is None else {"token": "good", "expires_in": said}
    for wait, asked in ((kept, 1), (gone, 2)):
        async with hostile({"GET /token": tokens(answer)}) as registry:
            registry.answers[HEAD] = [bearer(registry)]
            await verdicts(registry, waits=(0, wait * SECOND))
            assert asked == registry.asked().count(ASKED)


async def test_a_cached_token_that_is_refused_is_replaced_once() -> None:
    async with hostile({"GET /token": tokens({"token": "good"}, {"token": "better"})}) as registry:
        registry.answers[HEAD] = [bearer(registry), bearer(registry), bearer(registry, "better")]
        assert [Available(IMAGE.digest)] * 2 == await verdicts(registry, waits=(0, 1))
        assert [HEAD, ASKED, HEAD, HEAD, ASKED, HEAD] == registry.asked()


async def test_a_new_token_that_is_refused_is_the_end() -> None:
    async with hostile({"GET /token": tokens({"token": "bad"})}) as registry:
        registry.answers[HEAD] = [bearer(registry)]
        assert isinstance((await verdicts(registry))[0], Unauthorized)
        assert [HEAD, ASKED, HEAD] == registry.asked()


async def test_a_cached_token_that_is_refused_with_its_successor_is_the_end() -> None:
    async with hostile({"GET /token": tokens({"token": "good"}, {"token": "bad"})}) as registry:
        registry.answers[HEAD] = [bearer(registry), bearer(registry), bearer(registry, "other")]
        assert isinstance((await verdicts(registry, waits=(0, 1)))[1], Unauthorized)
        assert [HEAD, ASKED, HEAD, HEAD, ASKED, HEAD] == registry.asked()


@pytest.mark.parametrize("status", [401, 403])
async def test_a_token_endpoint_that_refuses_is_unauthorized_not_not_found(status: int) -> None:
    async with hostile({"GET /token": Reply(status)}) as registry:
        registry.answers[HEAD] = [bearer(registry)]
        refused = (await verdicts(registry, USER))[0]
        assert isinstance(refused, Unauthorized)
        assert "token endpoint" in refused.message
        assert [HEAD, ASKED] == registry.asked()


@pytest.mark.rule("W10")
async def test_w10_a_token_endpoint_that_rations_counts_for_the_registry() -> None:
    async with hostile({"GET /token": Reply(429, {"Retry-After": "30"})}) as registry:
        registry.answers[HEAD] = [bearer(registry)]
        rationed = (await verdicts(registry))[0]
        assert isinstance(rationed, QuotaExceeded)
        assert 30 * SECOND == rationed.retry_after


@pytest.mark.parametrize(
    "answer, cause",
    [
        (Reply(500), Cause.STATUS),
        (Reply(404), Cause.STATUS),
        (Reply(200, {}, b"<html>"), Cause.BROKEN),
        (Reply(200, {}, b"{}"), Cause.BROKEN),
        (Reply(200, {}, b'{"token": 7}'), Cause.BROKEN),
        (Reply(200, {}, b'{"token": "a\\r\\nX-Injected: 1"}'), Cause.BROKEN),
        (Reply(200, {}, b'{"token": "good"', length=100), Cause.BROKEN),
        (Reply(302, {"Location": "/token"}), Cause.REDIRECT),
    ],
)
async def test_a_token_endpoint_without_a_token(answer: Reply, cause: Cause) -> None:
    async with hostile({"GET /token": answer}) as registry:
        registry.answers[HEAD] = [bearer(registry)]
        failed = (await verdicts(registry))[0]
        assert isinstance(failed, Unreachable)
        assert cause == failed.cause


@pytest.mark.parametrize("realm", ["https://127.0.0.1:1:1/token", "ftp://x/token", "/token", "nonsense"])
async def test_a_realm_that_is_no_url(realm: str) -> None:
    async with hostile({HEAD: Reply(401, {"WWW-Authenticate": f'Bearer realm="{realm}"'})}) as registry:
        assert isinstance((await verdicts(registry))[0], Unreachable)
        assert [HEAD] == registry.asked()


async def test_a_realm_keeps_the_query_that_it_has() -> None:
    async with hostile({"GET /token": tokens({"token": "good"})}) as registry:
        realm = f'Bearer realm="http://{registry.host}/token?tenant=7"'
        registry.answers[HEAD] = [Reply(401, {"WWW-Authenticate": realm}), FOUND]
        assert [Available(IMAGE.digest)] == await verdicts(registry)
        assert "GET /token?tenant=7&scope=repository%3Ateam%2Fapp%3Apull" == registry.asked()[1]


async def test_the_credential_goes_to_the_token_endpoint_and_not_past_it() -> None:
    async with hostile({"GET /elsewhere": tokens({"token": "good"})}) as other, hostile({}) as registry:
        registry.answers = {
            HEAD: [bearer(registry)],
            "GET /token": [Reply(307, {"Location": f"http://{other.host}/elsewhere"})],
        }
        assert [Available(IMAGE.digest)] == await verdicts(registry, USER)
        assert USER.basic() == registry.requests[1].headers["authorization"]
        assert "authorization" not in other.requests[0].headers


async def test_tokens_of_two_credentials_are_two() -> None:
    async with hostile({"GET /token": tokens({"token": "good"}), HEAD: FOUND}) as registry:
        registry.answers[HEAD] = [bearer(registry)]
        async with RegistryClient() as client:
            for credential in (USER, Credential("other", "word"), None, USER):
                place = Repository(Registry(registry.host, insecure=True), "team/app", credential)
                await Checker(client).check(place, "1", within=SECOND)
        shown = [seen.headers.get("authorization") for seen in registry.requests if seen.path == "/token"]
        assert [USER.basic(), Credential("other", "word").basic(), None] == shown


async def test_many_who_want_the_same_token_ask_for_it_once() -> None:
    async with hostile({"GET /token": tokens({"token": "good"})}) as registry:
        registry.answers[HEAD] = [bearer(registry)]
        async with RegistryClient() as client:
            place = Repository(Registry(registry.host, insecure=True), "team/app")
            checks = (Checker(client).check(place, "1", within=10 * SECOND) for _ in range(20))
            reports = await asyncio.gather(*checks)
        assert {Available(IMAGE.digest)} == {report.verdict for report in reports}
        assert 1 == registry.asked().count(ASKED)


async def test_basic_is_remembered() -> None:
    async with hostile({HEAD: [Reply(401, {"WWW-Authenticate": 'Basic realm="x"'}), FOUND]}) as registry:
        assert [Available(IMAGE.digest)] * 2 == await verdicts(registry, USER, waits=(0, 0))
        assert [None, USER.basic(), USER.basic()] == [r.headers.get("authorization") for r in registry.requests]


async def test_no_challenge_means_basic_if_there_is_a_credential() -> None:
    async with hostile({HEAD: [Reply(401), FOUND]}) as registry:
        assert [Available(IMAGE.digest)] == await verdicts(registry, USER)
        assert USER.basic() == registry.requests[1].headers["authorization"]


async def test_basic_without_a_credential_is_refused_at_once() -> None:
    async with hostile({HEAD: Reply(401, {"WWW-Authenticate": 'Basic realm="x"'})}) as registry:
        assert isinstance((await verdicts(registry))[0], Unauthorized)
        assert [HEAD] == registry.asked()


async def test_a_registry_that_changes_its_mind_is_followed() -> None:
    async with hostile({"GET /token": tokens({"token": "good"})}) as registry:
        basic = Reply(401, {"WWW-Authenticate": 'Basic realm="x"'})
        registry.answers[HEAD] = [basic, FOUND, bearer(registry)]
        assert [Available(IMAGE.digest)] * 2 == await verdicts(registry, USER, waits=(0, 0))
        assert 5 == len(registry.requests)


async def test_a_registry_that_never_knows_its_mind_is_asked_twice() -> None:
    async with hostile({"GET /token": tokens({"token": "good"})}) as registry:
        basic = Reply(401, {"WWW-Authenticate": 'Basic realm="x"'})
        registry.answers[HEAD] = [basic, bearer(registry, "other"), basic]
        assert isinstance((await verdicts(registry, USER))[0], Unauthorized)
        assert [HEAD, HEAD] == registry.asked()


async def test_an_identity_token_is_exchanged() -> None:
    async with hostile({"POST /token": tokens({"access_token": "good"})}) as registry:
        registry.answers[HEAD] = [bearer(registry)]
        assert [Available(IMAGE.digest)] == await verdicts(registry, Credential(identity_token="refresh"))
        assert b"grant_type=refresh_token" in registry.requests[1].body
        assert b"refresh_token=refresh" in registry.requests[1].body


async def test_a_registry_token_is_sent_as_it_is() -> None:
    async with hostile({HEAD: FOUND}) as registry:
        assert [Available(IMAGE.digest)] == await verdicts(registry, Credential(registry_token="given"))
        assert "Bearer given" == registry.requests[0].headers["authorization"]


async def test_no_credential_is_ever_shown(caplog: pytest.LogCaptureFixture) -> None:
    secret = Credential("kuik", "very-secret", "identity-secret", "")
    encoded = base64.b64encode(b"kuik:very-secret").decode()
    with caplog.at_level(logging.DEBUG):
        async with hostile({"POST /token": Reply(401), "GET /token": Reply(401)}) as registry:
            registry.answers[HEAD] = [bearer(registry)]
            refused = (await verdicts(registry, secret))[0]
    place = Repository(Registry("quay.io"), "team/app", secret)
    for text in (repr(refused), repr(secret), repr(place), caplog.text):
        assert "secret" not in text.replace("kuik:very", "")
        assert encoded not in text


# Debian's registry


async def test_debians_registry_with_htpasswd(basic_registry: str) -> None:
    async with RegistryClient() as client:
        checker = Checker(client)

        async def check(credential: Credential | None) -> Verdict:
            place = Repository(Registry(basic_registry, insecure=True), "nothing/here", credential)
            return (await checker.check(place, "1", within=10 * SECOND)).verdict

        assert isinstance(await check(None), Unauthorized)
        assert isinstance(await check(Credential("kuik", "wrong")), Unauthorized)
        assert isinstance(await check(USER), NotFound)


async def test_debians_registry_behind_a_token_server(token_registry: tuple[str, TokenServer]) -> None:
    host, server = token_registry
    async with RegistryClient() as client:
        checker = Checker(client)

        async def check(name: str, credential: Credential | None) -> Verdict:
            place = Repository(Registry(host, insecure=True), name, credential)
            return (await checker.check(place, "1", within=10 * SECOND)).verdict

        assert isinstance(await check("public/app", None), NotFound)
        assert isinstance(await check("private/app", None), Unauthorized)
        assert isinstance(await check("private/app", Credential("kuik", "wrong")), Unauthorized)
        assert isinstance(await check("private/app", USER), NotFound)
        assert isinstance(await check("private/app", USER), NotFound)
    pull = "repository:private/app:pull"
    assert [
        (False, ["repository:public/app:pull"]),
        (False, [pull]),
        (True, [pull]),
        (True, [pull]),
    ] == server.asked
