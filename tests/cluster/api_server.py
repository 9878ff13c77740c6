"""A real Kubernetes API server on loopback, for the tests that a fake would make worthless."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

__all__ = ["ApiServer", "NotStarted", "start_api_server", "wait_until"]

KEEPER: Final = Path(__file__).with_name("keeper.py")
KUBECTL_TIMEOUT_SECONDS: Final = 120
# a port that was free may be taken by another process before the server listens
ATTEMPTS: Final = 3

# those that this process has started, to be waited for
_KEEPERS: Final[dict[int, subprocess.Popen[str]]] = {}


class NotStarted(Exception):
    """The servers ended before they were ready; the message holds the end of their log."""


@dataclass(frozen=True, slots=True)
class ApiServer:
    """A running API server.

    Attributes:
        folder: kubeconfig (contexts ``admin`` and ``kuik``), logs, certificates.
        binaries: where its programs lie.
        keeper: the process that ends it.
        admin_token: may do everything.
        kuik_token: the service account ``kuik-system/kuik``, which may do what RBAC lets it.
    """

    folder: str
    binaries: str
    keeper: int
    url: str
    admin_token: str
    kuik_token: str

    @property
    def kubeconfig(self) -> str:
        """The path of a kubeconfig whose current context is ``admin``."""
        return f"{self.folder}/kubeconfig"

    def to_json(self) -> str:
        """Describe the server to another process."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> ApiServer:
        """Read what ``to_json`` gave."""
        return cls(**json.loads(text))

    def stop(self) -> None:
        """End the servers; only for the one who started them."""
        keeper = _KEEPERS.pop(self.keeper)
        keeper.terminate()
        keeper.wait()

    def served(self, group_version: str) -> list[dict[str, Any]]:
        """Give what discovery lists under a group's version (APIResource), subresources aside."""
        done = self.kubectl("get", "--raw", f"/apis/{group_version}")
        resources = json.loads(done.stdout)["resources"] if done.returncode == 0 else []
        return [r for r in resources if "/" not in r["name"]]

    def kubectl(self, *arguments: str, stdin: str = "", context: str = "admin") -> subprocess.CompletedProcess[str]:
        """Run kubectl against this server; the caller looks at the exit status."""
        command = [f"{self.binaries}/kubectl", "--kubeconfig", self.kubeconfig, "--context", context, *arguments]
        # kubectl keeps discovery in the home folder: that of another server, or in the middle of another test's update
        environment = {**os.environ, "HOME": f"{self.folder}/home-{os.getpid()}"}
        return subprocess.run(
            command,
            input=stdin,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=KUBECTL_TIMEOUT_SECONDS,
        )


def wait_until(condition: Callable[[], bool], timeout_seconds: float = 60) -> None:
    """Ask a real server again and again until something has come about there.

    Raises:
        TimeoutError: it has not.
    """
    deadline = time.monotonic() + timeout_seconds
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"not so after {timeout_seconds} seconds")
        time.sleep(0.05)


def start_api_server(binaries: Path, folder: Path, watched: int, *flags: str) -> ApiServer:
    """Start etcd and kube-apiserver and wait until the API is ready, about five seconds.

    Args:
        binaries: holds etcd, kube-apiserver and kubectl.
        folder: an empty one, which the servers work in.
        watched: the process after whose end the servers end.
        flags: more of kube-apiserver's, such as ``--etcd-compaction-interval=1s``.

    Raises:
        NotStarted: after three attempts, each on ports of its own.
    """
    for attempt in range(1, ATTEMPTS + 1):
        place = folder / str(attempt)
        place.mkdir(parents=True)
        keeper, answer = _start_keeper(binaries, place, watched, flags)
        if "error" not in answer:
            _KEEPERS[keeper.pid] = keeper
            return ApiServer(folder=str(place), binaries=str(binaries), keeper=keeper.pid, **answer)
        keeper.wait()
    raise NotStarted(f"{answer['error']}\nsee {place}")


def _start_keeper(
    binaries: Path, place: Path, watched: int, flags: tuple[str, ...]
) -> tuple[subprocess.Popen[str], dict[str, str]]:
    command = [sys.executable, str(KEEPER), str(binaries), str(place), str(watched), *flags]
    with (place / "keeper.log").open("w") as log:
        # a session of its own: a signal to pytest's group is not one to the servers, which end after it
        keeper = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, text=True, start_new_session=True
        )
    assert keeper.stdout is not None
    with keeper.stdout as answers:
        answer = answers.readline() or json.dumps({"error": "the keeper ended without a word"})
    return keeper, json.loads(answer)
