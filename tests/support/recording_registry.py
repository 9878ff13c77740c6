"""A registry in a thread that has every image and writes down when it was asked for which: the judge of a pace."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from runtime.clock import boot_clock

__all__ = ["Asked", "RecordingRegistry", "recording_registry"]


@dataclass(frozen=True)
class Asked:
    """A request for a manifest.

    Attributes:
        at: nanoseconds of the clock of windows, which the processes of a machine share.
    """

    at: int
    method: str
    path: str


class RecordingRegistry:
    """What was asked, in order; nothing but manifests counts."""

    def __init__(self, host: str) -> None:
        self.host = host
        self._asked: list[Asked] = []
        self._changed = threading.Condition()

    @property
    def asked(self) -> list[Asked]:
        with self._changed:
            return [*self._asked]

    def record(self, asked: Asked) -> None:
        with self._changed:
            self._asked.append(asked)
            self._changed.notify_all()

    def wait_for(self, count: int, within: float = 30) -> list[Asked]:
        """Wait until it was asked so often."""
        with self._changed:
            assert self._changed.wait_for(lambda: len(self._asked) >= count, within), self._asked
            return [*self._asked]


@contextmanager
def recording_registry() -> Iterator[RecordingRegistry]:
    """Serve on a free port of loopback."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_HEAD(self) -> None:
            at = boot_clock()
            if "/manifests/" in self.path:
                registry.record(Asked(at, self.command, self.path))
            self.send_response(200)
            self.send_header("Docker-Content-Digest", f"sha256:{hashlib.sha256(self.path.encode()).hexdigest()}")
            self.send_header("Content-Type", "application/vnd.oci.image.manifest.v1+json")
            self.send_header("Content-Length", "0")
            self.end_headers()

        do_GET = do_HEAD  # noqa: N815  the name is the protocol's

        def log_message(self, *_: Any) -> None:
            pass

    class Server(ThreadingHTTPServer):
        def handle_error(self, *_: Any) -> None:
            """Say nothing: the other end was killed."""

    server = Server(("127.0.0.1", 0), Handler)
    registry = RecordingRegistry(f"127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield registry
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
