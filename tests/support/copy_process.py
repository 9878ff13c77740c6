"""A process that copies one image and can be told when to die: ``python -m tests.support.copy_process '{…}'``."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from runtime.registry import Copier, Registry, RegistryClient, Repository, Transfer

__all__ = ["run"]

ROOT = Path(__file__).resolve().parent.parent.parent


def run(
    source: tuple[str, str], target: tuple[str, str], tag: str, *, requests: int | None = None, moved: int | None = None
) -> tuple[int, dict[str, Any]]:
    """Copy ``source`` (host, repository) to ``target`` in a process of its own.

    Args:
        requests: it is killed instead of sending one more.
        moved: it is killed when so many have been read.

    Returns:
        The exit status (-9 for killed), and what it said: ``requests``, ``bytes``, ``peak`` (memory in MiB).
    """
    order = {"source": source, "target": target, "tag": tag, "requests": requests, "bytes": moved}
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.copy_process", json.dumps(order)],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode in {0, -signal.SIGKILL}, done.stderr
    return done.returncode, json.loads(done.stdout) if done.stdout else {}


async def _copy(order: dict[str, Any]) -> dict[str, Any]:
    sent = moved = 0

    def die_if(now: bool) -> None:
        if now:
            os.kill(os.getpid(), signal.SIGKILL)

    def request() -> None:
        nonlocal sent
        die_if(order["requests"] is not None and sent >= order["requests"])
        sent += 1

    def count(_host: str, length: int) -> None:
        nonlocal moved
        moved += length
        die_if(order["bytes"] is not None and moved >= order["bytes"])

    (source, name), (target, to) = order["source"], order["target"]
    async with RegistryClient(before_request=request) as client:
        await Copier(client, moved=count).copy(
            Transfer(
                Repository(Registry(source, insecure=True), name),
                "1",
                Repository(Registry(target, insecure=True), to, None, "pull,push"),
                (order["tag"],),
            )
        )
    return {"requests": sent, "bytes": moved, "peak": _peak()}


def _peak() -> int:
    """Give the peak of this process in MiB; getrusage would count the process that it was forked from."""
    status = Path("/proc/self/status").read_text()
    found = re.search(r"VmHWM:\s*(\d+) kB", status)
    return int(found[1]) // 1024 if found else 0


if __name__ == "__main__":
    print(json.dumps(asyncio.run(_copy(json.loads(sys.argv[1])))))
