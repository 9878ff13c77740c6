"""The folder in place of a cluster: every way in which files change, and a state that a crash leaves whole."""

import asyncio
import base64
import json
import os
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from compiler.diagnostics import Code, Severity
from compiler.duration import MILLISECOND, SECOND
from runtime.clock import boot_clock
from runtime.cluster.leadership import LeaseTimes
from runtime.cluster.local import LocalCluster, Sources
from runtime.cluster.port import Observation, Topic
from runtime.cluster.state import StateFolder, read_statuses
from tests.cluster.surroundings import SHORT, docker_secret, eventually, following, manifest, pod

NOTHING = frozenset[str]()


@asynccontextmanager
async def observed(folder: Path, *paths: Path, **others: Any) -> AsyncIterator[Observation]:
    sources = Sources(tuple(map(str, paths)), **others)
    async with asyncio.timeout(30), LocalCluster(sources, folder / "state").observe(NOTHING) as observation:
        yield observation


def images(seen: Observation) -> set[str]:
    return {str(image) for workload in seen.snapshot().workloads for image in workload.images}


def names(seen: Observation) -> list[str]:
    return [resource.value["metadata"]["name"] for resource in seen.snapshot().resources]


def write(path: Path, *documents: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n---\n".join(json.dumps(document, indent=1) for document in documents))


def a_pod(image: str) -> dict[str, Any]:
    return pod("p", "default", image)


def test_config_map_is_seen_when_its_link_is_swapped(tmp_path: Path) -> None:
    mount = tmp_path / "mount"

    def publish(version: str) -> None:
        # as the kubelet does it: a new folder, a new link beside the old one, one rename, the old folder goes
        folder = mount / f"..{version}"
        write(folder / "pods.yaml", a_pod(f"quay.io/a/b:{version}"))
        old = (mount / "..data").resolve() if (mount / "..data").exists() else None
        (mount / "..data_tmp").symlink_to(folder.name)
        (mount / "..data_tmp").rename(mount / "..data")
        if old is not None:
            shutil.rmtree(old)

    async def scenario(given: Path) -> None:
        async with observed(tmp_path, given) as seen:
            for version in ("v2", "v3"):
                publish(version)
                await eventually(lambda version=version: images(seen) == {f"quay.io/a/b:{version}"})

    publish("v1")
    (mount / "pods.yaml").symlink_to("..data/pods.yaml")
    asyncio.run(scenario(mount))
    asyncio.run(scenario(mount / "pods.yaml"))


def test_file_that_is_written_renamed_deleted_and_made_again_is_followed(tmp_path: Path) -> None:
    file = tmp_path / "manifests" / "pod.yaml"
    write(file, a_pod("nginx:1"))

    async def scenario() -> None:
        async with observed(tmp_path, file) as seen:
            write(file, a_pod("nginx:2"))
            await eventually(lambda: images(seen) == {"docker.io/library/nginx:2"})
            write(file.with_suffix(".new"), a_pod("nginx:3"))
            file.with_suffix(".new").rename(file)
            await eventually(lambda: images(seen) == {"docker.io/library/nginx:3"})
            file.unlink()
            await eventually(lambda: seen.snapshot().diagnostics)
            assert [Code.UNREADABLE] == [d.code for d in seen.snapshot().diagnostics]
            write(file, a_pod("nginx:4"))
            await eventually(lambda: images(seen) == {"docker.io/library/nginx:4"})
            assert () == seen.snapshot().diagnostics

    asyncio.run(scenario())


def test_folder_that_is_replaced_whole_is_followed(tmp_path: Path) -> None:
    folder = tmp_path / "manifests"
    write(folder / "deep" / "pod.yaml", a_pod("nginx:1"))

    async def scenario() -> None:
        async with observed(tmp_path, folder) as seen:
            folder.rename(tmp_path / "old")
            write(folder / "deep" / "pod.yaml", a_pod("nginx:2"))
            await eventually(lambda: images(seen) == {"docker.io/library/nginx:2"})
            write(folder / "deeper" / "still" / "pod.yaml", a_pod("nginx:3"))
            await eventually(lambda: len(images(seen)) == 2)

    asyncio.run(scenario())


def test_folder_behind_a_link_is_followed(tmp_path: Path) -> None:
    write(tmp_path / "elsewhere" / "pod.yaml", a_pod("nginx:1"))
    (tmp_path / "manifests").mkdir()
    (tmp_path / "manifests" / "link").symlink_to(tmp_path / "elsewhere")

    async def scenario() -> None:
        async with observed(tmp_path, tmp_path / "manifests") as seen:
            write(tmp_path / "elsewhere" / "pod.yaml", a_pod("nginx:2"))
            await eventually(lambda: images(seen) == {"docker.io/library/nginx:2"})

    asyncio.run(scenario())


def test_change_that_says_the_same_is_none(tmp_path: Path) -> None:
    folder = tmp_path / "manifests"
    write(folder / "pod.yaml", a_pod("nginx:1"))
    write(folder / "monitor.yaml", manifest("ImageMonitor", "all", spec={}))

    async def scenario() -> None:
        async with observed(tmp_path, folder) as seen, following(seen) as changes:
            (folder / "pod.yaml").touch()
            (folder / "note.txt").write_text("no manifest")
            (folder / "pod.yaml").write_text("# a comment\n" + (folder / "pod.yaml").read_text())
            write(folder / "monitor.yaml", manifest("ImageMonitor", "all", spec={"suspend": True}))
            await eventually(lambda: changes)
            assert [{Topic.RESOURCES}] == changes

    asyncio.run(scenario())


def test_file_that_is_no_yaml_for_a_moment_is_told_and_mended(tmp_path: Path) -> None:
    file = tmp_path / "manifests" / "monitor.yaml"
    write(file, manifest("ImageMonitor", "all", spec={}))

    async def scenario() -> None:
        async with observed(tmp_path, file.parent) as seen, following(seen) as changes:
            file.write_text("spec: {")
            found = await eventually(lambda: seen.snapshot().diagnostics)
            assert [(Severity.ERROR, Code.NOT_YAML)] == [(d.severity, d.code) for d in found]
            await eventually(lambda: changes)
            write(file, manifest("ImageMonitor", "all", spec={}))
            await eventually(lambda: names(seen) == ["all"])

    asyncio.run(scenario())


def test_status_goes_with_its_resource_but_not_while_files_are_illegible(tmp_path: Path) -> None:
    file, status = tmp_path / "manifests" / "monitor.yaml", tmp_path / "state" / "status" / "ImageMonitor" / "all.yaml"
    write(file, manifest("ImageMonitor", "all", spec={}))

    async def scenario() -> None:
        cluster = LocalCluster(Sources((str(file.parent),)), tmp_path / "state")
        async with asyncio.timeout(30), cluster.lead(SHORT), cluster.observe(NOTHING) as seen:
            await cluster.write_status("ImageMonitor/all", {"images": {"tracked": 1}})
            file.write_text("spec: {")
            await eventually(lambda: seen.snapshot().diagnostics)
            assert status.exists()
            file.unlink()
            await eventually(lambda: not status.exists())
            write(file, manifest("ImageMonitor", "all", spec={}))
            await eventually(lambda: names(seen) == ["all"])
            assert "status" not in seen.snapshot().resources[0].value

    asyncio.run(scenario())


def test_status_file_stands_before_the_status_in_a_manifest(tmp_path: Path) -> None:
    status = {"images": {"tracked": 1}}
    write(tmp_path / "m" / "monitor.yaml", manifest("ImageMonitor", "all", spec={}, status={"images": {"tracked": 9}}))

    async def scenario() -> None:
        async with observed(tmp_path, tmp_path / "m") as seen:
            assert {"images": {"tracked": 9}} == seen.snapshot().resources[0].value["status"]
        StateFolder(tmp_path / "state").write_status("ImageMonitor", "all", status)
        async with observed(tmp_path, tmp_path / "m") as seen:
            assert status == seen.snapshot().resources[0].value["status"]

    asyncio.run(scenario())


def test_secret_of_a_manifest_stands_before_the_config_of_the_command_line(tmp_path: Path) -> None:
    write(tmp_path / "m" / "secret.yaml", docker_secret("hub", "kuik-system", '{"auths": {"a": {}}}'))
    write(tmp_path / "m" / "plain.yaml", manifest("Secret", "quay", stringData={".dockerconfigjson": "{}"}))
    broken = base64.b64encode(b"\xff").decode()
    write(tmp_path / "m" / "broken.yaml", manifest("Secret", "broken", data={".dockerconfigjson": broken}))
    write(tmp_path / "config.json", {"auths": {"b": {}}})

    async def scenario() -> None:
        async with observed(tmp_path, tmp_path / "m", registry_config=str(tmp_path / "config.json")) as seen:
            assert '{"auths": {"a": {}}}' == seen.docker_config("hub")
            assert "{}" == seen.docker_config("quay")
            assert {"auths": {"b": {}}} == json.loads(seen.docker_config("other") or "")
            write(tmp_path / "config.json", {"auths": {"c": {}}})
            assert {"auths": {"c": {}}} == json.loads(seen.docker_config("broken") or "")
        async with observed(tmp_path, tmp_path / "m") as seen:
            assert seen.docker_config("other") is None

    asyncio.run(scenario())


def test_templates_use_images_and_run_nothing(tmp_path: Path) -> None:
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "nginx"}]}}
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {"template": template},
    }
    write(tmp_path / "m" / "deployment.yaml", deployment)

    async def scenario() -> None:
        async with observed(tmp_path, tmp_path / "m") as seen:
            sighting = seen.snapshot().sightings[0]
            assert sighting.workload.is_template
            assert () == sighting.running

    asyncio.run(scenario())


