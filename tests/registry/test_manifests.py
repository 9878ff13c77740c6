"""Manifests, platforms and the index that is written when platforms are left out."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.registry.manifest import OCI_INDEX, InvalidManifest, may_be_index, read_manifest
from runtime.registry.platforms import Platform, parse_platform, read_platform
from runtime.registry.selection import SOURCE_DIGEST, select, source_digest
from tests.support.images import Content, digest, image, index, layer

DOCKER_LIST = "application/vnd.docker.distribution.manifest.list.v2+json"
OCI_MANIFEST = "application/vnd.oci.image.manifest.v1+json"


def descriptor(**changes: Any) -> dict[str, Any]:
    return {"mediaType": "x/y", "digest": f"sha256:{'0' * 64}", "size": 1, **changes}


def test_a_manifest_needs_its_config_and_layers() -> None:
    content = image([layer(1), layer(2)])
    manifest = read_manifest(content.body)
    assert [need.digest for need in content.needs] == [need.digest for need in manifest.needs]
    assert content.digest == manifest.digest
    assert not manifest.is_index
    assert content.body == manifest.body


def test_a_manifest_without_a_type_is_what_the_header_says() -> None:
    body = b'{"schemaVersion": 2, "manifests": []}'
    assert OCI_INDEX == read_manifest(body, f"{OCI_INDEX}; charset=utf-8").media_type
    assert OCI_INDEX == read_manifest(body, "application/json").media_type
    assert DOCKER_LIST == read_manifest(body, DOCKER_LIST.upper()).media_type


def test_the_bodys_own_type_wins() -> None:
    content = image([layer(1)])
    assert OCI_MANIFEST == read_manifest(content.body, OCI_INDEX).media_type


def test_an_index_may_hold_blobs() -> None:
    cache = index([layer(1), layer(2)])
    assert [False, False] == [need.is_manifest for need in read_manifest(cache.body).needs]


@pytest.mark.parametrize(
    "document",
    [
        [],
        {"schemaVersion": 1},
        {"schemaVersion": 2, "mediaType": "application/vnd.oci.artifact.manifest.v1+json"},
        {"schemaVersion": 2},
        {"schemaVersion": 2, "config": 7},
        {"schemaVersion": 2, "config": descriptor(), "layers": {}},
        {"schemaVersion": 2, "config": descriptor(digest="sha256:../../etc")},
        {"schemaVersion": 2, "config": descriptor(digest="md5:0")},
        {"schemaVersion": 2, "config": descriptor(digest=f"sha256:{'A' * 64}")},
        {"schemaVersion": 2, "config": descriptor(digest=7)},
        {"schemaVersion": 2, "config": descriptor(size=-1)},
        {"schemaVersion": 2, "config": descriptor(size=True)},
        {"schemaVersion": 2, "config": descriptor(size="1")},
        {"schemaVersion": 2, "config": descriptor(mediaType=None)},
        {"schemaVersion": 2, "manifests": [7]},
    ],
)
def test_what_is_no_manifest(document: Any) -> None:
    with pytest.raises(InvalidManifest):
        read_manifest(json.dumps(document).encode())


@given(st.binary(max_size=200))
def test_no_bytes_are_an_error_of_another_kind(body: bytes) -> None:
    with pytest.raises(InvalidManifest):
        read_manifest(body)


@pytest.mark.parametrize(
    "content_type, expected",
    [(OCI_INDEX, True), (DOCKER_LIST, True), ("", True), ("application/json", True), (OCI_MANIFEST, False)],
)
def test_what_may_be_an_index(content_type: str, expected: bool) -> None:
    assert expected == may_be_index(content_type)


# platforms


@pytest.mark.parametrize(
    "wanted, entry, expected",
    [
        ("linux/amd64", "linux/amd64", True),
        ("linux/amd64", "linux/x86_64", True),
        ("linux/amd64", "linux/amd64/v1", True),
        ("linux/amd64", "linux/amd64/v3", False),
        ("linux/arm64", "linux/arm64/v8", True),
        ("linux/aarch64", "linux/arm64", True),
        ("linux/arm", "linux/arm/v7", True),
        ("linux/arm", "linux/arm/v6", False),
        ("linux/arm/v7", "linux/arm/7", True),
        ("linux/armhf", "linux/arm/v7", True),
        ("Linux/AMD64", "linux/amd64", True),
        ("linux/386", "linux/i386", True),
        ("linux/amd64", "windows/amd64", False),
    ],
)
def test_which_entries_a_platform_covers(wanted: str, entry: str, expected: bool) -> None:
    os, architecture, *variant = entry.split("/")
    document = {"os": os, "architecture": architecture, **({"variant": variant[0]} if variant else {})}
    found = read_platform(document)
    assert found is not None
    assert expected == parse_platform(wanted).covers(found)


@pytest.mark.parametrize("text", ["", "linux", "linux/", "/amd64", "linux/arm/v7/x"])
def test_what_is_no_platform(text: str) -> None:
    with pytest.raises(ValueError, match="is not a platform"):
        parse_platform(text)


@pytest.mark.parametrize("document", [None, [], {}, {"os": 1, "architecture": "x"}, {"os": "linux"}])
def test_a_platform_that_says_nothing(document: Any) -> None:
    assert read_platform(document) is None


def test_a_version_of_windows() -> None:
    entry = Platform("windows", "amd64", os_version="10.0.20348.2227")
    assert parse_platform("windows/amd64").covers(entry)
    assert Platform("windows", "amd64", os_version="10.0.20348").covers(entry)
    assert not Platform("windows", "amd64", os_version="10.0.17763").covers(entry)


# selection

AMD64, ARM64 = image([layer(1)], platform="linux/amd64"), image([layer(2)], platform="linux/arm64/v8")
WANTED = [parse_platform("linux/amd64")]


def attestation(about: Content) -> Content:
    statement = image([layer(3)], platform="unknown/unknown", annotations={"about": about.digest})
    annotations = {"vnd.docker.reference.digest": about.digest}
    return Content(
        statement.media_type, statement.body, statement.needs, {**statement.extra, "annotations": annotations}
    )


def selected(content: Content, *wanted: str) -> dict[str, Any]:
    chosen = select(read_manifest(content.body, content.media_type), [parse_platform(w) for w in wanted])
    assert chosen is not None
    document: dict[str, Any] = json.loads(chosen.body)
    return document


def test_what_is_wanted_stays_as_it_stands() -> None:
    content = index([AMD64, ARM64], annotations={"a": "b"}, artifactType="x/y")
    assert {
        "schemaVersion": 2,
        "mediaType": OCI_INDEX,
        "manifests": [AMD64.descriptor()],
        "annotations": {"a": "b", SOURCE_DIGEST: content.digest},
        "artifactType": "x/y",
    } == selected(content, "linux/amd64")


def test_a_docker_list_becomes_an_oci_index() -> None:
    content = index([AMD64, ARM64], media_type=DOCKER_LIST)
    assert OCI_INDEX == selected(content, "linux/arm64")["mediaType"]


def test_attestations_go_with_their_image() -> None:
    content = index([AMD64, ARM64, attestation(AMD64), attestation(ARM64)])
    kept = [entry["digest"] for entry in selected(content, "linux/amd64")["manifests"]]
    assert [AMD64.digest, attestation(AMD64).digest] == kept


def test_an_entry_without_a_platform_is_kept() -> None:
    content = index([AMD64, ARM64, image([layer(4)])])
    assert 2 == len(selected(content, "linux/amd64")["manifests"])


def test_an_index_with_nothing_to_leave_out_is_itself() -> None:
    whole = read_manifest(index([AMD64]).body)
    assert whole is select(whole, WANTED)


def test_an_index_without_a_wanted_platform() -> None:
    assert select(read_manifest(index([ARM64]).body), WANTED) is None


def test_the_same_input_gives_the_same_bytes() -> None:
    whole = read_manifest(index([AMD64, ARM64], annotations={"ü": "\ud800"}).body)
    first, again = select(whole, WANTED), select(whole, list(reversed(WANTED)))
    assert first is not None
    assert first == again
    assert digest(first.body) == first.digest


def test_where_a_manifest_came_from() -> None:
    whole = read_manifest(index([AMD64, ARM64]).body)
    part = select(whole, WANTED)
    assert part is not None
    assert whole.digest == source_digest(part) == source_digest(whole)
