"""Connections: TLS and authorities, names, many hosts at once, pools that come and go."""

from __future__ import annotations

import asyncio
import gc
import shutil
import socket
import ssl
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpcore
import pytest

from compiler.duration import SECOND
from runtime.registry import (
    Available,
    Cause,
    Checker,
    Clocks,
    Credential,
    Registry,
    RegistryClient,
    Repository,
    Sent,
    Unauthorized,
    Unreachable,
    Verdict,
)
from runtime.registry.dial import Dialer, NameNotResolved
from runtime.registry.pools import HostPools
from tests.support.hostile import Hostile, Reply, hostile
from tests.support.images import image, layer
from tests.support.token_server import make_certificate

pytestmark = pytest.mark.anyio

IMAGE = image([layer(1)])
HEAD = "HEAD /v2/team/app/manifests/1"
FOUND = Reply(200, {"Docker-Content-Digest": IMAGE.digest})


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    if shutil.which("openssl") is None:
        pytest.skip("no openssl to make a certificate with")
    return make_certificate(tmp_path_factory.mktemp("tls"))


@asynccontextmanager
async def https(pair: tuple[Path, Path], answers: dict[str, Any]) -> AsyncIterator[Hostile]:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(pair[1], pair[0])
    async with hostile(answers, context) as registry:
        yield registry


async def verdict(registry: Registry, client: RegistryClient | None = None) -> Verdict:
    async with client or RegistryClient() as used:
        return (await Checker(used).check(Repository(registry, "team/app"), "1", within=10 * SECOND)).verdict


# TLS


async def test_a_certificate_of_an_unknown_authority(certificate: tuple[Path, Path]) -> None:
    async with https(certificate, {HEAD: FOUND}) as registry:
        refused = await verdict(Registry(registry.host))
        assert isinstance(refused, Unreachable)
        assert Cause.TLS == refused.cause
        assert "certificate" in refused.message
        assert [] == registry.asked()


async def test_a_ca_file_adds_an_authority(certificate: tuple[Path, Path]) -> None:
    async with https(certificate, {HEAD: FOUND}) as registry:
        assert Available(IMAGE.digest) == await verdict(Registry(registry.host, ca_file=str(certificate[1])))


async def test_a_ca_file_that_is_replaced_applies_from_the_next_image(
    certificate: tuple[Path, Path], tmp_path: Path
) -> None:
    file = tmp_path / "ca.pem"
    async with https(certificate, {HEAD: FOUND}) as registry, RegistryClient() as client:
        checker, place = Checker(client), Repository(Registry(registry.host, ca_file=str(file)), "team/app")

        async def check() -> Verdict:
            return (await checker.check(place, "1", within=10 * SECOND)).verdict

        missing = await check()
        file.write_text("nothing that is a certificate")
        broken = await check()
        shutil.copy(certificate[1], file)
        assert Available(IMAGE.digest) == await check()
    for refused in (missing, broken):
        assert isinstance(refused, Unreachable)
        assert Cause.TLS == refused.cause
        assert "caFile" in refused.message


async def test_a_certificate_for_another_name(tmp_path: Path) -> None:
    pair = make_certificate(tmp_path, "registry.example")
    async with https(pair, {HEAD: FOUND}) as registry:
        refused = await verdict(Registry(registry.host, ca_file=str(pair[1])))
        assert isinstance(refused, Unreachable)
        assert Cause.TLS == refused.cause


