"""What the tests of deploy/ share: its documents as they are written, and the programs that render and judge them."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cluster.api_server import ApiServer, NotStarted, wait_until
from tests.cluster.binaries import Unavailable as NoServer
from tests.cluster.binaries import exclusive, find_or_build
from tests.cluster.conftest import give_up as give_up_server
from tests.cluster.conftest import join_or_start, run_of
from tests.support.debian import Tool, Unavailable, find_tool, give_up

Document = dict[str, Any]

_SLOW = {"deployed", "kubectl", "promtool"}
_ENVIRONMENT = dict(os.environ)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out of `make test-fast` whatever needs more than Python."""
    for item in items:
        if _SLOW.intersection(getattr(item, "fixturenames", ())):
            item.add_marker("slow")


@pytest.fixture(scope="session")
def deploy(root: Path) -> Path:
    """The folder of the manifests."""
    return root / "deploy"


@pytest.fixture(scope="session")
def documents(deploy: Path) -> list[Document]:
    """Every object that is written out in deploy/, those aside that kustomize makes of plain files."""
    return [d for path in manifests(deploy) for d in yaml.safe_load_all(path.read_text(encoding="utf-8"))]


def manifests(folder: Path) -> Iterator[Path]:
    """Give the files that hold Kubernetes objects."""
    plain = {"kustomization.yaml", "config.yaml"}
    return (path for path in sorted(folder.rglob("*.yaml")) if path.name not in plain)


@pytest.fixture(scope="session")
def one(documents: list[Document]) -> Callable[[str, str], Document]:
    """Find a document by kind and name."""

    def find(kind: str, name: str) -> Document:
        (found,) = (d for d in documents if d["kind"] == kind and d["metadata"]["name"] == name)
        return found

    return find


@pytest.fixture(scope="session")
def kubectl() -> Path:
    """The kubectl of the API server, whose kustomize is the oldest that deploy/base works with (2.0)."""
    try:
        return find_or_build(_ENVIRONMENT) / "kubectl"
    except NoServer as reason:
        give_up_server(reason)


@pytest.fixture(scope="session")
def promtool() -> Tool:
    try:
        return find_tool("promtool", ("prometheus",))
    except Unavailable as reason:
        give_up(reason)


@pytest.fixture(scope="session")
def deployed(deploy: Path, tmp_path_factory: pytest.TempPathFactory) -> ApiServer:
    """A server with deploy/base applied: not the one of the other tests, whose kuik has no rights of its own."""
    base, main_process = run_of(tmp_path_factory)
    folder = base / "deployed"
    folder.mkdir(exist_ok=True)
    try:
        server = join_or_start(folder, main_process)
    except (NoServer, NotStarted) as reason:
        give_up_server(reason)
    with exclusive(folder / "applied.lock"):
        # two at once would both create; one after the other is what operators do as well
        done = server.kubectl("apply", "-k", str(deploy / "base"))
    assert done.returncode == 0, done.stderr
    # a kind is served a moment after its definition was taken, and its fields, for kubectl, a moment after that
    wait_until(lambda: len(server.served("kuik.enix.io/v1alpha1")) == 3)
    wait_until(lambda: server.kubectl("explain", "imagemonitors.spec.podSelector").returncode == 0)
    return server


@contextmanager
def only_leader(server: ApiServer) -> Iterator[None]:
    """Wait until no other test holds the lease of the deployed namespace."""
    with exclusive(Path(server.folder, "leader.lock")):
        yield


def render(kubectl: Path | str, folder: Path) -> list[Document]:
    """Give what `kubectl kustomize` makes of a folder."""
    done = subprocess.run([kubectl, "kustomize", folder], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return list(yaml.safe_load_all(done.stdout))