def test_platforms_are_those_of_the_nodes(tmp_path: Path) -> None:
    for name, architecture in (("a", "amd64"), ("b", "arm64"), ("c", "amd64"), ("d", "")):
        status = {"nodeInfo": {"operatingSystem": "linux", "architecture": architecture}}
        write(tmp_path / "m" / f"{name}.yaml", manifest("Node", name, status=status))

    async def scenario() -> None:
        async with observed(tmp_path, tmp_path / "m") as seen:
            assert {"linux/amd64", "linux/arm64"} == seen.snapshot().platforms

    asyncio.run(scenario())


@pytest.mark.rule("W9")
def test_w9_state_folder_that_is_taken_away_ends_leadership(tmp_path: Path) -> None:
    async def scenario() -> str:
        cluster = LocalCluster(Sources(()), tmp_path / "state")
        async with asyncio.timeout(30), cluster.lead(SHORT) as leadership:
            (tmp_path / "state").rename(tmp_path / "moved")
            other = LocalCluster(Sources(()), tmp_path / "state")
            async with other.lead(SHORT) as new:
                reason = await leadership.lost()
                assert not leadership.may_send(boot_clock())
                assert new.may_send(boot_clock())
                return reason

    assert "the state folder was moved or deleted" == asyncio.run(scenario())


