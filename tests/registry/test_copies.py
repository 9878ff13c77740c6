"""Copies between two of Debian's registries, looked at from outside with skopeo."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from runtime.registry import (
    Copied,
    Copier,
    CopyFailed,
    CopyReason,
    Credential,
    NotFound,
    Platform,
    Registry,
    RegistryClient,
    Repository,
    RequestFailed,
    Sent,
    Transfer,
    Unauthorized,
    parse_platform,
)
from tests.support import images
from tests.support.debian import Tool
from tests.support.images import Content, image, index, layer
from tests.support.token_server import TokenServer

pytestmark = pytest.mark.anyio

ZSTD = "application/vnd.oci.image.layer.v1.tar+zstd"
USER = Credential("kuik", "sesame")


def place(host: str, name: str, credential: Credential | None = None, actions: str = "pull") -> Repository:
    return Repository(Registry(host, insecure=True), name, credential, actions)


def transfer(
    source: str,
    target: str,
    name: str,
    *,
    reference: str = "1",
    tags: Sequence[str] = ("1_cluster",),
    platforms: tuple[Platform, ...] | None = None,
    to: str = "",
) -> Transfer:
    to = to or f"mirror/{name}"
    return Transfer(place(source, name), reference, place(target, to, None, "pull,push"), tuple(tags), platforms)


async def copy(*wanted: Transfer, sent: list[Sent] | None = None) -> Copied:
    """Copy with one client, and give what the last copy came to."""
    async with RegistryClient(after_request=(sent if sent is not None else []).append) as client:
        copier = Copier(client)
        return [await copier.copy(one) for one in wanted][-1]


def raw(skopeo: Tool, host: str, reference: str) -> bytes:
    return skopeo.run("inspect", "--raw", "--tls-verify=false", f"docker://{host}/{reference}").encode()


def multi_platform(seed: int) -> Content:
    shared = layer(seed)
    return index(
        [
            image([shared, layer(seed + 1)], platform="linux/amd64"),
            image([shared, layer(seed + 2)], platform="linux/arm64/v8"),
            image([shared, layer(seed + 3)], platform="linux/arm/v7"),
        ],
        annotations={"org.example.name": "value"},
    )


def attested(seed: int) -> Content:
    """An index as BuildKit writes it: each image with an attestation of ``unknown/unknown``."""
    built = [image([layer(seed)], platform="linux/amd64"), image([layer(seed + 1)], platform="linux/arm64")]
    statements = []
    for one in built:
        statement = image([layer(seed + 2, media_type="application/vnd.in-toto+json")], platform="unknown/unknown")
        about = {"vnd.docker.reference.type": "attestation-manifest", "vnd.docker.reference.digest": one.digest}
        statements.append(
            Content(
                statement.media_type,
                statement.body + b"\n" * len(statements),
                statement.needs,
                {**statement.extra, "annotations": about},
            )
        )
    return index([*built, *statements])


KINDS = {
    "single": image([layer(1), layer(2)]),
    "docker-schema-2": image(
        [layer(3, media_type="application/vnd.docker.image.rootfs.diff.tar.gzip")],
        config=Content("application/vnd.docker.container.image.v1+json", b'{"architecture": "amd64"}'),
        media_type="application/vnd.docker.distribution.manifest.v2+json",
    ),
    "docker-list": index(
        [
            image(
                [layer(4, media_type="application/vnd.docker.image.rootfs.diff.tar.gzip")],
                config=Content("application/vnd.docker.container.image.v1+json", b'{"architecture": "s390x"}'),
                media_type="application/vnd.docker.distribution.manifest.v2+json",
                platform="linux/s390x",
            )
        ],
        media_type="application/vnd.docker.distribution.manifest.list.v2+json",
    ),
    "multi-platform": multi_platform(10),
    "attestations": attested(15),
    "artifact": image(
        [layer(20, media_type="application/vnd.example.sbom+json")],
        config=Content("application/vnd.oci.empty.v1+json", b"{}"),
        artifactType="application/vnd.example.sbom",
        subject=image([layer(1), layer(2)]).descriptor(),
    ),
    "zstd": image([layer(30, media_type=ZSTD), layer(31, media_type=ZSTD)]),
    "no-layers": image([]),
    "empty-layer": image([layer(32, size=0)]),
    "same-layer-twice": image([layer(33), layer(33)]),
    "several-chunks": image([layer(34, size=1_000_000), layer(35, size=3_000_000)]),
    "nested": index([index([image([layer(36)], platform="linux/amd64")])]),
}


@pytest.mark.parametrize("kind", KINDS)
async def test_what_was_copied_is_what_was_there(
    kind: str, plain_registry: str, second_registry: str, skopeo: Tool, tmp_path: Path
) -> None:
    content = KINDS[kind]
    images.push(plain_registry, f"kinds/{kind}", ["1"], content)

    copied = await copy(transfer(plain_registry, second_registry, f"kinds/{kind}"))

    assert content.digest == copied.digest == copied.source_digest
    assert content.body == raw(skopeo, second_registry, f"mirror/kinds/{kind}:1_cluster")
    if kind not in {"nested", "attestations"}:
        # skopeo 1.9 itself copies neither; it reads every blob of the others, and compares their digests
        there = f"docker://{second_registry}/mirror/kinds/{kind}:1_cluster"
        skopeo.run("--insecure-policy", "copy", "--all", "--src-tls-verify=false", there, f"dir:{tmp_path}/image")


async def test_a_second_copy_has_nothing_to_do(plain_registry: str, second_registry: str) -> None:
    images.push(plain_registry, "second/copy", ["1"], multi_platform(100))
    wanted = transfer(plain_registry, second_registry, "second/copy")
    await copy(wanted)
    sent: list[Sent] = []

    copied = await copy(wanted, sent=sent)

    assert (0, 0, 0) == (copied.bytes, copied.sent, copied.mounted)
    assert [(plain_registry, "GET"), (second_registry, "HEAD")] == [(s.registry, s.method) for s in sent]


async def test_a_manifest_that_is_there_only_gets_its_tag(plain_registry: str, second_registry: str) -> None:
    images.push(plain_registry, "tag/only", ["1", "2"], multi_platform(110))
    sent: list[Sent] = []
    await copy(transfer(plain_registry, second_registry, "tag/only"))

    copied = await copy(transfer(plain_registry, second_registry, "tag/only", reference="2", tags=["2"]), sent=sent)

    assert 0 == copied.bytes
    methods = [s.method for s in sent if s.registry == second_registry]
    assert ["HEAD", "HEAD", "PUT"] == methods


async def test_a_digest_that_is_there_is_not_read_from_the_source(plain_registry: str, second_registry: str) -> None:
    content = multi_platform(120)
    images.push(plain_registry, "by/digest", ["1"], content)
    sent: list[Sent] = []
    await copy(transfer(plain_registry, second_registry, "by/digest"))

    await copy(
        transfer(plain_registry, second_registry, "by/digest", reference=content.digest, tags=["kept"]), sent=sent
    )

    assert {second_registry} == {s.registry for s in sent}


async def test_the_anchor_comes_before_the_tag(plain_registry: str, second_registry: str, skopeo: Tool) -> None:
    content = image([layer(130)])
    images.push(plain_registry, "with/anchor", ["1"], content)
    anchor = f"kuik-sha256-{content.digest.partition(':')[2]}"

    await copy(transfer(plain_registry, second_registry, "with/anchor", reference=content.digest, tags=[anchor, "1"]))

    for tag in (anchor, "1"):
        assert content.body == raw(skopeo, second_registry, f"mirror/with/anchor:{tag}")


async def test_a_base_that_images_share_is_sent_once_and_mounted(plain_registry: str, second_registry: str) -> None:
    base, config = layer(140, size=50_000), Content("application/vnd.oci.image.config.v1+json", b'{"shared": true}')
    names = ["shared/one", "shared/two", "shared/three"]
    for seed, name in enumerate(names):
        images.push(plain_registry, name, ["1"], image([base, layer(141 + seed)], config))
    moved: list[int] = []
    async with RegistryClient() as client:
        copier = Copier(client, moved=lambda _host, count: moved.append(count))
        copied = [await copier.copy(transfer(plain_registry, second_registry, name)) for name in names]
    assert [(3, 0), (1, 2), (1, 2)] == [(one.sent, one.mounted) for one in copied]
    assert sum(moved) == sum(one.bytes for one in copied) < 2 * 50_000


async def test_a_copy_inside_one_registry_sends_nothing(plain_registry: str, skopeo: Tool) -> None:
    content = image([layer(150, size=50_000)])
    images.push(plain_registry, "inside/here", ["1"], content)

    copied = await copy(transfer(plain_registry, plain_registry, "inside/here"))

    assert (0, 2) == (copied.bytes, copied.mounted)
    assert content.body == raw(skopeo, plain_registry, "mirror/inside/here:1_cluster")


async def test_layers_that_platforms_share_are_sent_once(plain_registry: str, second_registry: str) -> None:
    images.push(plain_registry, "platforms/share", ["1"], multi_platform(160))
    copied = await copy(transfer(plain_registry, second_registry, "platforms/share"))
    assert 7 == copied.sent


async def test_foreign_layers_keep_their_urls(plain_registry: str, second_registry: str, skopeo: Tool) -> None:
    foreign = layer(
        170,
        media_type="application/vnd.docker.image.rootfs.foreign.diff.tar.gzip",
        urls=["https://example.invalid/layer"],
    )
    content = image(
        [foreign, layer(171, media_type="application/vnd.docker.image.rootfs.diff.tar.gzip")],
        config=Content("application/vnd.docker.container.image.v1+json", b'{"os": "windows"}'),
        media_type="application/vnd.docker.distribution.manifest.v2+json",
    )
    images.push(plain_registry, "foreign/layers", ["1"], content)

    copied = await copy(transfer(plain_registry, second_registry, "foreign/layers"))

    assert 2 == copied.sent
    assert content.body == raw(skopeo, second_registry, "mirror/foreign/layers:1_cluster")


# platforms


async def test_wanted_platforms_make_an_index_of_their_own(
    plain_registry: str, second_registry: str, skopeo: Tool
) -> None:
    content = multi_platform(200)
    images.push(plain_registry, "wanted/some", ["1"], content)
    wanted = (parse_platform("linux/amd64"), parse_platform("linux/arm64"))

    copied = await copy(transfer(plain_registry, second_registry, "wanted/some", platforms=wanted))

    written = raw(skopeo, second_registry, "mirror/wanted/some:1_cluster")
    document = json.loads(written)
    assert images.digest(written) == copied.digest
    assert content.digest == copied.source_digest
    assert [need.digest for need in content.needs[:2]] == [entry["digest"] for entry in document["manifests"]]
    assert {"org.example.name": "value", "kuik.enix.io/source-digest": content.digest} == document["annotations"]
    assert 5 == copied.sent


async def test_all_wanted_platforms_are_the_index_itself(plain_registry: str, second_registry: str) -> None:
    content = multi_platform(210)
    images.push(plain_registry, "wanted/all", ["1"], content)
    wanted = tuple(map(parse_platform, ("linux/amd64", "linux/arm64", "linux/arm", "linux/riscv64")))
    copied = await copy(transfer(plain_registry, second_registry, "wanted/all", platforms=wanted))
    assert content.digest == copied.digest


async def test_a_digest_is_copied_whole_whatever_is_wanted(plain_registry: str, second_registry: str) -> None:
    content = multi_platform(220)
    images.push(plain_registry, "wanted/digest", ["1"], content)
    wanted = (parse_platform("linux/amd64"),)
    copied = await copy(
        transfer(plain_registry, second_registry, "wanted/digest", reference=content.digest, platforms=wanted)
    )
    assert content.digest == copied.digest


async def test_no_wanted_platform_is_as_good_as_no_image(plain_registry: str, second_registry: str) -> None:
    images.push(plain_registry, "wanted/none", ["1"], multi_platform(230))
    with pytest.raises(CopyFailed, match="none of the platforms linux/riscv64") as failed:
        await copy(
            transfer(plain_registry, second_registry, "wanted/none", platforms=(parse_platform("linux/riscv64"),))
        )
    assert CopyReason.SOURCE_UNAVAILABLE == failed.value.reason
    assert isinstance(failed.value.verdict, NotFound)


# failures and credentials


async def test_a_source_that_is_not_there(plain_registry: str, second_registry: str) -> None:
    with pytest.raises(CopyFailed) as failed:
        await copy(transfer(plain_registry, second_registry, "not/there"))
    assert CopyReason.SOURCE_UNAVAILABLE == failed.value.reason
    assert isinstance(failed.value.verdict, NotFound)


async def test_a_destination_that_refuses(plain_registry: str, basic_registry: str) -> None:
    images.push(plain_registry, "refused/there", ["1"], image([layer(300)]))
    with pytest.raises(CopyFailed) as failed:
        await copy(transfer(plain_registry, basic_registry, "refused/there"))
    assert CopyReason.AUTH_FAILED == failed.value.reason
    assert failed.value.verdict is None


async def test_a_source_that_refuses(second_registry: str, basic_registry: str) -> None:
    with pytest.raises(CopyFailed) as failed:
        await copy(transfer(basic_registry, second_registry, "refused/here"))
    assert CopyReason.AUTH_FAILED == failed.value.reason
    assert isinstance(failed.value.verdict, Unauthorized)


async def test_credentials_on_both_sides(basic_registry: str, token_registry: tuple[str, TokenServer]) -> None:
    host, tokens = token_registry
    base = layer(310)
    for seed, name in enumerate(("one", "two")):
        images.push(basic_registry, f"guarded/{name}", ["1"], image([base, layer(311 + seed)]), "kuik:sesame")
    async with RegistryClient() as client:
        copier = Copier(client)
        for name in ("one", "two"):
            source = place(basic_registry, f"guarded/{name}", USER)
            target = place(host, f"mirror/{name}", USER, "pull,push")
            copied = await copier.copy(Transfer(source, "1", target, ("1",)))
        assert 1 <= copied.mounted
        assert copied.digest == (await client.head_manifest(place(host, "mirror/two", USER), "1")).digest
    # one token a repository and one for the mount, which needs the repository that it is from
    assert [
        ["repository:mirror/one:pull,push"],
        ["repository:mirror/two:pull,push"],
        ["repository:mirror/one:pull", "repository:mirror/two:pull,push"],
        ["repository:mirror/two:pull"],
    ] == [scopes for _, scopes in tokens.asked]


@pytest.mark.rule("W9")
async def test_w9_before_request_keeps_a_copy_in(plain_registry: str, second_registry: str) -> None:
    images.push(plain_registry, "lease/lost", ["1"], image([layer(320), layer(321)]))

    class Lost(Exception):
        pass

    allowed = iter(range(6))

    def lease() -> None:
        if next(allowed, None) is None:
            raise Lost

    async with RegistryClient(before_request=lease) as client:
        with pytest.raises(Lost):
            await Copier(client).copy(transfer(plain_registry, second_registry, "lease/lost"))
    async with RegistryClient() as client:
        with pytest.raises(RequestFailed):
            await client.get_manifest(place(second_registry, "mirror/lease/lost"), "1_cluster")


async def test_tags_are_listed(plain_registry: str) -> None:
    wanted = [f"v{number:03}" for number in range(25)]
    images.push(plain_registry, "many/tags", wanted, image([layer(330)]))
    async with RegistryClient() as client:
        # Debian's registry gives all of them in one page, in no order
        assert wanted == sorted([tag async for tag in client.tags(place(plain_registry, "many/tags"))])
        with pytest.raises(RequestFailed):
            [tag async for tag in client.tags(place(plain_registry, "no/such"))]


async def test_a_timeout_is_for_all_of_the_copy(plain_registry: str, second_registry: str) -> None:
    images.push(plain_registry, "too/slow", ["1"], image([layer(340, size=5_000_000)]))
    wanted = transfer(plain_registry, second_registry, "too/slow")
    with pytest.raises(CopyFailed, match="not complete within 1ns") as failed:
        await copy(Transfer(wanted.source, wanted.reference, wanted.target, wanted.tags, timeout=1))
    assert CopyReason.TIMEOUT == failed.value.reason
