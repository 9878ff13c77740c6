"""Where etcd, kube-apiserver and kubectl come from: the user's, the cache's, or built once from Debian's sources.

Run as a script (``make api-server``) it does what the tests would do on their first run, with the progress in sight.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

__all__ = ["NAMES", "Unavailable", "cache_folder", "find_or_build"]

NAMES: Final = ("etcd", "kube-apiserver", "kubectl")
BUILD_SCRIPT: Final = Path(__file__).with_name("build-api-server.sh")
# longer than a build takes on a loaded machine; a hang must not outlast the run
BUILD_TIMEOUT_SECONDS: Final = 1800


class Unavailable(Exception):
    """There is no API server on this machine, and none can be built; the message says why."""


def find_or_build(environment: Mapping[str, str] = os.environ, script: Path = BUILD_SCRIPT) -> Path:
    """Give the folder that holds the three programs, building them if need be.

    Args:
        environment: ``KUBEBUILDER_ASSETS`` (envtest's convention), ``XDG_CACHE_HOME`` and ``HOME`` are read.
        script: what builds them, called with the folder to fill.

    Raises:
        Unavailable: the named folder lacks a program, or the build has failed.
    """
    if named := environment.get("KUBEBUILDER_ASSETS"):
        if missing := _missing(Path(named)):
            raise Unavailable(f"KUBEBUILDER_ASSETS={named} lacks {', '.join(missing)}")
        return Path(named)
    cache = cache_folder(environment)
    if _missing(cache):
        cache.parent.mkdir(parents=True, exist_ok=True)
        with exclusive(cache.with_name(f"{cache.name}.lock")):
            # another run may have built it while this one waited
            if _missing(cache):
                _build(cache, script)
    return cache


def cache_folder(environment: Mapping[str, str]) -> Path:
    """Give the folder that a build is kept in; ``make clean`` leaves it alone."""
    base = environment.get("XDG_CACHE_HOME") or Path(environment.get("HOME", "~")).expanduser() / ".cache"
    return Path(base) / "kuik" / "kube-apiserver-1.20"


@contextmanager
def exclusive(path: Path) -> Iterator[None]:
    """Hold a lock between processes; it ends with the process that holds it, however that ends."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _missing(folder: Path) -> list[str]:
    return [name for name in NAMES if not os.access(folder / name, os.X_OK)]


def _build(cache: Path, script: Path) -> None:
    """Build beside the cache and move it there whole: a build that was killed leaves no half of a server."""
    print(f"Building a Kubernetes API server into {cache}: once, about three minutes", file=sys.stderr)
    with tempfile.TemporaryDirectory(dir=cache.parent) as folder:
        log, server = Path(folder, "build.log"), Path(folder, "server")
        status = _run([str(script), str(server)], log)
        if status or _missing(server):
            last = "\n".join(log.read_text(errors="replace").splitlines()[-5:])
            raise Unavailable(f"building an API server from Debian's sources failed:\n{last}")
        shutil.rmtree(cache, ignore_errors=True)
        server.rename(cache)


def _run(command: list[str], log: Path) -> int:
    """Run a command and all that it starts; give its exit status, or -1 when it took too long."""
    with log.open("w") as output:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True
        )
        try:
            return process.wait(BUILD_TIMEOUT_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return -1


if __name__ == "__main__":
    try:
        print(find_or_build())
    except Unavailable as reason:
        print(reason, file=sys.stderr)
        # a laptop that is no Debian skips those tests; CI does not
        sys.exit(1 if os.environ.get("CI") else 0)
