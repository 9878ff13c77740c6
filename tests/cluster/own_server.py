"""An API server of a test's own, which it may kill and start again."""

from __future__ import annotations

import os
import select
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.cluster.api_server import ApiServer, start_api_server

__all__ = ["OwnServer", "own_server"]


@dataclass(slots=True)
class OwnServer:
    """A server whose API process can be replaced; its etcd goes on."""

    server: ApiServer
    _command: list[str] = field(default_factory=list)
    _process: int = 0
    _started: subprocess.Popen[bytes] | None = None

    def stop(self) -> None:
        """Kill the API server, as a node that fails does."""
        if not self._process:
            self._process = _child(self.server.keeper, "kube-apiserver")
            self._command = Path(f"/proc/{self._process}/cmdline").read_text().rstrip("\0").split("\0")
        with suppress(ProcessLookupError):
            ended = os.pidfd_open(self._process)
            os.kill(self._process, signal.SIGKILL)
            # its port is free when it is gone, not when it is told to go
            select.select([ended], [], [])
            os.close(ended)

    def start(self) -> None:
        """Start it again on the same port; it answers a few seconds later."""
        with Path(self.server.folder, "apiserver-again.log").open("ab") as log:
            self._started = subprocess.Popen(self._command, cwd=self.server.folder, stdout=log, stderr=log)
        self._process = self._started.pid


@contextmanager
def own_server(binaries: Path, folder: Path, *flags: str) -> Iterator[OwnServer]:
    """Start a server, and end it with all that was started."""
    own = OwnServer(start_api_server(binaries, folder, os.getpid(), *flags))
    try:
        yield own
    finally:
        if own._started is not None:
            own._started.kill()
            own._started.wait()
        with suppress(ProcessLookupError):
            os.kill(own.server.keeper, signal.SIGTERM)


def _child(parent: int, name: str) -> int:
    for pid in Path(f"/proc/{parent}/task/{parent}/children").read_text().split():
        if Path(Path(f"/proc/{pid}/cmdline").read_text().split("\0")[0]).name == name:
            return int(pid)
    raise AssertionError(f"{parent} has no child {name}")
