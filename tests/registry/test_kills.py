"""Kills and cuts in the middle of copies: a tag of the destination is complete or isn't there."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path
from typing import Any

import pytest

from compiler.duration import MINUTE
from runtime.registry import Copier, Registry, RegistryClient, Repository, Transfer
from tests.support import copy_process, images
from tests.support.debian import Tool
from tests.support.images import fetch, image, index, layer
from tests.support.proxy import proxy

pytestmark = pytest.mark.anyio

BIG = 3_000_000
IMAGE = index(
    [
        image([layer(1, size=BIG), layer(2, size=BIG)], platform="linux/amd64"),
        image([layer(1, size=BIG), layer(3, size=BIG)], platform="linux/arm64"),
    ]
)
BYTES = 3 * BIG
# `make soak` raises it; the moments of a smaller number are spread in the same way
KILLS = int(os.environ.get("KUIK_KILLS", "24"))


def complete(host: str, repository: str, reference: str) -> bool:
    """Say whether a manifest is there; fail if anything that it needs is not."""
    body = fetch(host, f"{repository}/manifests/{reference}")
    if body is None:
        return False
    document: dict[str, Any] = json.loads(body)
    for child in document.get("manifests", []):
        assert complete(host, repository, child["digest"])
    for blob in [document["config"], *document["layers"]] if "layers" in document else []:
        assert blob["digest"] == images.digest(fetch(host, f"{repository}/blobs/{blob['digest']}") or b"")
    return True


@pytest.mark.slow
def test_a_copy_that_is_killed_leaves_no_incomplete_tag(plain_registry: str, second_registry: str) -> None:
    images.push(plain_registry, "kill/me", ["1"], IMAGE)
    status, said = copy_process.run((plain_registry, "kill/me"), (second_registry, "kill/not"), "1")
    assert 0 == status
    moments = random.Random(7)
    whole = 0
    for kill in range(KILLS):
        # half of them between two requests, half in the middle of a blob
        when: dict[str, int] = (
            {"requests": kill * said["requests"] // KILLS} if kill % 2 else {"moved": moments.randrange(1, BYTES)}
        )
        target = (second_registry, f"kill/{kill // 4}")
        status, _ = copy_process.run((plain_registry, "kill/me"), target, "1", **when)
        there = complete(*target, "1")
        assert there or status == -9
        whole += there
    # the next start finishes what the kills have left
    for number in range((KILLS + 3) // 4):
        target = (second_registry, f"kill/{number}")
        assert 0 == copy_process.run((plain_registry, "kill/me"), target, "1")[0]
        assert complete(*target, "1")


async def copy_through(source: str, target: str, name: str) -> None:
    async with RegistryClient() as client:
        await Copier(client).copy(
            Transfer(
                Repository(Registry(source, insecure=True), name),
                "1",
                Repository(Registry(target, insecure=True), f"mirror/{name}", None, "pull,push"),
                ("1",),
                timeout=MINUTE,
            )
        )


@pytest.mark.parametrize("cut", [1, 100_000, BIG - 1, BIG + 1000])
async def test_a_source_that_is_cut(cut: int, plain_registry: str, second_registry: str) -> None:
    name = f"cut/down-{cut}"
    images.push(plain_registry, name, ["1"], IMAGE)
    async with proxy(plain_registry) as way:
        way.cut_down = [cut + BIG // 10, cut + BIG // 10]
        await copy_through(way.host, second_registry, name)
        assert way.bytes_down < 2 * BYTES
    assert complete(second_registry, f"mirror/{name}", "1")


@pytest.mark.parametrize("cut", [10_000, 100_000, BIG - 1])
async def test_a_destination_that_is_cut(cut: int, plain_registry: str, second_registry: str) -> None:
    name = f"cut/up-{cut}"
    images.push(plain_registry, name, ["1"], IMAGE)
    async with proxy(second_registry) as way:
        way.cut_up = [cut, cut]
        await copy_through(plain_registry, way.host, name)
    assert complete(second_registry, f"mirror/{name}", "1")


@pytest.mark.slow
def test_memory_does_not_grow_with_a_layer(
    plain_registry: str, second_registry: str, skopeo: Tool, tmp_path: Path
) -> None:
    """A layer of 2 GiB, which is mostly a hole on disk."""
    size = 2 * 2**30
    file = tmp_path / "layer"
    with file.open("wb") as writer:
        writer.truncate(size)
    blob = images.FileContent("application/vnd.oci.image.layer.v1.tar", file)
    content = image([blob])
    images.push(plain_registry, "two/gibibytes", ["1"], content)

    _, said = copy_process.run((plain_registry, "two/gibibytes"), (second_registry, "mirror/two/gibibytes"), "1")

    assert said["bytes"] > size
    assert said["peak"] < 150
    there = f"docker://{second_registry}/mirror/two/gibibytes:1"
    assert content.body == skopeo.run("inspect", "--raw", "--tls-verify=false", there).encode()
