"""Where these tests run: a real API server with deploy/base applied, of which one test at a time has the lease."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.api_server import ApiServer, NotStarted, wait_until
from tests.cluster.binaries import Unavailable, exclusive, find_or_build
from tests.cluster.conftest import ENVIRONMENT, give_up
from tests.cluster.own_server import OwnServer, own_server
from tests.deploy.conftest import deploy, deployed, only_leader

__all__ = ["deploy", "deployed"]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out of `make test-fast` whatever needs a server."""
    for item in items:
        if {"stage_server", "own"}.intersection(getattr(item, "fixturenames", ())):
            item.add_marker("slow")


@pytest.fixture
def stage_server(deployed: ApiServer) -> Iterator[ApiServer]:
    """The deployed server, alone: kuik writes the status of every resource of its cluster."""
    with only_leader(deployed):
        yield deployed


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory, root: Path) -> Iterator[OwnServer]:
    """A server of a module's own with deploy/base applied, which its tests may kill and start again."""
    try:
        with own_server(find_or_build(ENVIRONMENT), tmp_path_factory.mktemp("own")) as own:
            apply_base(own.server, root)
            yield own
    except (Unavailable, NotStarted) as reason:
        give_up(reason)


def apply_base(server: ApiServer, root: Path) -> None:
    """Apply deploy/base and wait until the kinds are served."""
    done = server.kubectl("apply", "-k", str(root / "deploy" / "base"))
    assert done.returncode == 0, done.stderr
    wait_until(lambda: len(server.served("kuik.enix.io/v1alpha1")) == 3)
    with exclusive(Path(server.folder, "applied.lock")):
        wait_until(lambda: server.kubectl("explain", "imagemonitors.spec.podSelector").returncode == 0)
