"""The command line as people and CI use it: a process with arguments, pipes and an exit code."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

COMMAND = (sys.executable, "-m", "runtime.cli.main")
LONGEST = 60
"""Seconds that a child may take on a machine under load; what hangs fails, and never hangs the tests."""

CONFIG = """\
registries:
  docker.io:
    check: {interval: 1m}
"""
MONITOR = """\
apiVersion: kuik.enix.io/v1alpha1
kind: ImageMonitor
metadata: {name: everything}
"""
POD = """\
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: shop}
spec:
  containers:
  - {name: nginx, image: "nginx:1.29"}
"""


@dataclass(frozen=True, slots=True)
class Kuik:
    """Starts ``kuik``, with an environment in which nothing is set that changes what it prints.

    Attributes:
        folder: where it is started, so that paths in its output are relative.
    """

    folder: Path
    environment: Mapping[str, str] = field(default_factory=dict)

    def __call__(
        self, *arguments: str, stdin: str = "", prepare: Callable[[], None] | None = None, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        """Run to the end; output that is not UTF-8 fails the test."""
        return subprocess.run(
            [*COMMAND, *arguments],
            input=stdin,
            capture_output=True,
            encoding="utf-8",
            cwd=self.folder,
            env={**self.environment, **environment},
            timeout=LONGEST,
            preexec_fn=prepare,
        )

    def shell(self, script: str) -> subprocess.CompletedProcess[str]:
        """Run a line of bash, in which ``kuik`` is the command."""
        kuik = " ".join(f"'{word}'" for word in COMMAND)
        return subprocess.run(
            ["bash", "-c", f'set -o pipefail; kuik() {{ {kuik} "$@"; }}; {script}'],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            cwd=self.folder,
            env=dict(self.environment),
            timeout=LONGEST,
        )

    def start(self, *arguments: str, **streams: int) -> subprocess.Popen[bytes]:
        """Start it and come back at once; the caller waits for it."""
        return subprocess.Popen([*COMMAND, *arguments], cwd=self.folder, env=dict(self.environment), **streams)


@pytest.fixture(scope="session")
def environment(root: Path) -> Mapping[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR") if name in os.environ}
    return {**kept, "PYTHONPATH": str(root), "LC_ALL": "C.UTF-8"}


@pytest.fixture
def kuik(tmp_path: Path, environment: Mapping[str, str]) -> Kuik:
    """Give ``kuik`` in an empty folder."""
    return Kuik(tmp_path, environment)


@pytest.fixture
def team(kuik: Kuik) -> Kuik:
    """Give ``kuik`` in a folder with a configuration, a monitor and a pod."""
    for name, content in (("config.yaml", CONFIG), ("monitor.yaml", MONITOR), ("pod.yaml", POD)):
        (kuik.folder / name).write_text(content)
    return kuik
