"""Images made up for tests, and a way to put them into a registry that isn't the one under test."""

from __future__ import annotations

import hashlib
import json
import random
import urllib.error
import urllib.request
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO, Final

__all__ = ["Content", "FileContent", "digest", "fetch", "image", "index", "layer", "push"]

OCI: Final = "application/vnd.oci.image"
DOCKER: Final = "application/vnd.docker.distribution"
_TYPES: Final = (
    f"{OCI}.index.v1+json, {OCI}.manifest.v1+json, {DOCKER}.manifest.list.v2+json, {DOCKER}.manifest.v2+json"
)


@dataclass(frozen=True)
class Content:
    """Bytes with a media type; a manifest has what it needs with it."""

    media_type: str
    body: bytes = field(repr=False)
    needs: tuple[Content | FileContent, ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def digest(self) -> str:
        return digest(self.body)

    @property
    def is_manifest(self) -> bool:
        return "manifest" in self.media_type or "index" in self.media_type

    def descriptor(self) -> dict[str, Any]:
        return {"mediaType": self.media_type, "digest": self.digest, "size": len(self.body), **self.extra}


@dataclass(frozen=True)
class FileContent:
    """A blob that is too long for memory."""

    media_type: str
    file: Path
    needs: tuple[Content, ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)
    is_manifest = False

    @cached_property
    def digest(self) -> str:
        with self.file.open("rb") as reader:
            return f"sha256:{hashlib.file_digest(reader, 'sha256').hexdigest()}"

    def descriptor(self) -> dict[str, Any]:
        return {"mediaType": self.media_type, "digest": self.digest, "size": self.file.stat().st_size, **self.extra}


def digest(body: bytes) -> str:
    return f"sha256:{hashlib.sha256(body).hexdigest()}"


def layer(seed: int, size: int = 1000, media_type: str = f"{OCI}.layer.v1.tar+gzip", **extra: Any) -> Content:
    return Content(media_type, random.Random(seed).randbytes(size), extra=extra)


def image(
    layers: Sequence[Content | FileContent],
    config: Content | None = None,
    media_type: str = f"{OCI}.manifest.v1+json",
    platform: str = "",
    **more: Any,
) -> Content:
    """Make a manifest.

    Args:
        platform: ``os/architecture[/variant]``, for an index that it will be in.
        more: other keys of the manifest.
    """
    config = config or Content(f"{OCI}.config.v1+json", json.dumps({"platform": platform}).encode())
    document = {
        "schemaVersion": 2,
        "mediaType": media_type,
        "config": config.descriptor(),
        "layers": [item.descriptor() for item in layers],
        **more,
    }
    extra = {}
    if platform:
        names = ("os", "architecture", "variant")
        extra["platform"] = dict(zip(names, platform.split("/"), strict=False))
    return Content(media_type, json.dumps(document).encode(), (config, *layers), extra)


def index(manifests: Sequence[Content], media_type: str = f"{OCI}.index.v1+json", **more: Any) -> Content:
    document = {
        "schemaVersion": 2,
        "mediaType": media_type,
        "manifests": [item.descriptor() for item in manifests],
        **more,
    }
    return Content(media_type, json.dumps(document, indent=1).encode(), tuple(manifests))


def push(host: str, repository: str, tags: Iterable[str], content: Content, user: str = "") -> None:
    """Put content into a registry with everything that it needs; an empty list of tags pushes by digest."""
    headers = {"Authorization": f"Basic {b64encode(user.encode()).decode()}"} if user else {}
    base = f"http://{host}/v2/{repository}"
    for need in content.needs:
        if isinstance(need, Content) and need.is_manifest:
            push(host, repository, (), need, user)
        elif "urls" not in need.extra:
            _push_blob(base, need, headers)
    for reference in list(tags) or [content.digest]:
        typed = {**headers, "Content-Type": content.media_type}
        _send("PUT", f"{base}/manifests/{reference}", typed, content.body)


def _push_blob(base: str, blob: Content | FileContent, headers: dict[str, str]) -> None:
    with _send("POST", f"{base}/blobs/uploads/", headers, b"") as begun:
        location = begun.headers["Location"]
    if isinstance(blob, Content):
        _send("PUT", f"{location}&digest={blob.digest}", headers, blob.body)
        return
    with blob.file.open("rb") as body:
        length = {"Content-Length": str(blob.file.stat().st_size)}
        _send("PUT", f"{location}&digest={blob.digest}", {**headers, **length}, body)


def fetch(host: str, path: str) -> bytes | None:
    """Read something of a registry; None where it isn't."""
    try:
        with _send("GET", f"http://{host}/v2/{path}", {"Accept": _TYPES}, None) as answer:
            return bytes(answer.read())
    except urllib.error.HTTPError as error:
        if error.code != 404:
            raise
        return None


def _send(method: str, url: str, headers: Mapping[str, str], body: bytes | BinaryIO | None) -> Any:
    typed = {"Content-Type": "application/octet-stream", **headers}
    request = urllib.request.Request(url, body, typed, method=method)
    return urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=60)
