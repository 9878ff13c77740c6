"""One API server for all tests and all workers of a run."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NoReturn

import pytest

from tests.cluster.api_server import ApiServer, NotStarted, start_api_server, wait_until
from tests.cluster.binaries import Unavailable, exclusive, find_or_build

ENVIRONMENT = dict(os.environ)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out of `make test-fast` whatever needs the server."""
    for item in items:
        if "api_server" in getattr(item, "fixturenames", ()):
            item.add_marker("slow")


def give_up(reason: Exception) -> NoReturn:
    if os.environ.get("CI"):
        pytest.fail(f"CI needs an API server: {reason}", pytrace=False)
    pytest.skip(f"no Kubernetes API server: {reason}")


def run_of(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int]:
    """Give the folder that all workers of this run share, and the process that ends after all of them."""
    base = tmp_path_factory.getbasetemp()
    return (base.parent, os.getppid()) if os.environ.get("PYTEST_XDIST_WORKER") else (base, os.getpid())


def join_or_start(folder: Path, main_process: int) -> ApiServer:
    """Give the run's server, which its first user starts; the others learn of a failure without trying again."""
    description, failure = folder / "api-server.json", folder / "api-server.failure"
    with exclusive(folder / "api-server.lock"):
        if failure.exists():
            raise Unavailable(failure.read_text())
        if not description.exists():
            try:
                server = start_api_server(find_or_build(ENVIRONMENT), folder / "api-server", main_process)
            except (Unavailable, NotStarted) as reason:
                failure.write_text(str(reason))
                raise
            description.write_text(server.to_json())
    return ApiServer.from_json(description.read_text())


@pytest.fixture(scope="session")
def api_server(tmp_path_factory: pytest.TempPathFactory) -> ApiServer:
    """A server that other tests use at the same time: name your objects so that they are yours alone."""
    try:
        return join_or_start(*run_of(tmp_path_factory))
    except (Unavailable, NotStarted) as reason:
        give_up(reason)


@pytest.fixture(scope="session")
def crds(api_server: ApiServer, root: Path) -> Path:
    """The folder of our CustomResourceDefinitions, whose kinds the server serves."""
    folder = root / "schemas" / "crds"
    with exclusive(Path(api_server.folder, "crds.lock")):
        for command in (("apply",), ("wait", "--for=condition=Established", "--timeout=60s")):
            done = api_server.kubectl(*command, "-f", str(folder))
            assert done.returncode == 0, done.stderr
        # a kind is served a moment before discovery lists it
        wait_until(lambda: len(api_server.served("kuik.enix.io/v1alpha1")) == len(list(folder.iterdir())))
        # and its fields, by which kubectl validates, are published a moment after that
        for kind in ("imagealternatives", "imagemirrors", "imagemonitors"):
            wait_until(lambda kind=kind: api_server.kubectl("explain", f"{kind}.spec.podSelector").returncode == 0)
    return folder
