"""From `kubectl apply -k` to the first window and the first status; and what the other commands say of the cluster."""

from __future__ import annotations

import asyncio
import json
import re
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import pytest

from runtime.cluster.api import Call
from tests.cluster.api_server import ApiServer
from tests.cluster.surroundings import Kubernetes, eventually
from tests.endtoend.scene import (
    NAMESPACE,
    SECOND,
    cluster_of,
    configure,
    kuik_command,
    monitor_of,
    pod_of,
    replica,
    status_when,
    to_boot,
)
from tests.support.kuik_process import KuikProcess
from tests.support.recording_registry import RecordingRegistry, recording_registry
from tests.support.stage import condition

INTERVAL_SECONDS = 2
NAMES = ("a", "b")

Found = TypeVar("Found")


@asynccontextmanager
async def begun(
    server: ApiServer, folder: Path, registry: RecordingRegistry
) -> AsyncIterator[tuple[Kubernetes, KuikProcess]]:
    """Run kuik for two images, and wait until both were checked and the status says so."""
    config = configure(folder, {registry.host: f"{INTERVAL_SECONDS}s"})
    async with cluster_of(server) as place:
        await place.apply(pod_of(place, "web", *(f"{registry.host}/team/{name}:1" for name in NAMES)))
        await place.apply(monitor_of(place))
        with replica(server.kubeconfig, config) as kuik:
            await status_when(place, f"ImageMonitor/{place.name}", lambda s: s["images"]["available"] == len(NAMES))
            yield place, kuik


async def when_there(look: Callable[[], Awaitable[Found]], seconds: float = 30) -> Found:
    """Look again and again until there is something."""
    async with asyncio.timeout(seconds):
        while not (found := await look()):  # noqa: ASYNC110  what is waited for has no event
            await asyncio.sleep(0.05)
        return found


async def events_of(place: Kubernetes) -> list[dict[str, Any]]:
    found = await place.api.send(Call(f"/api/v1/namespaces/{NAMESPACE}/events"))
    return [e for e in found["items"] if e["source"] == {"component": "kuik"}]