async def test_a_registry_without_tls() -> None:
    async def plain(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(plain, "127.0.0.1", 0) as server:
        refused = await verdict(Registry(f"127.0.0.1:{server.sockets[0].getsockname()[1]}"))
    assert isinstance(refused, Unreachable)
    assert Cause.TLS == refused.cause


async def test_a_redirect_to_plain_http_goes_without_the_credential(certificate: tuple[Path, Path]) -> None:
    async with hostile({"HEAD /there": FOUND}) as plain:
        challenge = Reply(401, {"WWW-Authenticate": "Basic"})
        answers = {HEAD: [challenge, Reply(307, {"Location": f"http://{plain.host}/there"})]}
        async with https(certificate, answers) as registry, RegistryClient() as client:
            place = Registry(registry.host, ca_file=str(certificate[1]))
            repository = Repository(place, "team/app", Credential("kuik", "sesame"))
            report = await Checker(client).check(repository, "1", within=10 * SECOND)
        assert Available(IMAGE.digest) == report.verdict
        assert "authorization" in registry.requests[1].headers
        assert "authorization" not in plain.requests[0].headers


async def test_a_credential_does_not_go_to_a_token_endpoint_without_tls(certificate: tuple[Path, Path]) -> None:
    async with hostile({"GET /token": Reply(200, {}, b'{"token": "x"}')}) as plain:
        answers = {HEAD: Reply(401, {"WWW-Authenticate": f'Bearer realm="http://{plain.host}/token"'})}
        async with https(certificate, answers) as registry, RegistryClient() as client:
            place = Registry(registry.host, ca_file=str(certificate[1]))
            repository = Repository(place, "team/app", Credential("kuik", "sesame"))
            report = await Checker(client).check(repository, "1", within=10 * SECOND)
        assert isinstance(report.verdict, Unauthorized)
        assert "without TLS" in report.verdict.message
        assert [] == plain.asked()


# names and addresses


def test_docker_hubs_api_lives_at_another_name() -> None:
    assert "https://registry-1.docker.io" == Registry("docker.io").root
    assert "https://quay.io" == Registry("quay.io").root
    assert "http://[::1]:5000" == Registry("[::1]:5000", insecure=True).root


async def test_the_second_address_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    async with hostile({HEAD: FOUND}) as registry:
        port = registry.host.rpartition(":")[2]
        addresses = [(socket.AF_INET, "127.0.0.2"), (socket.AF_INET, "127.0.0.1")]
        monkeypatch.setattr("runtime.registry.dial._look_up", lambda _host: addresses)
        assert Available(IMAGE.digest) == await verdict(Registry(f"two.example:{port}", insecure=True))


async def test_no_address_takes_the_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    async with hostile({}) as registry:
        port = registry.host.rpartition(":")[2]
    addresses = [(socket.AF_INET, "127.0.0.2"), (socket.AF_INET6, "::1"), (socket.AF_INET, "127.0.0.1")]
    monkeypatch.setattr("runtime.registry.dial._look_up", lambda _host: addresses)
    refused = await verdict(Registry(f"three.example:{port}", insecure=True))
    assert isinstance(refused, Unreachable)
    assert Cause.CONNECT == refused.cause


async def test_families_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    v6, v4 = socket.AF_INET6, socket.AF_INET
    found = [(v6, "::1"), (v6, "::2"), (v6, "::3"), (v4, "127.0.0.1")]
    monkeypatch.setattr("runtime.registry.dial._look_up", lambda _host: found)
    dialer = Dialer()
    assert ["::1", "127.0.0.1", "::2", "::3"] == await dialer._addresses("many.example")
    assert ("10.0.0.1",) == await dialer._addresses("10.0.0.1")
    dialer.close()


@pytest.mark.parametrize("host", ["no-such-host.invalid", "a" * 64 + ".example", "bad..name"])
async def test_a_name_that_has_no_address(host: str) -> None:
    dialer = Dialer()
    with pytest.raises(NameNotResolved, match=host[:20]):
        await dialer.connect_tcp(host, 80, 10)
    dialer.close()


async def test_names_that_hang_do_not_hold_up_others(monkeypatch: pytest.MonkeyPatch) -> None:
    over = threading.Event()

    def look_up(host: str) -> list[tuple[int, str]]:
        if host.startswith("slow"):
            over.wait(30)
        return [(socket.AF_INET, "127.0.0.1")]

    monkeypatch.setattr("runtime.registry.dial._look_up", look_up)
    async with hostile({HEAD: FOUND}) as registry, RegistryClient() as client:
        port = registry.host.rpartition(":")[2]
        slow = [
            asyncio.create_task(
                Checker(client).check(
                    Repository(Registry(f"slow-{number}.example:{port}", insecure=True), "team/app"),
                    "1",
                    within=30 * SECOND,
                )
            )
            for number in range(60)
        ]
        await asyncio.sleep(0)
        place = Repository(Registry(f"fast.example:{port}", insecure=True), "team/app")
        assert Available(IMAGE.digest) == (await Checker(client).check(place, "1", within=10 * SECOND)).verdict
        assert not any(task.done() for task in slow)
        over.set()
        await asyncio.gather(*slow)


# pools


async def test_waiting_for_a_place_is_no_verdict() -> None:
    """300 images of one host that is slow, and one of another that isn't."""
    all_there = asyncio.Barrier(301)
    async with hostile({}) as slow, hostile({HEAD: FOUND}) as fast, RegistryClient() as client:
        slow.otherwise = lambda _: Reply(404, before=all_there.wait)
        checker = Checker(client)
        waiting = [
            asyncio.create_task(
                checker.check(
                    Repository(Registry(slow.host, insecure=True), "team/app"), f"{number}", within=60 * SECOND
                )
            )
            for number in range(300)
        ]
        place = Repository(Registry(fast.host, insecure=True), "team/app")
        assert Available(IMAGE.digest) == (await checker.check(place, "1", within=10 * SECOND)).verdict
        await all_there.wait()
        assert {"NotFound"} == {report.verdict.reason for report in await asyncio.gather(*waiting)}
        assert 300 == slow.connections


async def test_one_connection_serves_one_check_after_the_other() -> None:
    async with hostile({HEAD: FOUND, "GET /v2/team/app/tags/list": Reply(500, {}, b"x" * 1000)}) as registry:
        async with RegistryClient() as client:
            for _ in range(5):
                place = Repository(Registry(registry.host, insecure=True), "team/app")
                await Checker(client).check(place, "1", within=10 * SECOND)
        assert 1 == registry.connections


async def test_pools_that_nobody_uses_are_closed() -> None:
    now = 0
    pools = HostPools({}, lambda: now)
    async with hostile({HEAD: FOUND}) as registry:
        port = registry.host.rpartition(":")[2]
        async with RegistryClient(transport=pools) as client:
            for number in range(1, 5):
                now = number * 10 * SECOND
                place = Repository(Registry(f"127.0.0.{number}:{port}", insecure=True), "team/app")
                await Checker(client).check(place, "1", within=10 * SECOND)
            assert ["127.0.0.3", "127.0.0.4"] == [host for _, host, _, _ in pools._pools]


async def test_a_client_leaves_nothing_open() -> None:
    async with hostile({HEAD: FOUND}) as registry:
        await verdict(Registry(registry.host, insecure=True))
        gc.collect()
        open_connections = [
            c for c in gc.get_objects() if isinstance(c, httpcore.AsyncConnectionPool) and c.connections
        ]
        assert [] == open_connections


# hooks


async def test_every_request_is_announced_and_reported() -> None:
    told: list[str | Sent] = []
    now = 0

    def clock() -> int:
        nonlocal now
        now += 1
        return now

    client = RegistryClient(
        before_request=lambda: told.append("before"), after_request=told.append, clocks=Clocks(clock)
    )
    answers = {
        HEAD: [Reply(307, {"Location": "/there"})],
        "HEAD /there": Reply(429, {"Retry-After": "5", "RateLimit-Remaining": "0"}),
    }
    async with hostile(answers) as registry:
        await verdict(Registry(registry.host, insecure=True), client)
        first, second = (one for one in told if isinstance(one, Sent))
        assert ["before", first, "before", second] == told
        assert (registry.host, "HEAD", 307, None) == (first.registry, first.method, first.status, first.cause)
        assert (429, 0, 5 * SECOND) == (second.status, second.limits.remaining, second.limits.retry_after)
        assert first.duration > 0


async def test_a_request_without_an_answer_is_reported_with_its_cause() -> None:
    told: list[Sent] = []
    async with hostile({}) as registry:
        pass
    await verdict(Registry(registry.host, insecure=True), RegistryClient(after_request=told.append))
    assert [(None, Cause.CONNECT)] == [(one.status, one.cause) for one in told]


@pytest.mark.rule("W9")
async def test_w9_what_the_hook_raises_keeps_the_request_in() -> None:
    class Lost(Exception):
        pass

    def lease() -> None:
        raise Lost

    async with hostile({HEAD: FOUND}) as registry:
        with pytest.raises(Lost):
            await verdict(Registry(registry.host, insecure=True), RegistryClient(before_request=lease))
        assert [] == registry.asked()


@pytest.mark.rule("W9")
async def test_w9_the_hook_is_asked_when_the_connection_stands() -> None:
    connected: list[int] = []
    async with hostile({HEAD: FOUND}) as registry:
        client = RegistryClient(before_request=lambda: connected.append(registry.connections))
        await verdict(Registry(registry.host, insecure=True), client)
        assert [1] == connected