def test_machine_that_slept_still_leads_locally(tmp_path: Path) -> None:
    now = 0

    async def scenario() -> None:
        nonlocal now
        cluster = LocalCluster(Sources(()), tmp_path / "state", clock=lambda: now)
        times = LeaseTimes(SECOND, 700 * MILLISECOND, 10 * MILLISECOND)
        async with asyncio.timeout(30), cluster.lead(times) as leadership:
            now += 8 * 3600 * SECOND
            assert not leadership.may_send(now), "not before it has looked"
            await eventually(lambda: leadership.may_send(now))

    asyncio.run(scenario())


@pytest.mark.rule("T3")
def test_t3_counter_that_is_illegible_counts_anew(tmp_path: Path) -> None:
    folder = StateFolder(tmp_path)
    (tmp_path / "transitions").write_text("seven")

    assert [0, 1] == [folder.count_start(), folder.count_start()]


def test_long_name_is_a_file_too(tmp_path: Path) -> None:
    folder, names = StateFolder(tmp_path), [f"{'a' * 61}.{'b' * 61}.{'c' * 61}.{'d' * 66}{end}" for end in "xy"]
    for name in names:
        assert 253 == len(name)
        folder.write_status("ImageMonitor", name, {"name": name})

    assert {f"ImageMonitor/{name}": {"name": name} for name in names} == read_statuses(tmp_path)[0]


WRITER = """
import sys
from pathlib import Path
from runtime.cluster.state import StateFolder
folder = StateFolder(Path(sys.argv[1]))
print("ready", flush=True)
for n in range(10**9):
    folder.write_status("ImageMonitor", "all", {"number": n, "retained": [f"quay.io/a/b:{n}"] * 500})
"""


def test_status_is_whole_whenever_the_process_is_killed(tmp_path: Path, root: Path) -> None:
    rng = random.Random(7)
    for _ in range(6):
        with subprocess.Popen(
            [sys.executable, "-c", WRITER, str(tmp_path)], cwd=root, stdout=subprocess.PIPE
        ) as process:
            assert process.stdout is not None
            process.stdout.readline()
            deadline = boot_clock() + round(rng.uniform(0.01, 0.2) * SECOND)
            while boot_clock() < deadline or not (tmp_path / "status").exists():
                statuses, odd = read_statuses(tmp_path)
                assert [] == odd
                for status in statuses.values():
                    assert {f"quay.io/a/b:{status['number']}"} == set(status["retained"])
            os.kill(process.pid, signal.SIGKILL)
        statuses, odd = read_statuses(tmp_path)
        assert ([], 500) == (odd, len(statuses["ImageMonitor/all"]["retained"]))

    StateFolder(tmp_path).remove_leftovers()
    assert ["all.yaml"] == [path.name for path in (tmp_path / "status" / "ImageMonitor").iterdir()]


def test_standard_input_is_read_once(tmp_path: Path, root: Path) -> None:
    script = """
import asyncio, sys
from pathlib import Path
from runtime.cluster.local import LocalCluster, Sources
async def main():
    async with LocalCluster(Sources(("-",)), Path(sys.argv[1])).observe(frozenset()) as seen:
        await seen.look()
        await seen.read_with(frozenset({"x"}))
        print([str(i) for w in seen.snapshot().workloads for i in w.images])
asyncio.run(main())
"""
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)],
        cwd=root,
        input=json.dumps(a_pod("nginx:1")),
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert ("['docker.io/library/nginx:1']\n", "") == (done.stdout, done.stderr)
