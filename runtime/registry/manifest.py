"""Manifests: what a tag points at, and what it needs to be complete.

A manifest is kept as the bytes that were read, since those are what its digest is of; what is parsed of them is only
what a copy has to walk. Configs and layers of types that nobody here has heard of are data like any other.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from runtime.registry.digests import digest_of, is_digest
from runtime.registry.platforms import Platform, read_platform

__all__ = ["ACCEPT", "OCI_INDEX", "Descriptor", "InvalidManifest", "Manifest", "may_be_index", "read_manifest"]

OCI_INDEX: Final = "application/vnd.oci.image.index.v1+json"
_OCI_MANIFEST: Final = "application/vnd.oci.image.manifest.v1+json"
_DOCKER_LIST: Final = "application/vnd.docker.distribution.manifest.list.v2+json"
_DOCKER_MANIFEST: Final = "application/vnd.docker.distribution.manifest.v2+json"
# leaving one out makes an image look missing, or gives the digest of one of its platforms
ACCEPT: Final = f"{OCI_INDEX}, {_OCI_MANIFEST}, {_DOCKER_LIST}, {_DOCKER_MANIFEST}"

_INDEXES: Final = frozenset({OCI_INDEX, _DOCKER_LIST})
_MANIFESTS: Final = frozenset({OCI_INDEX, _OCI_MANIFEST, _DOCKER_LIST, _DOCKER_MANIFEST})
# layers that may not be distributed: their URLs stay, their content isn't the registry's
_FOREIGN: Final = ("application/vnd.docker.image.rootfs.foreign.", "application/vnd.oci.image.layer.nondistributable.")


class InvalidManifest(ValueError):
    """The bytes are no manifest that can be copied; the message says why."""


@dataclass(frozen=True, slots=True)
class Descriptor:
    """What a manifest says about something it needs.

    Attributes:
        document: the descriptor as it stands, to be written into another index.
    """

    media_type: str
    digest: str
    size: int
    platform: Platform | None = None
    document: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)

    @property
    def is_manifest(self) -> bool:
        """Whether it is read as a manifest; an index may hold blobs as well, as build caches do."""
        return self.media_type in _MANIFESTS

    @property
    def is_foreign(self) -> bool:
        """Whether it lies outside of the registry, at its own URLs."""
        return self.media_type.startswith(_FOREIGN)


@dataclass(frozen=True, slots=True)
class Manifest:
    """A manifest or index.

    Attributes:
        body: the bytes, which ``digest`` is of.
        needs: everything that must be at the destination before it.
        document: the parsed body.
    """

    media_type: str
    digest: str
    body: bytes = field(repr=False)
    needs: tuple[Descriptor, ...]
    document: Mapping[str, Any] = field(compare=False, repr=False)

    @property
    def is_index(self) -> bool:
        """Whether it lists manifests, most often one a platform."""
        return self.media_type in _INDEXES


def may_be_index(content_type: str) -> bool:
    """Say whether an answer of this type can be an index: it says so, or says nothing that one could go by."""
    return content_type.partition(";")[0].strip().lower() not in _MANIFESTS - _INDEXES


def read_manifest(body: bytes, content_type: str = "", digest: str | None = None) -> Manifest:
    """Read a manifest.

    Args:
        body: as it came.
        content_type: what the registry said; parameters are ignored. The body's own ``mediaType`` wins.
        digest: that it is known to have; computed otherwise.

    Raises:
        InvalidManifest: no JSON object, a type that isn't copied, or a descriptor that can't be trusted.
    """
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        raise InvalidManifest("the manifest is not JSON") from None
    if not isinstance(document, dict):
        raise InvalidManifest("the manifest is not a JSON object")
    media_type = _media_type(document, content_type)
    return Manifest(media_type, digest or digest_of(body), body, _needs(document, media_type), document)


def _media_type(document: Mapping[str, Any], content_type: str) -> str:
    """Find the type: an OCI manifest may leave it to the header, and a header may be wrong."""
    if document.get("schemaVersion") != 2:
        raise InvalidManifest("the manifest is not of schema version 2")
    said = document.get("mediaType") or content_type.partition(";")[0].strip().lower()
    if said in _MANIFESTS:
        return str(said)
    if document.get("mediaType"):
        raise InvalidManifest("the manifest has an unknown media type")
    return OCI_INDEX if "manifests" in document else _OCI_MANIFEST


def _needs(document: Mapping[str, Any], media_type: str) -> tuple[Descriptor, ...]:
    if media_type in _INDEXES:
        return _list(document, "manifests")
    if "config" not in document:
        raise InvalidManifest("the manifest has no config")
    return (_descriptor(document["config"]), *_list(document, "layers"))


def _list(document: Mapping[str, Any], name: str) -> tuple[Descriptor, ...]:
    found = document.get(name)
    if found is None:
        return ()
    if not isinstance(found, list):
        raise InvalidManifest(f'the manifest\'s "{name}" is not a list')
    return tuple(map(_descriptor, found))


def _descriptor(document: Any) -> Descriptor:
    if not isinstance(document, dict):
        raise InvalidManifest("the manifest has a descriptor that is not an object")
    media_type, digest, size = document.get("mediaType"), document.get("digest"), document.get("size")
    if not isinstance(media_type, str) or not isinstance(digest, str) or not is_digest(digest):
        raise InvalidManifest("the manifest has a descriptor without a media type or a known digest")
    if not isinstance(size, int) or isinstance(size, bool) or size < 0:
        raise InvalidManifest(f"the manifest has no size for {digest}")
    return Descriptor(media_type, digest, size, read_platform(document.get("platform")), document)
