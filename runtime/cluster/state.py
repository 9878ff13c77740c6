"""The state folder of a local run: a lock, a counter of starts, and one status file a resource.

    STATE/lock                              held by the process that leads
    STATE/transitions                       how often it has changed hands (T3)
    STATE/status/ImageMonitor/NAME.yaml     kind, name and status of a resource

A file is there whole or not at all: it is written beside its place, synced, and renamed into it.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Final

from compiler.diagnostics import Diagnostic
from compiler.plan import API_VERSION
from compiler.render.yaml import dump
from compiler.selectors import dns_subdomain_error
from compiler.source import Text, read_documents
from runtime.files import read_file

__all__ = ["BEING_WRITTEN", "Lock", "StateFolder", "read_statuses"]

_LONGEST_NAME: Final = 255
"""Bytes; NAME_MAX of every file system that matters."""
BEING_WRITTEN: Final = ".being-written-"
"""How the name of a file begins that is not whole yet; what a killed process leaves so goes at the next start."""


@dataclass(slots=True)
class Lock:
    """The lock of a state folder, which ends with the process that holds it, however that ends."""

    path: Path
    _file: IO[str] | None = field(default=None, repr=False)

    def acquire(self) -> bool:
        """Take it if nobody holds it."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        file = self.path.open("a+")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            return False
        self._file = file
        if not self.is_held():
            # the folder was replaced between the two calls, and this is the lock of the old one
            self.release()
            return False
        file.truncate(0)
        file.write(f"{os.getpid()}\n")
        file.flush()
        return True

    def is_held(self) -> bool:
        """Say whether the lock that was taken is still the folder's: a folder that was replaced has another."""
        if self._file is None:
            return False
        try:
            there = self.path.stat()
        except OSError:
            return False
        ours = os.fstat(self._file.fileno())
        return (there.st_dev, there.st_ino) == (ours.st_dev, ours.st_ino)

    def release(self) -> None:
        """Let it go."""
        if self._file is not None:
            self._file.close()
            self._file = None


@dataclass(frozen=True, slots=True)
class StateFolder:
    """Writes what is in the folder; whoever does holds the lock."""

    path: Path

    @property
    def lock(self) -> Lock:
        """A lock of the folder that is not taken yet."""
        return Lock(self.path / "lock")

    def count_start(self) -> int:
        """Count a start, and give how many there were before it; what can't be read counts as none."""
        file = self.path / "transitions"
        starts = 0
        with suppress(OSError, ValueError):
            starts = int(file.read_text(encoding="ascii"))
        _replace(file, f"{starts + 1}\n")
        return starts

    def write_status(self, kind: str, name: str, status: Mapping[str, Any]) -> None:
        """Write the status of a resource; after a crash it is either the new one or the one before."""
        document = {"apiVersion": API_VERSION, "kind": kind, "metadata": {"name": name}, "status": status}
        _replace(self._status_file(kind, name), dump(document))

    def remove_status(self, kind: str, name: str) -> None:
        """Remove the status of a resource that is gone."""
        self._status_file(kind, name).unlink(missing_ok=True)

    def remove_leftovers(self) -> None:
        """Remove what a killed process was about to write."""
        for path in self.path.rglob(f"{BEING_WRITTEN}*"):
            path.unlink(missing_ok=True)

    def _status_file(self, kind: str, name: str) -> Path:
        if reason := dns_subdomain_error(name):
            # a name is a path here: "../x" must not leave the folder
            raise ValueError(f"{kind} can't be called so: {reason}")
        file = f"{name}.yaml"
        if len(file) > _LONGEST_NAME:
            # a resource may be called by more characters than a file; the document says which it is
            file = f"{name[:200]}-{hashlib.sha256(name.encode()).hexdigest()[:16]}.yaml"
        return self.path / "status" / kind / file


def read_statuses(folder: Path) -> tuple[dict[str, Mapping[str, Any]], list[Diagnostic]]:
    """Read every status of a state folder; needs no lock, since each file is whole.

    Returns:
        Status by owner in the order of owners, and what is no status.
    """
    statuses, found = dict[str, Mapping[str, Any]](), list[Diagnostic]()
    for path in sorted(folder.glob("status/*/*.yaml")):
        text = read_file(str(path))
        if isinstance(text, Diagnostic):
            found.append(text)
            continue
        found += read_documents(text)[1]
        statuses.update(_statuses_of(text))
    return dict(sorted(statuses.items())), found


def _statuses_of(text: Text) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for document in read_documents(text)[0]:
        match document.value:
            case {"kind": str(kind), "metadata": {"name": str(name)}, "status": dict(status)}:
                yield f"{kind}/{name}", status


def _replace(path: Path, content: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{BEING_WRITTEN}{hashlib.sha256(path.name.encode()).hexdigest()[:16]}")
    try:
        with temporary.open("w", encoding="utf-8", errors="surrogatepass") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError:
        # on a disk that is full, half a file is in the way of the next attempt
        temporary.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    """Make a rename last: the folder's entry is data of its own."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
