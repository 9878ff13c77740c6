"""A small read-only OCI registry, of Python's standard library alone.

It serves any number of registry names at one address of loopback. kuik reaches it as the HTTP proxy of these names, so
that the demonstration needs neither DNS nor a fixed port. It speaks the part of the distribution API that reads:
manifests by tag and by digest, blobs, lists of tags.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

MANIFEST = "application/vnd.oci.image.manifest.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"


@dataclass(frozen=True)
class Content:
    """Bytes that are addressed by their digest."""

    media_type: str
    body: bytes

    @property
    def digest(self) -> str:
        """Its address."""
        return f"sha256:{hashlib.sha256(self.body).hexdigest()}"

    @property
    def descriptor(self) -> dict[str, Any]:
        """How a manifest names it."""
        return {"mediaType": self.media_type, "digest": self.digest, "size": len(self.body)}


class Shelf:
    """What the registry holds: contents by the path at which they are asked for."""

    def __init__(self, images: Iterable[str]) -> None:
        self._contents: dict[str, Content] = {}
        self._tags: dict[str, list[str]] = {}
        for image in images:
            self._put(image)

    def _put(self, image: str) -> None:
        """Make up an image: a manifest without layers, and a configuration that names it."""
        repository, _, tag = image.rpartition(":")
        labels = {"org.opencontainers.image.ref.name": image}
        settings = {"os": "linux", "architecture": "amd64", "config": {"Labels": labels}}
        config = Content(CONFIG, json.dumps(settings).encode())
        document = {"schemaVersion": 2, "mediaType": MANIFEST, "config": config.descriptor, "layers": []}
        manifest = Content(MANIFEST, json.dumps(document).encode())
        for reference in (tag, manifest.digest):
            self._contents[f"{repository}/manifests/{reference}"] = manifest
        self._contents[f"{repository}/blobs/{config.digest}"] = config
        self._tags.setdefault(repository, []).append(tag)

    def find(self, host: str, path: str) -> Content | None:
        """Find what a path of the API names."""
        name = path.removeprefix("/v2/")
        if not name:
            return Content("application/json", b"{}")
        repository, found, _ = f"{host}/{name}".partition("/tags/list")
        if found and repository in self._tags:
            tags = {"name": repository.partition("/")[2], "tags": self._tags[repository]}
            return Content("application/json", json.dumps(tags).encode())
        return self._contents.get(f"{host}/{name}")


class Registry(ThreadingHTTPServer):
    """Serves a shelf on a free port of loopback."""

    daemon_threads = True

    def __init__(self, shelf: Shelf) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.shelf = shelf

    @property
    def url(self) -> str:
        """Where it can be reached."""
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: Registry
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._answer(with_body=True)

    def do_HEAD(self) -> None:
        self._answer(with_body=False)

    def _answer(self, *, with_body: bool) -> None:
        # a proxy is asked by the whole URL, a server by the path alone
        url = urlsplit(self.path)
        found = self.server.shelf.find(url.netloc or self.headers.get("Host", ""), url.path)
        content = found or Content("application/json", b'{"errors": [{"code": "MANIFEST_UNKNOWN"}]}')
        self.send_response(404 if found is None else 200)
        self.send_header("Content-Type", content.media_type)
        self.send_header("Content-Length", str(len(content.body)))
        if found is not None:
            self.send_header("Docker-Content-Digest", content.digest)
        self.end_headers()
        if with_body:
            self.wfile.write(content.body)

    def log_message(self, *_: Any) -> None:
        """Say nothing: what is asked shows in kuik's log."""


@contextmanager
def serve(images: Iterable[str]) -> Iterator[Registry]:
    """Serve images while the context lasts."""
    registry = Registry(Shelf(images))
    threading.Thread(target=registry.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True).start()
    try:
        yield registry
    finally:
        registry.shutdown()
        registry.server_close()
