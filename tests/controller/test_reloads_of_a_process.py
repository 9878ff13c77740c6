"""A configuration that changes under a running process, in every way in which files are changed."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from tests.support.kuik_process import kuik_process
from tests.support.recording_registry import Asked, RecordingRegistry, recording_registry
from tests.support.stage import monitor, pod

pytestmark = pytest.mark.slow

SECOND = 1_000_000_000
Registries = tuple[RecordingRegistry, RecordingRegistry]


@pytest.fixture
def registries() -> Iterator[Registries]:
    """Give the one whose pace changes, and the one whose pace does not."""
    with recording_registry() as one, recording_registry() as other:
        yield one, other


def config(registries: Registries, interval: str) -> str:
    one, other = registries
    entries = {one.host: interval, other.host: "1s"}
    paced = {h: {"insecure": True, "check": {"interval": i}, "copy": {"interval": "1h"}} for h, i in entries.items()}
    return json.dumps({"registries": paced})


@pytest.fixture
def folder(tmp_path: Path, registries: Registries) -> Path:
    (tmp_path / "manifests").mkdir()
    documents = monitor(), pod("a", *(f"{r.host}/x:1" for r in registries))
    (tmp_path / "manifests" / "all.yaml").write_text("\n---\n".join(map(json.dumps, documents)))
    (tmp_path / "config.yaml").write_text(config(registries, "1s"))
    return tmp_path


def plainly(folder: Path, text: str) -> None:
    (folder / "config.yaml").write_text(text)


def as_editors_do(folder: Path, text: str) -> None:
    (folder / ".config.yaml.swp").write_text(text)
    (folder / ".config.yaml.swp").replace(folder / "config.yaml")


def as_a_config_map(folder: Path, text: str) -> None:
    """Swap ``..data`` as the kubelet does; the first time the file itself becomes a link through it."""
    version = folder / f"..{time.monotonic_ns()}"
    version.mkdir()
    (version / "config.yaml").write_text(text)
    (folder / "..data_tmp").symlink_to(version.name)
    (folder / "..data_tmp").replace(folder / "..data")
    if not (folder / "config.yaml").is_symlink():
        (folder / "config.yaml").unlink()
        (folder / "config.yaml").symlink_to(Path("..data", "config.yaml"))


def is_one_grid(asked: list[Asked]) -> bool:
    """Say whether requests came on one grid of a second; a loaded machine may miss a window, and moves none."""
    since = [(one.at - asked[0].at) / SECOND for one in asked]
    return min(gaps(asked)) > 0.7 and all(abs(seconds - round(seconds)) < 0.3 for seconds in since)


def gaps(asked: list[Asked]) -> list[float]:
    return [(b.at - a.at) / SECOND for a, b in pairwise(asked)]


@pytest.mark.rule("H2")
@pytest.mark.rule("H3")
@pytest.mark.parametrize("write", [plainly, as_editors_do, as_a_config_map])
def test_only_the_series_that_changed_restarts(
    write: Callable[[Path, str], None], folder: Path, registries: Registries
) -> None:
    one, other = registries
    if write is as_a_config_map:
        as_a_config_map(folder, config(registries, "1s"))
    with kuik_process(folder) as process:
        one.wait_for(2)
        write(folder, config(registries, "3s"))
        restarted = process.wait_for("windows restart")
        before = len(one.asked)
        assert (one.host, "Check") == (restarted["host"], restarted["operation"])
        one.wait_for(before + 2)
        other.wait_for(8)
        assert 0 == process.end()
    assert 1 == len(process.said("windows restart"))
    changed = gaps(one.asked)[before - 1 :]
    # a full new interval after the reload, then the new grid
    assert min(changed) > 2.7
    assert is_one_grid(other.asked)


def test_sighup_looks_at_once_and_says_what_is_wrong_as_often_as_it_is_asked(
    folder: Path, registries: Registries
) -> None:
    one, _ = registries
    with kuik_process(folder) as process:
        process.wait_for("leading")
        one.wait_for(1)
        plainly(folder, "registries:\n  docker.io:\n    check: {interval: 1}\n")
        refused = process.wait_for("configuration refused")
        assert (3, 23, "invalid-duration") == (refused["line"], refused["column"], refused["code"])
        assert "kuik_config_last_reload_successful 0.0" in process.get("/metrics")
        process.send(signal.SIGHUP)
        process.wait_for("configuration refused", count=2)
        assert process.said("event", reason="ReloadFailed")
        # the old plan goes on
        one.wait_for(len(one.asked) + 2)
        assert one.host in process.get("/plan")
        assert "docker.io" not in process.get("/plan")

        (folder / "config.yaml").unlink()
        gone = process.wait_for("configuration refused", code="unreadable")
        assert gone["file"].endswith("config.yaml")
        one.wait_for(len(one.asked) + 1)

        plainly(folder, config(registries, "1s"))
        process.wait_for("configuration reloaded")
        assert "kuik_config_last_reload_successful 1.0" in process.get("/metrics")
        assert 0 == process.end()
    assert is_one_grid(one.asked)
    assert [] == process.said("windows restart")


def test_probes_answer_and_nothing_else_does(folder: Path) -> None:
    with kuik_process(folder) as process:
        # the first read comes after everything that shows the leader
        process.wait_for("checked")
        assert ("ok\n", "ok\n") == (process.get("/healthz"), process.get("/readyz"))
        assert "kuik_leader 1.0" in process.get("/metrics")
        with pytest.raises(OSError, match="404"):
            process.get("/")
        # a standby is in its place, and shows no pace
        with kuik_process(folder) as standby:
            standby.wait_for("another process holds the state folder")
            assert "ok\n" == standby.get("/readyz")
            metrics = standby.get("/metrics")
            assert "kuik_leader 0.0" in metrics
            assert "kuik_registry" not in metrics
            assert 0 == process.end()
            standby.wait_for("another pace in force")
            assert 0 == standby.end()


def test_manifests_on_standard_input_are_read_once(folder: Path, registries: Registries) -> None:
    one, _ = registries
    manifests = folder / "manifests" / "all.yaml"
    read = os.fspath(manifests)

    def piped(command: list[str]) -> list[str]:
        return ["sh", "-c", f'exec "$@" < {read}', "sh", *("-" if part == "manifests" else part for part in command)]

    with kuik_process(folder, wrap=piped) as process:
        one.wait_for(2)
        assert 0 == process.end()


def test_the_log_never_shows_a_credential(folder: Path, registries: Registries) -> None:
    one, _ = registries
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "kubernetes.io/dockerconfigjson",
        "metadata": {"name": "hub"},
        "stringData": {
            ".dockerconfigjson": json.dumps({"auths": {one.host: {"username": "kuik", "password": "sesame"}}})
        },
    }
    (folder / "manifests" / "secret.yaml").write_text(json.dumps(secret))
    wanted = json.loads(config(registries, "1s"))
    wanted["registries"][one.host]["perPrefixFallbackAuth"] = [{"prefix": "/", "secretRef": {"name": "hub"}}]
    plainly(folder, json.dumps(wanted))
    with kuik_process(folder) as process:
        one.wait_for(1)
        process.wait_for("checked")
        shown = process.get("/metrics") + process.get("/plan")
        assert 0 == process.end()
    status = "".join(path.read_text() for path in (folder / "state").rglob("*") if path.is_file())
    assert "sesame" not in json.dumps(process.log) + shown + status


def test_a_configuration_that_is_wrong_at_the_start_ends_it(folder: Path) -> None:
    plainly(folder, "registries: [")
    with kuik_process(folder) as process:
        log = process.wait()
    assert "config.yaml:1" in "\n".join(line["message"] for line in log)


def test_an_address_that_is_taken_ends_it_with_a_sentence(folder: Path, registries: Registries) -> None:
    with kuik_process(folder, "--listen", registries[0].host) as process:
        log = process.wait()
    assert "choose another address with --listen" in log[-1]["message"]


def test_a_state_folder_that_can_not_be_used_ends_it_with_a_sentence(folder: Path) -> None:
    (folder / "state" / "lock").mkdir(parents=True)
    with kuik_process(folder) as process:
        log = process.wait()
    assert log[-1]["message"].startswith("Error: the state folder state can't be used")
    assert "Traceback" not in json.dumps(log)
