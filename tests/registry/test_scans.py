"""Scans of a destination, and lists of tags."""

from __future__ import annotations

import asyncio

import pytest

from compiler.duration import MILLISECOND, SECOND
from runtime.registry import (
    Available,
    Cause,
    Desired,
    Found,
    NotFound,
    Registry,
    RegistryClient,
    Repository,
    RequestFailed,
    Unreachable,
    parse_platform,
    scan,
)
from runtime.registry.selection import SOURCE_DIGEST
from tests.support.hostile import Hostile, Reply, Seen, hostile
from tests.support.images import digest, image, index, layer

pytestmark = pytest.mark.anyio

INDEX = index([image([layer(1)], platform="linux/amd64")], annotations={SOURCE_DIGEST: digest(b"whole")})


def place(registry: Hostile, name: str = "mirror/app") -> Repository:
    return Repository(Registry(registry.host, insecure=True), name)


async def found(*desired: Desired, limit: int = 4, within: int = 10 * SECOND) -> dict[str, Found]:
    seen: list[Found] = []
    async with RegistryClient() as client:
        await scan(client, desired, seen.append, limit=limit, within=within)
    return {one.desired.tag: one for one in seen}


async def test_each_tag_is_asked_for_once() -> None:
    answers = {
        "HEAD /v2/mirror/app/manifests/there": Reply(200, {"Docker-Content-Digest": INDEX.digest}),
        "HEAD /v2/mirror/app/manifests/broken": Reply(500),
        "GET /v2/mirror/app/manifests/filtered": Reply(200, {}, INDEX.body),
    }
    async with hostile(answers) as registry:
        tags = ("there", "gone", "broken", "filtered")
        desired = [Desired(place(registry), tag, filtered=tag == "filtered") for tag in tags]
        seen = await found(*desired)
        assert Found(desired[0], Available(INDEX.digest), INDEX.digest) == seen["there"]
        assert isinstance(seen["gone"].verdict, NotFound)
        assert isinstance(seen["broken"].verdict, Unreachable)
        platforms = frozenset({parse_platform("linux/amd64")})
        assert Found(desired[3], Available(INDEX.digest), digest(b"whole"), platforms) == seen["filtered"]
        assert 4 == len(registry.requests)


async def test_many_at_once_but_no_more_than_so_many() -> None:
    at_once = most = 0

    async def wait() -> None:
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        for _ in range(50):
            await asyncio.sleep(0)
        at_once -= 1

    async with hostile({}) as registry:
        registry.otherwise = lambda _: Reply(404, before=wait)
        await found(*(Desired(place(registry), f"tag-{number}") for number in range(40)), limit=8)
        assert 40 == len(registry.requests)
    assert 2 <= most <= 8


async def test_a_tag_that_is_slow_costs_itself_alone() -> None:
    answers = {"HEAD /v2/mirror/app/manifests/slow": Reply(before=asyncio.Event().wait)}
    async with hostile(answers) as registry:
        seen = await found(*(Desired(place(registry), tag) for tag in ("slow", "gone")), within=50 * MILLISECOND)
        assert Unreachable(Cause.TIMEOUT, "no answer within 50ms") == seen["slow"].verdict
        assert isinstance(seen["gone"].verdict, NotFound)


# lists of tags

LIST = "GET /v2/mirror/app/tags/list"


async def tags(registry: Hostile) -> list[str]:
    async with RegistryClient() as client:
        return [tag async for tag in client.tags(place(registry))]


def page(names: str, link: str = "") -> Reply:
    quoted = ",".join(f'"{name}"' for name in names)
    return Reply(200, {"Link": link} if link else {}, f'{{"name": "mirror/app", "tags": [{quoted}]}}'.encode())


@pytest.mark.parametrize(
    "link",
    [
        '</v2/mirror/app/tags/list?next_page=opaque%3D>; rel="next"',
        "</v2/mirror/app/tags/list?next_page=opaque%3D>;rel=next",
        '<list?next_page=opaque%3D>; title="a, b"; rel="last next"',
        '</first>; rel="first", </v2/mirror/app/tags/list?next_page=opaque%3D>; rel="next"',
    ],
)
async def test_link_is_followed_as_it_stands(link: str) -> None:
    async with hostile({LIST: [page("ab", link), page("c")]}) as registry:
        assert ["a", "b", "c"] == await tags(registry)
        assert f"{LIST}?next_page=opaque%3D" == registry.asked()[1]


@pytest.mark.parametrize("link", ['</x>; rel="prev"', '</x>; rel="nextish"', "</x>", "next"])
async def test_a_link_to_somewhere_else_is_no_next_page(link: str) -> None:
    async with hostile({LIST: page("a", link)}) as registry:
        assert ["a"] == await tags(registry)


async def test_a_page_on_another_host_is_read_without_a_credential() -> None:
    async with hostile({"GET /more": page("b")}) as other, hostile({}) as registry:
        registry.answers = {LIST: [page("a", f'<http://{other.host}/more>; rel="next"')]}
        assert ["a", "b"] == await tags(registry)
        assert "authorization" not in other.requests[0].headers


async def test_a_page_that_points_at_itself_is_an_error() -> None:
    async with hostile({LIST: page("a", '<?n=1000>; rel="next"')}) as registry:
        with pytest.raises(RequestFailed, match="points at itself"):
            await tags(registry)


async def test_pages_without_end_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runtime.registry.client._MAX_PAGES", 20)
    pages = iter(range(1000))

    def endless(_: Seen) -> Reply:
        return page("a", f'<?n={next(pages)}>; rel="next"')

    async with hostile({LIST: endless}) as registry:
        with pytest.raises(RequestFailed, match="more than 20 pages"):
            await tags(registry)
        assert 20 == len(registry.requests)


@pytest.mark.parametrize("reply", [Reply(429), Reply(500), Reply(404)])
async def test_a_list_that_breaks_off_is_never_taken_for_the_whole(reply: Reply) -> None:
    async with hostile({LIST: [page("a", '<?n=1>; rel="next"'), reply]}) as registry:
        with pytest.raises(RequestFailed):
            await tags(registry)


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"tags": "a"}', b'{"tags": [1]}', b"[" * 100_000])
async def test_what_is_no_list(body: bytes) -> None:
    async with hostile({LIST: Reply(200, {}, body)}) as registry:
        with pytest.raises(RequestFailed):
            await tags(registry)


async def test_a_repository_without_tags() -> None:
    async with hostile({LIST: Reply(200, {}, b'{"tags": null}')}) as registry:
        assert [] == await tags(registry)
