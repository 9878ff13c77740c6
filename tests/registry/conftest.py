"""Registries for these tests: Debian's own in three forms, one of each for a worker; names keep tests apart."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.debian import Tool, Unavailable, find_tool, give_up, serve_registry
from tests.support.token_server import TokenServer, serve_tokens

_SERVERS = {"docker_registry", "plain_registry", "second_registry", "basic_registry", "token_registry", "skopeo"}
# kuik:sesame, bcrypt at its lowest cost
_HTPASSWD = "kuik:$2y$04$ID.MeAhxKNSuFFsw.qvZj.fksHwoX3q03qZbjlfoWOcsdYnlTGCqW\n"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out of `make test-fast` whatever needs Debian's packages."""
    for item in items:
        if _SERVERS.intersection(getattr(item, "fixturenames", ())):
            item.add_marker("slow")


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


def _find(program: str) -> Tool:
    try:
        return find_tool(program)
    except Unavailable as reason:
        give_up(reason)


@pytest.fixture(scope="session")
def docker_registry() -> Tool:
    return _find("docker-registry")


@pytest.fixture(scope="session")
def skopeo() -> Tool:
    return _find("skopeo")


@pytest.fixture(scope="session")
def plain_registry(docker_registry: Tool, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The host of a registry that asks nobody for anything."""
    with serve_registry(docker_registry, tmp_path_factory.mktemp("plain")) as host:
        yield host


@pytest.fixture(scope="session")
def second_registry(docker_registry: Tool, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Another one, to copy to."""
    with serve_registry(docker_registry, tmp_path_factory.mktemp("second")) as host:
        yield host


@pytest.fixture(scope="session")
def basic_registry(docker_registry: Tool, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The host of a registry that asks for ``kuik:sesame``."""
    folder = tmp_path_factory.mktemp("basic")
    users = Path(folder, "htpasswd")
    users.write_text(_HTPASSWD)
    auth = {"auth": {"htpasswd": {"realm": "tests", "path": str(users)}}}
    with serve_registry(docker_registry, folder, auth) as host:
        yield host


@pytest.fixture
def token_registry(docker_registry: Tool, tmp_path: Path) -> Iterator[tuple[str, TokenServer]]:
    """A registry behind a token server: ``kuik:sesame`` may do everything, everybody may pull ``public/``."""
    with (
        serve_tokens(tmp_path / "tokens") as tokens,
        serve_registry(docker_registry, tmp_path / "registry", {"auth": tokens.section()}) as host,
    ):
        yield host, tokens
