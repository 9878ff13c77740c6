"""The harness itself: which programs are taken, that a build is done once, that no server outlives its run."""

import os
import select
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.cluster.api_server import ApiServer, NotStarted, start_api_server
from tests.cluster.binaries import NAMES, Unavailable, find_or_build

BUILDS = """
echo building >>"$(dirname "$0")/calls"
mkdir -p "$1"
for name in etcd kube-apiserver kubectl; do cp "$0" "$1/$name"; done
"""


def script(path: Path, body: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


def test_named_folder_comes_first(tmp_path: Path) -> None:
    for name in NAMES:
        script(tmp_path / "assets" / name, "exit 0")
    environment = {"KUBEBUILDER_ASSETS": str(tmp_path / "assets"), "XDG_CACHE_HOME": str(tmp_path / "cache")}

    assert tmp_path / "assets" == find_or_build(environment, tmp_path / "not-called")


def test_named_folder_that_lacks_a_program_is_an_error(tmp_path: Path) -> None:
    script(tmp_path / "etcd", "exit 0")

    with pytest.raises(Unavailable, match="lacks kube-apiserver, kubectl"):
        find_or_build({"KUBEBUILDER_ASSETS": str(tmp_path)}, tmp_path / "not-called")


def test_runs_at_the_same_time_build_once(tmp_path: Path) -> None:
    build = script(tmp_path / "build", BUILDS)
    environment = {"XDG_CACHE_HOME": str(tmp_path / "cache")}

    with ThreadPoolExecutor(4) as pool:
        found = set(pool.map(lambda _: find_or_build(environment, build), range(4)))

    assert {tmp_path / "cache" / "kuik" / "kube-apiserver-1.20"} == found
    assert "building\n" == (tmp_path / "calls").read_text()


def test_failed_build_says_why_and_leaves_nothing(tmp_path: Path) -> None:
    build = script(tmp_path / "build", 'mkdir -p "$1"; touch "$1/etcd"; echo "no room on the disk" >&2; exit 1')

    with pytest.raises(Unavailable, match="no room on the disk"):
        find_or_build({"HOME": str(tmp_path)}, build)

    assert ["kube-apiserver-1.20.lock"] == [path.name for path in (tmp_path / ".cache" / "kuik").iterdir()]


def test_server_that_ends_at_once_says_why(tmp_path: Path) -> None:
    script(tmp_path / "bin" / "etcd", "echo address in use; exit 1")
    script(tmp_path / "bin" / "kube-apiserver", "exec sleep 60")

    with pytest.raises(NotStarted, match="etcd ended with 1:\naddress in use"):
        start_api_server(tmp_path / "bin", tmp_path / "run", os.getpid())


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="the end of a process that is no child is seen on Linux only")
def test_server_ends_with_the_process_it_is_for(tmp_path: Path, api_server: ApiServer) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as watched:
        server = start_api_server(Path(api_server.binaries), tmp_path, watched.pid)
        ended = os.pidfd_open(server.keeper)
        before = server.kubectl("get", "--raw", "/readyz").returncode

        watched.kill()
        select.select([ended], [], [], 30)
        os.close(ended)

    assert (0, 1) == (before, server.kubectl("get", "--raw", "/readyz").returncode)
    server.stop()