@pytest.mark.rule("W2")
def test_w2_the_first_window_is_a_full_interval_after_the_lease(stage_server: ApiServer, tmp_path: Path) -> None:
    async def scenario(registry: RecordingRegistry) -> None:
        async with begun(stage_server, tmp_path, registry) as (place, kuik):
            path = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/kuik-reconciler"
            lease = await place.api.send(Call(path))
            taken = to_boot(lease["spec"]["acquireTime"])
            windows = [(a.at - taken) // (INTERVAL_SECONDS * SECOND) for a in registry.asked[:2]]
            assert [1, 2] == windows

            await status_tells(place, lease["spec"]["acquireTime"])
            await refusal_is_an_event(place, kuik, tmp_path)
            await asyncio.to_thread(commands_agree, stage_server, tmp_path, registry.host, place.name)
            assert 1.0 == float(re.findall(r"^kuik_leader (.*)$", kuik.get("/metrics"), re.MULTILINE)[0])

            assert 0 == await asyncio.to_thread(kuik.end, signal.SIGTERM)
            assert "" == (await place.api.send(Call(path)))["spec"]["holderIdentity"]

    with recording_registry() as registry:
        asyncio.run(scenario(registry))


async def status_tells(place: Kubernetes, taken_at: str) -> None:
    """The status is kuik's alone, whole, and of this generation."""
    monitor = await place.api.send(Call(place.path(monitor_of(place))))
    status = monitor["status"]
    expected = {
        "Ready": ("True", "Reconciled"),
        "AllImagesAvailable": ("True", "AllAvailable"),
        "NoImageDrift": ("True", "NoDrift"),
    }
    assert expected == {c["type"]: condition(status, c["type"]) for c in status["conditions"]}
    assert {1} == {c["observedGeneration"] for c in status["conditions"]}
    assert min(c["lastTransitionTime"] for c in status["conditions"]) > taken_at
    (ring,) = status["checks"]["registries"]
    assert len(NAMES) == ring["images"]
    (fields,) = (f for f in monitor["metadata"]["managedFields"] if "f:status" in f["fieldsV1"])
    assert ("kuik", "Apply") == (fields["manager"], fields["operation"])


async def refusal_is_an_event(place: Kubernetes, kuik: KuikProcess, folder: Path) -> None:
    """A configuration that is refused shows beside the lease, and the last good one stays in force."""
    (folder / "config.yaml").write_text("registries: {docker.io: {check: {interval: often}}}")
    kuik.send(signal.SIGHUP)
    await eventually(lambda: kuik.said("configuration refused"))
    events = await when_there(lambda: events_of(place))
    told = {(e["type"], e["reason"], e["involvedObject"]["kind"], e["involvedObject"]["name"]) for e in events}
    assert {("Warning", "ReloadFailed", "Lease", "kuik-reconciler")} == told
    assert "team/a" in kuik.get("/plan")


def commands_agree(server: ApiServer, folder: Path, host: str, name: str) -> None:
    """`kuik plan` says of the cluster what it says of its objects in a file; `kuik status` says what status says."""
    config = configure(folder, {host: f"{INTERVAL_SECONDS}s"})
    where = ("--kubeconfig", server.kubeconfig, "--context", "kuik")
    kinds = "pods,namespaces,imagemonitors,imagemirrors,imagealternatives"
    (folder / "objects.json").write_text(server.kubectl("get", kinds, "--all-namespaces", "-o", "json").stdout)
    of_cluster = kuik_command("plan", "-c", str(config), "--cluster", *where, "-o", "json")
    of_file = kuik_command("plan", "-c", str(config), "-f", str(folder / "objects.json"), "-o", "json")
    assert (0, of_file.stdout) == (of_cluster.returncode, of_cluster.stdout)
    assert f"{host}/team/a:1" in of_cluster.stdout

    shown = kuik_command("status", *where)
    assert (0, "") == (shown.returncode, shown.stderr)
    lines = [line.split() for line in shown.stdout.splitlines() if not line.startswith("NOT READY")]
    assert ["RING", "HOST", "LAP", "IMAGES", "LAST", "VISITED", "LAST", "LAP"] == lines[0]
    assert [f"ImageMonitor/{name}", host] in [line[:2] for line in lines]
    (ring,) = (
        r for r in json.loads(kuik_command("status", *where, "-o", "json").stdout)["rings"] if r["registry"] == host
    )
    assert (f"ImageMonitor/{name}", len(NAMES)) == (ring["owner"], ring["images"])


@pytest.mark.parametrize("command", [("plan", "--cluster"), ("status",), ("run",)])
def test_without_a_cluster_a_command_says_what_is_missing(tmp_path: Path, command: tuple[str, ...]) -> None:
    missing = tmp_path / "kubeconfig"

    said = kuik_command(*command, "--kubeconfig", str(missing))

    assert (1, "") == (said.returncode, said.stdout)
    assert f"there is no kubeconfig {missing}" in said.stderr
    assert "Traceback" not in said.stderr


@pytest.mark.parametrize("command", [("plan", "--cluster"), ("status",)])
def test_a_server_that_is_not_there_is_named(tmp_path: Path, command: tuple[str, ...]) -> None:
    # port 1 of loopback: nothing listens there
    text = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}],
        "users": [{"name": "u", "user": {"token": "t"}}],
        "contexts": [{"name": "kuik", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "kuik",
    }
    (tmp_path / "kubeconfig").write_text(json.dumps(text))

    said = kuik_command(*command, "--kubeconfig", str(tmp_path / "kubeconfig"))

    assert (1, "") == (said.returncode, said.stdout)
    assert "127.0.0.1:1" in said.stderr
    assert "Traceback" not in said.stderr
