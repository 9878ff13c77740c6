"""``kuik run`` as a process of its own, whose log is read as it comes."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

__all__ = ["KuikProcess", "end_with_parent", "kuik_process"]


class KuikProcess:
    """A running controller."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self._lines: list[dict[str, Any]] = []
        self._changed = threading.Condition()
        self._has_ended = False
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stderr is not None
        with self._process.stderr as stderr:
            for text in stderr:
                with self._changed:
                    try:
                        self._lines.append(json.loads(text))
                    except ValueError:
                        self._lines.append({"message": text.rstrip()})
                    self._changed.notify_all()
        with self._changed:
            self._has_ended = True
            self._changed.notify_all()

    @property
    def log(self) -> list[dict[str, Any]]:
        with self._changed:
            return [*self._lines]

    def said(self, message: str, **keys: Any) -> list[dict[str, Any]]:
        return [x for x in self.log if x["message"] == message and keys.items() <= x.items()]

    def wait_for(self, message: str, *, count: int = 1, within: float = 30, **keys: Any) -> dict[str, Any]:
        """Wait until it has logged a message so often, and give the last one."""

        def is_there() -> bool:
            return self._has_ended or len(self.said(message, **keys)) >= count

        with self._changed:
            assert self._changed.wait_for(is_there, within), self._lines
        found = self.said(message, **keys)
        assert len(found) >= count, self._lines
        return found[count - 1]

    @property
    def address(self) -> str:
        return str(self.wait_for("serving")["address"])

    def wait(self, within: float = 30) -> list[dict[str, Any]]:
        """Wait until it ends by itself, and give its log."""
        self._process.wait(within)
        self._reader.join(within)
        return self.log

    def get(self, path: str) -> str:
        """Ask its HTTP side."""
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(f"http://{self.address}{path}", timeout=10) as answer:
            return bytes(answer.read()).decode()

    def send(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def end(self, number: signal.Signals = signal.SIGTERM, within: float = 30) -> int:
        """End it and give its exit code, negative for a signal."""
        self._process.send_signal(number)
        self.wait(within)
        return self._process.returncode

    @property
    def returncode(self) -> int | None:
        """The exit code, negative for a signal; None while it runs."""
        return self._process.poll()

    @property
    def pid(self) -> int:
        return self._process.pid


@contextmanager
def kuik_process(folder: Path, *options: str, wrap: Callable[[list[str]], list[str]] = list) -> Iterator[KuikProcess]:
    """Run on a folder with ``config.yaml``, ``manifests/`` and ``state/``; it is killed at the end of the context."""
    run = ["-m", "runtime.cli.main", "run", "-c", "config.yaml", "-f", "manifests", "--state", "state"]
    command = wrap([sys.executable, *run, "--listen", "127.0.0.1:0", *options])
    root = Path(__file__).resolve().parents[2]
    process = subprocess.Popen(
        command,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(root), "NO_PROXY": "*"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=end_with_parent,  # noqa: PLW1509  it calls nothing of Python's
    )
    running = KuikProcess(process)
    try:
        yield running
    finally:
        process.kill()
        running.wait()


def end_with_parent() -> None:
    """A worker that is killed leaves no controller behind (Linux; prctl's PR_SET_PDEATHSIG)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)
