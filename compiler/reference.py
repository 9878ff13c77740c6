"""Image references and registry hosts, read as distribution/reference reads them and then made canonical.

A canonical reference is what kuik compares, sorts, counts and prints: ``nginx`` is
``docker.io/library/nginx:latest`` from here on, and one quota is one host key.

What differs from distribution/reference, on purpose:

- ``registry-1.docker.io`` is ``docker.io`` too: the same quota.
- the port that is the scheme's default is dropped, and hosts are in lower case.
- a tag beside a digest is kept: a mirror writes both.
- a host of one word (``Foo/bar``, a host only because of its capital) is written in upper case, because ``foo/bar`` is
  ``docker.io/foo/bar``: every canonical reference reads back as itself.
- a digest must be of an algorithm that registries serve.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

__all__ = ["DOCKER_HUB", "InvalidReference", "Reference", "canonical_host", "parse_reference", "split_host"]

DOCKER_HUB: Final = "docker.io"
_HUB_ALIASES: Final = frozenset({"docker.io", "index.docker.io", "registry-1.docker.io"})

# github.com/distribution/reference, regexp.go
_LABEL: Final = r"(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])"
_HOST: Final = re.compile(rf"(?P<name>{_LABEL}(?:\.{_LABEL})*|\[[a-fA-F0-9:]+\])(?::(?P<port>[0-9]+))?")
_COMPONENT: Final = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_REPOSITORY: Final = re.compile(rf"{_COMPONENT}(?:/{_COMPONENT})*")
_TAG: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")
_IDENTIFIER: Final = re.compile(r"[a-f0-9]{64}")
_HEX_DIGITS: Final = {"sha256": 64, "sha384": 96, "sha512": 128}

_LONGEST_REPOSITORY: Final = 255
_LONGEST_TAG: Final = 128
_PLACEHOLDER: Final = re.compile(r"\{\{|\}\}|\$\{|\$\(|<[^>]*>")


class InvalidReference(ValueError):
    """The text names no image or host; the message says why."""


@dataclass(frozen=True, slots=True)
class Reference:
    """A canonical reference: ``host/repository[:tag][@digest]``, with a tag, a digest or both.

    ``str()`` gives the canonical text, which is computed once.
    """

    host: str
    repository: str
    tag: str | None
    digest: str | None
    text: str

    def __str__(self) -> str:
        return self.text

    @property
    def name(self) -> str:
        """``host/repository``, without tag and digest."""
        return f"{self.host}/{self.repository}"

    def moved_to(self, name: str) -> Reference:
        """Give the reference of the same tag and digest under another ``host/repository``.

        Raises:
            InvalidReference: the new name is no canonical name, or too long.
        """
        host, repository = split_host(name)
        _check_repository(repository, name)
        return _assemble(host, repository, self.tag, self.digest)


@lru_cache(maxsize=65536)
def parse_reference(text: str, insecure: frozenset[str] = frozenset()) -> Reference:
    """Read and canonicalise an image reference.

    Args:
        text: what a pod, a resource or a person writes.
        insecure: the canonical hosts that are read over plain HTTP, whose default port is 80 and not 443.

    Raises:
        InvalidReference: with what is wrong; the rules are those of distribution/reference, see the module.
    """
    _refuse_the_obvious(text)
    name, _, digest = text.partition("@")
    # a tag stands behind the last colon, if that comes after the last slash; any other colon belongs to a port
    slash = name.rfind("/")
    colon = name.find(":", slash + 1)
    tag = name[colon + 1 :] if colon >= 0 else None
    if colon >= 0:
        name = name[:colon]
    host, repository = _split_written(name)
    host = canonical_host(host, insecure)
    if host == DOCKER_HUB and "/" not in repository:
        repository = f"library/{repository}"
    _check_repository(repository, text)
    if tag is not None:
        _check_tag(tag, text)
    if "@" in text:
        _check_digest(digest, text)
    return _assemble(host, repository, tag if tag or digest else "latest", digest or None)


def canonical_host(text: str, insecure: Collection[str] = frozenset()) -> str:
    """Give the one key of a registry host, whatever way it is spelled.

    Args:
        text: ``host[:port]``, as in a reference or in the configuration.
        insecure: the canonical hosts that are read over plain HTTP.

    Raises:
        InvalidReference: not a host name, an IPv4 address or an IPv6 address in brackets, or a port over 65535.
    """
    match = _HOST.fullmatch(text)
    if match is None:
        raise InvalidReference(f'"{text}" is not a registry host; write for example quay.io or registry.local:5000')
    name = match["name"].lower()
    port = int(match["port"][-6:]) if match["port"] else None
    if port is not None and (port > 65535 or len(match["port"].lstrip("0")) > 5):
        raise InvalidReference(f'"{text}" has a port over 65535')
    if name.startswith("["):
        name = f"[{_ipv6(name[1:-1], text)}]"
    if name in _HUB_ALIASES and port in {None, 443}:
        return DOCKER_HUB
    if port is not None and port != (80 if name in insecure else 443):
        return f"{name}:{port}"
    return name if "." in name or name.startswith("[") or name == "localhost" else name.upper()


def split_host(canonical: str) -> tuple[str, str]:
    """Split a canonical name or reference into its host and the rest, without looking at either."""
    host, _, rest = canonical.partition("/")
    return host, rest


def _refuse_the_obvious(text: str) -> None:
    """Name the mistakes that people make most, before the grammar would only say "invalid"."""
    if not text:
        raise InvalidReference("the image is empty")
    if _PLACEHOLDER.search(text):
        raise InvalidReference(f'"{text}" is a placeholder that was never filled in; render the template first')
    if any(c.isspace() for c in text):
        raise InvalidReference(f'"{text}" contains white space')
    if "://" in text:
        raise InvalidReference(f'"{text}" has a scheme in front; write {text.split("://", 1)[1] or "the image"} alone')
    if _IDENTIFIER.fullmatch(text):
        raise InvalidReference(f'"{text}" is the ID of an image, not a name; registries do not know it')


def _split_written(name: str) -> tuple[str, str]:
    """Split what is written into host and repository: the first part is a host if it looks like one.

    distribution/reference, normalize.go: with a dot, a colon or a capital in it, or ``localhost``.
    """
    first, slash, rest = name.partition("/")
    if slash and ("." in first or ":" in first or first == "localhost" or first.lower() != first):
        return first, rest
    return DOCKER_HUB, name


def _check_repository(repository: str, text: str) -> None:
    if len(repository) > _LONGEST_REPOSITORY:
        raise InvalidReference(f'"{text[:60]}…" has a repository of {len(repository)} characters; 255 are allowed')
    if _REPOSITORY.fullmatch(repository):
        return
    if repository != repository.lower():
        raise InvalidReference(f'"{text}" has upper case in its repository; repositories are lower case')
    raise InvalidReference(f'"{text}" is not an image reference: "{repository}" is not a repository name')


def _check_tag(tag: str, text: str) -> None:
    if len(tag) > _LONGEST_TAG:
        raise InvalidReference(f'"{text[:60]}…" has a tag of {len(tag)} characters; 128 are allowed')
    if not _TAG.fullmatch(tag):
        raise InvalidReference(f'"{text}" has the invalid tag "{tag}"')


def _check_digest(digest: str, text: str) -> None:
    algorithm, _, encoded = digest.partition(":")
    if algorithm not in _HEX_DIGITS:
        raise InvalidReference(f'"{text}" has a digest of the unknown algorithm "{algorithm}"; known: sha256, sha384, sha512')
    if not re.fullmatch(rf"[a-f0-9]{{{_HEX_DIGITS[algorithm]}}}", encoded):
        raise InvalidReference(f'"{text}" has a {algorithm} digest that is not {_HEX_DIGITS[algorithm]} hex digits in lower case')


def _assemble(host: str, repository: str, tag: str | None, digest: str | None) -> Reference:
    text = f"{host}/{repository}{f':{tag}' if tag else ''}{f'@{digest}' if digest else ''}"
    return Reference(host, repository, tag, digest, text)


def _ipv6(address: str, text: str) -> str:
    try:
        return ipaddress.IPv6Address(address).compressed
    except ValueError:
        raise InvalidReference(f'"{text}" is not an IPv6 address in brackets') from None
