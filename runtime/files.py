"""Reads the files that a command is given: the compiler itself opens none."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import BinaryIO, Final

from compiler.diagnostics import Code, Diagnostic, Position, Severity
from compiler.source import Text, decode

__all__ = ["STDIN", "Files", "read_file", "read_files"]

STDIN: Final = "-"

_SUFFIXES: Final = (".yaml", ".yml", ".json")
_PART: Final = 64 << 20  # bytes
_LARGEST: Final = 1 << 30
"""Bytes; more than any cluster prints, and what keeps a device or an endless pipe from filling the memory."""


@dataclass(slots=True)
class Files:
    """The texts that were read, in a stable order, and what could not be read."""

    texts: list[Text] = field(default_factory=list)
    diagnostics: list[Diagnostic] = field(default_factory=list)


def read_files(paths: Sequence[str], *, exclude: Sequence[str] = (), besides: str | None = None) -> Files:
    """Read files, folders and standard input.

    Folders are read with all folders in them: what ends in .yaml, .yml or .json and whose name, and that of every
    folder on the way, does not begin with a dot. Links are followed; a file is read once, however it is reached.

    Args:
        paths: as the user gave them; ``-`` is standard input.
        exclude: globs; a file is left out when its path, its name or a folder of its path matches one.
        besides: a file that is not read although it lies in a folder: the configuration.
    """
    files = Files()
    known = {_identity(besides)} if besides is not None else set()
    for path in dict.fromkeys(paths):
        if path == STDIN:
            _add(files, _read_stdin())
            continue
        is_folder = _is_folder(path)
        for found in _walk(path, exclude, files):
            identity = _identity(found)
            if identity is None or identity not in known:
                known.add(identity)
                _add(files, read_file(found), named=not is_folder)
    return files


def read_file(path: str) -> Text | Diagnostic:
    """Read one file, or standard input for ``-``; a diagnostic says why that can't be done."""
    if path == STDIN:
        return _read_stdin()
    try:
        with open(path, "rb") as file:  # noqa: PTH123  a path such as /dev/fd/63 is no business of pathlib's
            content = _read_bounded(file)
    except OSError as error:
        return _unreadable(path, error)
    return _decode(path, content)


def _read_stdin() -> Text | Diagnostic:
    if sys.stdin is None:
        return _error("<stdin>", Code.UNREADABLE, "standard input is closed")
    try:
        content = _read_bounded(sys.stdin.buffer)
    except OSError as error:
        return _unreadable("<stdin>", error)
    return _decode("<stdin>", content, is_stream=True)


def _read_bounded(file: BinaryIO) -> bytes | None:
    """Read to the end; None when that lies beyond the bound, which a file says at once and a pipe or a device late."""
    if os.fstat(file.fileno()).st_size > _LARGEST:
        return None
    parts, size = list[bytes](), 0
    while part := file.read(_PART):
        parts.append(part)
        size += len(part)
        if size > _LARGEST:
            return None
    return b"".join(parts)


def _decode(name: str, content: bytes | None, *, is_stream: bool = False) -> Text | Diagnostic:
    if content is None:
        return _error(name, Code.TOO_LARGE, "this file is larger than 1 GiB")
    return decode(name, content, is_stream=is_stream)


def _add(files: Files, read: Text | Diagnostic, *, named: bool = False) -> None:
    if isinstance(read, Diagnostic):
        files.diagnostics.append(read)
        return
    if not read.content.strip() and (named or read.is_stream):
        what = "standard input is empty" if read.is_stream else "this file is empty"
        remedy = "see whether the command in front of the pipe has failed" if read.is_stream else ""
        files.diagnostics.append(Diagnostic(Severity.WARNING, Code.EMPTY_INPUT, what, Position(read.name), remedy))
    files.texts.append(read)


def _walk(start: str, exclude: Sequence[str], files: Files) -> Iterator[str]:
    """Give a file, or those of a folder in code-point order of their paths; a loop of links ends where it began.

    What is left out is not looked at: neither a folder that may not be read nor a link that leads nowhere is told.
    """
    seen, stack = set[tuple[int, int]](), [start]
    while stack:
        path = stack.pop()
        if _excluded(path, start, exclude):
            continue
        if not _is_folder(path):
            # what was named is read whatever it is, such as /dev/fd/63
            if path == start or _is_regular(path, files):
                yield path
            continue
        identity = _identity(path)
        if identity is not None and identity not in seen:
            seen.add(identity)
            stack.extend(reversed(_entries(path, files)))


def _entries(folder: str, files: Files) -> list[str]:
    """List the folders in a folder, and the files that look like YAML or JSON; what is hidden is none of them."""
    try:
        entries = sorted(os.scandir(folder), key=lambda e: e.name)
    except OSError as error:
        files.diagnostics.append(_unreadable(folder, error))
        return []
    visible = (e for e in entries if not e.name.startswith("."))
    return [e.path for e in visible if e.name.endswith(_SUFFIXES) or _is_folder(e.path)]


def _is_folder(path: str) -> bool:
    """Say whether a path leads to a folder; of one that leads nowhere, reading it says why."""
    return os.path.isdir(path)  # noqa: PTH112  Path.is_dir raises for a name that is too long


def _is_regular(path: str, files: Files) -> bool:
    """Say whether a path is a file; a pipe or a device in a folder would never end, a dangling link is told."""
    try:
        return stat.S_ISREG(os.stat(path).st_mode)  # noqa: PTH116
    except OSError as error:
        files.diagnostics.append(_unreadable(path, error))
        return False


def _identity(path: str) -> tuple[int, int] | None:
    try:
        status = os.stat(path)  # noqa: PTH116
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _excluded(path: str, start: str, globs: Sequence[str]) -> bool:
    """Say whether a path, or a folder on the way to it from where the walk started, matches a glob."""
    below = Path(path).relative_to(start) if path != start else Path(Path(start).name)
    names = [path, *(str(part) for part in (below, *below.parents))]
    return any(fnmatchcase(name, pattern) for glob in globs for name in names for pattern in (glob, f"*/{glob}"))


def _unreadable(path: str, error: OSError) -> Diagnostic:
    reason = {
        FileNotFoundError: "there is no such file or folder",
        PermissionError: "it may not be read by this user",
        IsADirectoryError: "it is a folder",
    }.get(type(error), (error.strerror or str(error)).lower())
    return _error(path, Code.UNREADABLE, f"this can't be read: {reason}")


def _error(name: str, code: Code, message: str) -> Diagnostic:
    return Diagnostic(Severity.ERROR, code, message, Position(name))
