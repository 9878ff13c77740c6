"""Redirects: followed by hand and to an end; what was meant for one host never reaches another."""

from __future__ import annotations

import pytest

from compiler.duration import SECOND
from runtime.registry import (
    Available,
    Cause,
    Checker,
    Credential,
    Registry,
    RegistryClient,
    Repository,
    Unreachable,
    Verdict,
)
from tests.support.hostile import Hostile, Reply, hostile
from tests.support.images import image, layer

pytestmark = pytest.mark.anyio

IMAGE = image([layer(1)])
HEAD = "HEAD /v2/team/app/manifests/1"
FOUND = Reply(200, {"Docker-Content-Digest": IMAGE.digest})
BASIC = Reply(401, {"WWW-Authenticate": 'Basic realm="x"'})


async def verdict(registry: Hostile, credential: Credential | None = None) -> Verdict:
    repository = Repository(Registry(registry.host, insecure=True), "team/app", credential)
    async with RegistryClient() as client:
        return (await Checker(client).check(repository, "1", within=10 * SECOND)).verdict


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_on_the_same_host_keeps_the_credential(status: int) -> None:
    answers = {HEAD: [BASIC, Reply(status, {"Location": "/elsewhere?x=1"})], "HEAD /elsewhere": FOUND}
    async with hostile(answers) as registry:
        assert Available(IMAGE.digest) == await verdict(registry, Credential("kuik", "sesame"))
        assert [HEAD, HEAD, "HEAD /elsewhere?x=1"] == registry.asked()
        assert "authorization" in registry.requests[2].headers


async def test_a_redirect_to_another_port_goes_without_the_credential() -> None:
    async with hostile({"HEAD /there": FOUND}) as other:
        answers = {HEAD: [BASIC, Reply(307, {"Location": f"http://{other.host}/there"})]}
        async with hostile(answers) as registry:
            assert Available(IMAGE.digest) == await verdict(registry, Credential("kuik", "sesame"))
        assert "authorization" in registry.requests[1].headers
        assert ["HEAD /there"] == other.asked()
        assert "authorization" not in other.requests[0].headers


async def test_the_way_back_goes_without_the_credential_too() -> None:
    async with hostile({}) as registry, hostile({}) as other:
        other.answers = {"HEAD /there": [Reply(307, {"Location": f"http://{registry.host}/back"})]}
        registry.answers = {
            HEAD: [BASIC, Reply(307, {"Location": f"http://{other.host}/there"})],
            "HEAD /back": [FOUND],
        }
        assert Available(IMAGE.digest) == await verdict(registry, Credential("kuik", "sesame"))
        assert "authorization" not in registry.requests[2].headers


async def test_a_challenge_of_another_host_is_not_met() -> None:
    async with hostile({"HEAD /there": BASIC}) as other:
        answers = {HEAD: [BASIC, Reply(307, {"Location": f"http://{other.host}/there"})]}
        async with hostile(answers) as registry:
            await verdict(registry, Credential("kuik", "sesame"))
        assert ["HEAD /there"] == other.asked()
        assert not any("authorization" in seen.headers for seen in other.requests)


async def test_a_user_in_the_location_is_not_sent() -> None:
    async with hostile({"HEAD /there": FOUND}) as other:
        answers = {HEAD: Reply(307, {"Location": f"http://a:b@{other.host}/there"})}
        async with hostile(answers) as registry:
            assert Available(IMAGE.digest) == await verdict(registry)
        assert "authorization" not in other.requests[0].headers


async def test_a_redirect_loop_ends() -> None:
    async with hostile({HEAD: Reply(307, {"Location": "/v2/team/app/manifests/1"})}) as registry:
        assert Unreachable(Cause.REDIRECT, "more than 5 redirects") == await verdict(registry)
        assert 6 == len(registry.requests)


@pytest.mark.parametrize(
    "location", ["", "ftp://127.0.0.1/x", "file:///etc/passwd", "http://[::1", "http://127.0.0.1:99999/x"]
)
async def test_a_redirect_to_nowhere(location: str) -> None:
    headers = {"Location": location} if location else {}
    async with hostile({HEAD: Reply(307, headers)}) as registry:
        lost = await verdict(registry)
        assert isinstance(lost, Unreachable)
        assert Cause.REDIRECT == lost.cause
        assert [HEAD] == registry.asked()


async def test_the_query_of_a_redirect_is_in_no_message() -> None:
    async with hostile({"HEAD /there": Reply(500)}) as other:
        async with hostile({HEAD: Reply(307, {"Location": f"http://{other.host}/there?signature=secret"})}) as registry:
            failed = await verdict(registry)
        assert "secret" not in repr(failed)


async def test_cookies_are_not_kept() -> None:
    async with hostile(
        {HEAD: Reply(307, {"Location": "/there", "Set-Cookie": "sid=1; Path=/"}), "HEAD /there": FOUND}
    ) as registry:
        assert Available(IMAGE.digest) == await verdict(registry)
        assert "cookie" not in registry.requests[1].headers
