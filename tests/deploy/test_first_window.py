"""From `kubectl apply -k` to the first window: the command of the Deployment, with the account that was deployed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cluster.api_server import ApiServer, wait_until
from tests.cluster.surroundings import manifest, pod
from tests.deploy.conftest import only_leader
from tests.support.kuik_process import KuikProcess
from tests.support.recording_registry import RecordingRegistry, recording_registry

SECOND = 10**9
NAME = "first-window"


@pytest.fixture
def registry() -> Iterator[RecordingRegistry]:
    with recording_registry() as registry:
        yield registry


@pytest.fixture
def config(deploy: Path, registry: RecordingRegistry, tmp_path: Path) -> Path:
    """The configuration of the base, with one more host."""
    path = tmp_path / "config.yaml"
    host = f"  {registry.host}:\n    insecure: true\n    check: {{interval: 1s}}\n"
    path.write_text((deploy / "base" / "config.yaml").read_text(encoding="utf-8") + host)
    return path


@contextmanager
def replica(server: ApiServer, config: Path) -> Iterator[KuikProcess]:
    """Run what a pod of the Deployment runs, but for paths and the port, which a test can't have."""
    told = server.kubectl("get", "deployment", "kuik", "-n", "kuik-system", "-o", "yaml").stdout
    (container,) = yaml.safe_load(told)["spec"]["template"]["spec"]["containers"]
    instead = {"/etc/kuik/config.yaml": str(config), "--listen=:8080": "--listen=127.0.0.1:0"}
    arguments = [instead.get(a, a.replace("$(POD_NAMESPACE)", "kuik-system")) for a in container["args"]]
    assert set(instead).isdisjoint(arguments)
    process = subprocess.Popen(
        [sys.executable, "-m", "runtime.cli.main", *arguments, "--kubeconfig", server.kubeconfig, "--context", "kuik"],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    running = KuikProcess(process)
    try:
        yield running
    finally:
        process.kill()
        running.wait()


@contextmanager
def applied(server: ApiServer, *objects: dict[str, Any]) -> Iterator[None]:
    text = json.dumps({"kind": "List", "apiVersion": "v1", "items": objects})
    done = server.kubectl("apply", "-f", "-", stdin=text)
    assert done.returncode == 0, done.stderr
    try:
        yield
    finally:
        server.kubectl("delete", "--force", "--grace-period=0", "-f", "-", stdin=text)


def status_of(server: ApiServer) -> dict[str, Any]:
    monitor = json.loads(server.kubectl("get", "imagemonitor", NAME, "-o", "json").stdout)
    status: dict[str, Any] = monitor.get("status") or {}
    return status


def test_from_the_manifests_to_the_first_window_and_to_the_other_replica(
    deployed: ApiServer, registry: RecordingRegistry, config: Path
) -> None:
    workload = pod("web", "default", f"{registry.host}/team/app:1")
    workload["metadata"]["labels"] = {"app": NAME}
    monitor = manifest("ImageMonitor", NAME, spec={"podSelector": {"matchLabels": {"app": NAME}}})
    with ExitStack() as stack:
        stack.enter_context(only_leader(deployed))
        stack.enter_context(applied(deployed, workload, monitor))
        first = stack.enter_context(replica(deployed, config))
        first.wait_for("leading")
        second = stack.enter_context(replica(deployed, config))
        second.wait_for("serving")

        asked = registry.wait_for(2)
        assert {"/v2/team/app/manifests/1"} == {a.path for a in asked}
        assert asked[1].at - asked[0].at > SECOND // 2
        wait_until(lambda: status_of(deployed).get("images", {}).get("available") == 1)
        assert ["ok\n"] * 4 == [r.get(path) for r in (first, second) for path in ("/readyz", "/healthz")]
        assert "kuik_leader 1.0" in first.get("/metrics")
        assert registry.host in first.get("/plan")
        standby = second.get("/metrics")
        assert "kuik_leader 0.0" in standby
        assert "kuik_registry_" not in standby

        assert 0 == first.end(signal.SIGTERM)
        second.wait_for("leading")
        before = len(registry.asked)
        registry.wait_for(before + 1)
        assert 0 == second.end(signal.SIGTERM)

    warnings = [line for r in (first, second) for line in r.log if line.get("level") in {"warning", "error"}]
    assert [] == warnings
