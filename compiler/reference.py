"""Image references and registry hosts, read as distribution/reference reads them and then made canonical.

A canonical reference is what kuik compares, sorts, counts and prints: ``nginx`` is
``docker.io/library/nginx:latest`` from here on, and one quota is one host key.

What differs from distribution/reference, on purpose:

- ``registry-1.docker.io`` is ``docker.io`` too: the same quota.
- the port that is the scheme's default is dropped, and hosts are in lower case.
- a tag beside a digest is kept: a mirror writes both.
- a host of one word (``Foo/bar``, a host only because of its capital) is written in upper case, because ``foo/bar`` is
  ``docker.io/foo/bar``: every canonical reference reads back as itself.
- a digest must be of an algorithm that registries serve, a port a port, and a host one that DNS allows:
  ``foo_bar.com/app``, which distribution/reference reads as a name without a host, is refused.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Collection
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from compiler.quoting import quoted

__all__ = [
    "DOCKER_HUB",
    "InvalidReference",
    "Reference",
    "canonical_host",
    "canonical_name",
    "is_repository",
    "is_tag",
    "looks_like_host",
    "parse_reference",
    "refuse_the_obvious",
    "split_host",
]

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

_LONGEST_HOST: Final = 253  # RFC 1035, in characters and without the root's dot
_LONGEST_REPOSITORY: Final = 255
_LONGEST_TAG: Final = 128
_PLACEHOLDER: Final = re.compile(r"\{\{|\}\}|\$\{|\$\(|<[^<>]*>")


class InvalidReference(ValueError):
    """The text names no image or host; the message says why."""


@dataclass(frozen=True, slots=True, order=True)
class Reference:
    """A canonical reference: ``host/repository[:tag][@digest]``, with a tag, a digest or both.

    ``str()`` gives the canonical text, which is computed once. It says everything: references are equal, hashed and
    ordered by it alone, so that ``sorted`` gives the order of a ring (R1).
    """

    host: str = field(compare=False)
    repository: str = field(compare=False)
    tag: str | None = field(compare=False)
    digest: str | None = field(compare=False)
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
    refuse_the_obvious(text)
    if _IDENTIFIER.fullmatch(text):
        raise InvalidReference(f"{quoted(text)} is the ID of an image, not a name; registries do not know it")
    name, at, digest = text.partition("@")
    # a tag stands behind the first colon after the last slash; any other colon belongs to a port
    colon = name.find(":", name.rfind("/") + 1)
    tag = name[colon + 1 :] if colon >= 0 else None
    host, repository = canonical_name(name[:colon] if colon >= 0 else name, insecure, text)
    if tag is not None:
        _check_tag(tag, text)
    if at:
        _check_digest(digest, text)
    return _assemble(host, repository, tag if tag or at else "latest", digest or None)


def canonical_name(name: str, insecure: Collection[str] = frozenset(), text: str = "") -> tuple[str, str]:
    """Read and canonicalise the part of a reference before tag and digest.

    Args:
        name: ``[host/]repository``.
        insecure: as for ``parse_reference``.
        text: what the messages call the input, where that is more than the name.

    Returns:
        The canonical host and the repository.

    Raises:
        InvalidReference: with what is wrong.
    """
    text = text or name
    if name.startswith("[") and "/" not in name:
        raise InvalidReference(f"{quoted(text)} names no repository")
    first, slash, rest = name.partition("/")
    host, repository = (first, rest) if slash and looks_like_host(first) else (DOCKER_HUB, name)
    host = canonical_host(host, insecure)
    if host == DOCKER_HUB and repository and "/" not in repository:
        repository = f"library/{repository}"
    _check_repository(repository, text)
    return host, repository


def looks_like_host(first: str) -> bool:
    """Say whether the first path segment of several is a host: ``localhost``, or one with a dot, a colon or a capital.

    distribution/reference, normalize.go.
    """
    return "." in first or ":" in first or first == "localhost" or first.lower() != first


def canonical_host(text: str, insecure: Collection[str] = frozenset()) -> str:
    """Give the one key of a registry host, whatever way it is spelled.

    Args:
        text: ``host[:port]``, as in a reference or in the configuration.
        insecure: the canonical hosts that are read over plain HTTP.

    Raises:
        InvalidReference: not a host name, an IPv4 address or an IPv6 address in brackets, a port over 65535, or a name
            that is longer than DNS allows.
    """
    match = _HOST.fullmatch(text)
    if match is None:
        raise InvalidReference(
            f"{quoted(text)} is not a registry host; write one such as quay.io or registry.local:5000"
        )
    if len(match["name"]) > _LONGEST_HOST:
        raise InvalidReference(f"{quoted(text)} has a host of {len(match['name'])} characters; 253 are allowed")
    host = _portless(match["name"].lower(), text)
    port = _port(match["port"], text)
    if host in _HUB_ALIASES and port in {None, 443}:
        return DOCKER_HUB
    if port is None or port == (80 if host in insecure else 443):
        return host
    return f"{host.lower()}:{port}"  # the colon makes it a host, whatever its case


def split_host(canonical: str) -> tuple[str, str]:
    """Split a canonical name or reference into its host and the rest, without looking at either."""
    host, _, rest = canonical.partition("/")
    return host, rest


def is_repository(text: str) -> bool:
    """Say whether a text is a legal repository but for its length: path segments in lower case, joined by slashes."""
    return _REPOSITORY.fullmatch(text) is not None


def is_tag(text: str) -> bool:
    """Say whether a text is a legal tag, of at most 128 characters."""
    return _TAG.fullmatch(text) is not None


def refuse_the_obvious(text: str) -> None:
    """Name the mistakes that people make most, before the grammar would only say "invalid".

    Raises:
        InvalidReference: empty, a placeholder, white space, or a scheme in front.
    """
    if not text:
        raise InvalidReference("the image is empty")
    if _PLACEHOLDER.search(text):
        raise InvalidReference(f"{quoted(text)} is a placeholder that was never filled in; render the template first")
    if text.split() != [text]:
        raise InvalidReference(f"{quoted(text)} contains white space")
    if "://" in text:
        rest = text.split("://", 1)[1] or "the name"
        raise InvalidReference(f"{quoted(text)} has a scheme in front; write {quoted(rest)} alone")


def _check_repository(repository: str, text: str) -> None:
    if len(repository) > _LONGEST_REPOSITORY:
        raise InvalidReference(f"{quoted(text)} has a repository of {len(repository)} characters; 255 are allowed")
    if is_repository(repository):
        return
    if not repository:
        raise InvalidReference(f"{quoted(text)} names no repository")
    if repository != repository.lower():
        raise InvalidReference(f"{quoted(text)} has upper case in its repository; repositories are lower case")
    rule = "a repository is lower-case letters and digits, joined by . _ __ - or /"
    raise InvalidReference(f"{quoted(text)} is not an image reference: {rule}")


def _check_tag(tag: str, text: str) -> None:
    if not tag:
        raise InvalidReference(f"{quoted(text)} has a colon and no tag behind it")
    if len(tag) > _LONGEST_TAG:
        raise InvalidReference(f"{quoted(text)} has a tag of {len(tag)} characters; 128 are allowed")
    if not is_tag(tag):
        raise InvalidReference(f"{quoted(text)} has the invalid tag {quoted(tag)}")


def _check_digest(digest: str, text: str) -> None:
    algorithm, colon, encoded = digest.partition(":")
    if not colon:
        raise InvalidReference(f"{quoted(text)} has no digest such as sha256:… behind its @")
    if algorithm not in _HEX_DIGITS:
        message = f"{quoted(text)} has a digest of the unknown algorithm {quoted(algorithm)}"
        raise InvalidReference(f"{message}; known are {', '.join(_HEX_DIGITS)}")
    digits = _HEX_DIGITS[algorithm]
    if not re.fullmatch(rf"[a-f0-9]{{{digits}}}", encoded):
        raise InvalidReference(f"{quoted(text)} has a {algorithm} digest that is not {digits} hex digits in lower case")


def _assemble(host: str, repository: str, tag: str | None, digest: str | None) -> Reference:
    text = f"{host}/{repository}{f':{tag}' if tag else ''}{f'@{digest}' if digest else ''}"
    return Reference(host, repository, tag, digest, text)


def _portless(name: str, text: str) -> str:
    """Give the canonical form of a host without a port; see the module for the word in upper case."""
    if name.startswith("["):
        return f"[{_ipv6(name[1:-1], text)}]"
    return name if "." in name or name == "localhost" else name.upper()


def _port(digits: str | None, text: str) -> int | None:
    if digits is None:
        return None
    significant = digits.lstrip("0") or "0"
    if len(significant) > 5 or int(significant) > 65535:
        raise InvalidReference(f"{quoted(text)} has a port over 65535")
    return int(significant)


def _ipv6(address: str, text: str) -> str:
    try:
        parsed = ipaddress.IPv6Address(address)
    except ValueError:
        raise InvalidReference(f"{quoted(text)} is not an IPv6 address in brackets") from None
    if mapped := parsed.ipv4_mapped:
        # Python 3.13 writes these with dots, which the grammar of references doesn't have
        return f"::ffff:{int(mapped) >> 16:x}:{int(mapped) & 0xFFFF:x}"
    return parsed.compressed
