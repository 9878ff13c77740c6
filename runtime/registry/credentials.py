"""Credentials, and the Docker config.json that carries them.

A secret never shows: ``repr`` of a credential names the user at most, and errors name the entry.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from compiler.reference import DOCKER_HUB, InvalidReference, canonical_host
from runtime.registry.errors import InvalidDockerConfig

__all__ = ["Credential", "DockerConfig", "read_docker_config"]


@dataclass(frozen=True, slots=True)
class Credential:
    """What one identity shows to a registry.

    Attributes:
        username: and ``password``, the usual pair.
        identity_token: an OAuth 2 refresh token, exchanged at the token endpoint (Azure).
        registry_token: a bearer token that is sent as it is.
    """

    username: str = ""
    password: str = field(default="", repr=False)
    identity_token: str = field(default="", repr=False)
    registry_token: str = field(default="", repr=False)

    def basic(self) -> str:
        """Give the value of an ``Authorization`` header."""
        return "Basic " + base64.b64encode(f"{self.username}:{self.password}".encode()).decode()


@dataclass(frozen=True, slots=True)
class DockerConfig:
    """The credentials of a config.json.

    Attributes:
        entries: (canonical host, may hold ``*``; path prefix without slashes at its ends, may be empty; credential).
    """

    entries: tuple[tuple[str, str, Credential], ...] = ()

    def credential_for(self, host: str, repository: str) -> Credential | None:
        """Find the credential for a repository.

        A key with a longer path wins, one that names the host wins over one with ``*``, then the first in the file.
        """
        covering = [
            (len(path), "*" not in pattern, credential)
            for pattern, path, credential in self.entries
            if _matches(host, pattern) and (not path or f"{repository}/".startswith(f"{path}/"))
        ]
        return max(covering, key=lambda entry: entry[:2])[2] if covering else None


def read_docker_config(text: str) -> DockerConfig:
    """Read a config.json, as ``docker login`` or a ``kubernetes.io/dockerconfigjson`` Secret has it.

    Keys are made canonical (``https://index.docker.io/v1/`` is ``docker.io``); an entry without a secret, as a
    credential helper leaves it, is passed over, and helpers are never run.

    Raises:
        InvalidDockerConfig: no JSON, or an entry that can't be read.
    """
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        raise InvalidDockerConfig("the registry credentials are not JSON") from None
    auths = document.get("auths", {}) if isinstance(document, dict) else None
    if not isinstance(auths, dict):
        raise InvalidDockerConfig('the registry credentials have no mapping "auths"')
    entries = []
    for key, value in auths.items():
        credential = _credential(key, value)
        if credential is not None:
            entries.append((*_key(key), credential))
    return DockerConfig(tuple(entries))


def _key(text: str) -> tuple[str, str]:
    """Split a key into a canonical host and a path prefix; Docker's own keys end in the API's version."""
    scheme, separator, rest = text.partition("://")
    insecure = scheme == "http" and bool(separator)
    host, _, path = (rest if separator else text).partition("/")
    path = path.strip("/")
    if "*" in host:
        return host.lower(), path
    try:
        # a port that is the scheme's default is dropped, so http://registry.local is registry.local, port or not
        name = canonical_host(host.removesuffix(":80") if insecure else host)
    except InvalidReference as error:
        raise InvalidDockerConfig(f'the registry credentials have the key "{text}": {error}') from None
    return name, "" if path in {"v1", "v2"} or (name == DOCKER_HUB and path.startswith(("v1/", "v2/"))) else path


def _matches(host: str, pattern: str) -> bool:
    """Compare label by label, as Kubernetes does: ``*.azurecr.io`` covers one label, not two."""
    if "*" not in pattern:
        return host == pattern
    labels, patterns = host.split("."), pattern.split(".")
    return len(labels) == len(patterns) and all(map(fnmatchcase, labels, patterns))


def _credential(key: str, value: Any) -> Credential | None:
    if not isinstance(value, dict):
        raise InvalidDockerConfig(f'the registry credentials of "{key}" are not a mapping')
    username, password = _text(value, "username", key), _text(value, "password", key)
    if encoded := _text(value, "auth", key):
        username, password = _decode(encoded, key)
    credential = Credential(username, password, _text(value, "identitytoken", key), _text(value, "registrytoken", key))
    return None if credential == Credential() else credential


def _text(value: Mapping[str, Any], name: str, key: str) -> str:
    found = value.get(name) or ""
    if not isinstance(found, str):
        raise InvalidDockerConfig(f'the registry credentials of "{key}" have a "{name}" that is not text')
    return found


def _decode(encoded: str, key: str) -> tuple[str, str]:
    try:
        username, separator, password = base64.b64decode(encoded, validate=False).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        separator = username = password = ""
    if not separator:
        raise InvalidDockerConfig(
            f'the registry credentials of "{key}" have an "auth" that is not user:password in base64'
        )
    return username, password.rstrip("\0")
