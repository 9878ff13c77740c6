"""Where requests go: a registry as it is reached, and a repository as one identity sees it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from compiler.reference import DOCKER_HUB
from runtime.registry.credentials import Credential

__all__ = ["Registry", "Repository"]

# Docker Hub's API lives at another name than its references; this is the only place that knows
_API_HOSTS: Final = {DOCKER_HUB: "registry-1.docker.io"}


@dataclass(frozen=True, slots=True)
class Registry:
    """A registry host and how it is reached.

    Attributes:
        host: canonical, the key of its quota.
        insecure: plain HTTP.
        ca_file: certificate authorities besides the system's.
    """

    host: str
    insecure: bool = False
    ca_file: str | None = None

    @property
    def root(self) -> str:
        """The URL of the API, without a slash at its end."""
        return f"{'http' if self.insecure else 'https'}://{_API_HOSTS.get(self.host, self.host)}"


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository, who asks for it and what for.

    Attributes:
        credential: None is anonymous.
        actions: that a token must allow, ``pull`` or ``pull,push``.
    """

    registry: Registry
    name: str
    credential: Credential | None = None
    actions: str = "pull"

    def __str__(self) -> str:
        return f"{self.registry.host}/{self.name}"

    def url(self, path: str) -> str:
        """Give the URL of something in the repository, such as ``manifests/latest``."""
        return f"{self.registry.root}/v2/{self.name}/{path}"

    @property
    def scope(self) -> str:
        """The scope of a token for it, such as ``repository:library/nginx:pull``."""
        return f"repository:{self.name}:{self.actions}"
