"""Programs of Debian's packages: found in PATH, in the cache, or unpacked there once without root."""

from __future__ import annotations

import ctypes
import fcntl
import os
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NoReturn

import pytest

__all__ = ["Tool", "Unavailable", "find_tool", "give_up", "serve_registry"]

_SCRIPT: Final = Path(__file__).resolve().parent.parent.parent / "hack" / "debian-tools.sh"
_DOWNLOAD_SECONDS: Final = 300
# of the machine, before a fixture points somewhere else
_ENVIRONMENT: Final = dict(os.environ)


class Unavailable(Exception):
    """The package can't be had on this machine; the message says why."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A program and where its libraries lie."""

    path: Path
    libraries: str

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, "LD_LIBRARY_PATH": self.libraries}

    def run(self, *arguments: str) -> str:
        """Run it and give what it prints; a failure shows what it said."""
        done = subprocess.run(
            [self.path, *arguments], env=self.environment, capture_output=True, text=True, timeout=120, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


def give_up(reason: Exception) -> NoReturn:
    """Skip on a laptop that is no Debian; fail under CI."""
    if _ENVIRONMENT.get("CI"):
        pytest.fail(f"CI needs a program of Debian's: {reason}", pytrace=False)
    pytest.skip(f"a program of Debian's cannot be had: {reason}")


def find_tool(program: str, packages: tuple[str, ...] = ("docker-registry", "skopeo")) -> Tool:
    """Find a program.

    Args:
        program: its name, in a folder of ``PATH`` or in the packages' ``/usr/bin``.
        packages: those that are unpacked when it is not installed.

    Raises:
        Unavailable: it is not here and can't be downloaded.
    """
    if installed := shutil.which(program):
        return Tool(Path(installed), _ENVIRONMENT.get("LD_LIBRARY_PATH", ""))
    folder = _cache(packages)
    path = folder / "usr" / "bin" / program
    if not path.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with folder.with_name(f"{folder.name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not path.exists():
                _unpack(folder, packages)
    return Tool(path, ":".join(str(p) for p in sorted((folder / "usr" / "lib").glob("*-linux-gnu"))))


def _cache(packages: tuple[str, ...]) -> Path:
    base = _ENVIRONMENT.get("XDG_CACHE_HOME") or Path(_ENVIRONMENT.get("HOME", "~")).expanduser() / ".cache"
    return Path(base) / "kuik" / "-".join(("debian", *packages))


def _unpack(folder: Path, packages: tuple[str, ...]) -> None:
    """Unpack beside the cache and move it there whole."""
    with tempfile.TemporaryDirectory(dir=folder.parent) as work:
        unpacked = Path(work, "root")
        try:
            done = subprocess.run(
                [_SCRIPT, unpacked, *packages],
                env=_ENVIRONMENT,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=_DOWNLOAD_SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise Unavailable(str(error)) from None
        if done.returncode:
            raise Unavailable(done.stderr.strip()[-500:])
        shutil.rmtree(folder, ignore_errors=True)
        unpacked.rename(folder)


@contextmanager
def serve_registry(tool: Tool, folder: Path, configuration: Mapping[str, object] | None = None) -> Iterator[str]:
    """Run a registry of its own on a free port of loopback, and give its host; its data lies in the folder.

    Args:
        configuration: sections beside storage, log and http, in the registry's own form; JSON is YAML.
    """
    import json

    sections = {
        "version": 0.1,
        "log": {"level": "info", "accesslog": {"disabled": False}},
        "storage": {"filesystem": {"rootdirectory": str(folder / "data")}, "delete": {"enabled": True}},
        "http": {"addr": "127.0.0.1:0", "secret": "of the tests"},
        "validation": {"manifests": {"urls": {"allow": ["^https?://"]}}},
        **(configuration or {}),
    }
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.yml").write_text(json.dumps(sections))
    log = folder / "registry.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [tool.path, "serve", folder / "config.yml"],
            env=tool.environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            preexec_fn=_end_with_parent,  # noqa: PLW1509  one call into libc, nothing that takes a lock
        )
    try:
        yield f"127.0.0.1:{_port(process, log)}"
    finally:
        process.kill()
        process.wait()


def _port(process: subprocess.Popen[bytes], log: Path) -> int:
    """Read the port from the log: the registry chose it, so that nobody else can have it."""
    while process.poll() is None:
        if found := re.search(r"listening on 127\.0\.0\.1:(\d+)", log.read_text()):
            return int(found[1])
        os.sched_yield()
    raise Unavailable(f"docker-registry ended: {log.read_text()[-500:]}")


def _end_with_parent() -> None:
    """A worker that is killed leaves no registry behind (prctl's PR_SET_PDEATHSIG)."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)
