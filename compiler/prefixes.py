"""Prefixes: the repositories that an ImageAlternative calls equivalent, and where an ImageMirror writes.

An ``imagePrefix`` covers exactly one repository, or, ending in ``/``, those directly under it: exactly one more path
segment. It is made canonical by the rule of references: ``nginx`` is ``docker.io/library/nginx``. A prefix ending in
``/`` is read as if a name stood behind it: ``docker.io/`` is ``docker.io/library/``, because ``docker.io/nginx`` is
``docker.io/library/nginx``; so is ``library/``; and ``team/`` is ``docker.io/team/``.

A ``destination.path`` names its registry in full. kuik writes there: a forgotten host must not mean Docker Hub.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from compiler.quoting import quoted
from compiler.reference import (
    InvalidReference,
    Reference,
    canonical_host,
    canonical_name,
    is_repository,
    looks_like_host,
    refuse_the_obvious,
)

__all__ = ["InvalidPrefix", "Prefix", "lies_under", "nests", "parse_prefix", "repository_path", "rewrite"]


class InvalidPrefix(ValueError):
    """The text is no prefix of image names, or no path to write to; the message says why."""


@dataclass(frozen=True, slots=True)
class Prefix:
    """One repository, or the repositories directly under a path.

    Attributes:
        text: canonical; ends in ``/`` if it is a group.
        host: the canonical host.
        is_group: covers the repositories directly under the text, not one of that name.
    """

    text: str
    host: str
    is_group: bool

    def covers(self, reference: Reference) -> bool:
        """Say whether a reference is of a repository that the prefix covers, whatever its tag and digest."""
        if not self.is_group:
            return reference.name == self.text
        name = reference.name
        return name.startswith(self.text) and "/" not in name[len(self.text) :]

    def __str__(self) -> str:
        return self.text


def parse_prefix(text: str, insecure: Collection[str] = frozenset()) -> Prefix:
    """Read and canonicalise an ``imagePrefix``.

    Args:
        text: such as ``quay.io/team/app`` or ``quay.io/team/``.
        insecure: the canonical hosts that are read over plain HTTP, whose default port is 80 and not 443.

    Raises:
        InvalidPrefix: a tag, a digest, a wildcard, a scheme, upper case in the repository, or no name at all.
    """
    _refuse(text, "an imagePrefix", "a / at its end covers the repositories under it")
    if "/" not in text and (text.startswith("[") or (looks_like_host(text) and ":" not in text)):
        raise InvalidPrefix(
            f"{quoted(text)} is a registry, not a repository; write {quoted(f'{text}/')} for what it has"
        )
    _refuse_tag(text, text[text.rfind("/") + 1 :])
    is_group = text.endswith("/")
    try:
        # the x stands for any repository of the group
        host, repository = canonical_name(f"{text}x" if is_group else text, insecure, text)
    except InvalidReference as error:
        raise InvalidPrefix(str(error)) from None
    name = f"{host}/{repository}"
    return Prefix(name[:-1] if is_group else name, host, is_group)


def rewrite(reference: Reference, from_: Prefix, to: Prefix) -> Reference:
    """Give a reference's equivalent under another prefix of the same list, tag and digest carried over.

    Raises:
        ValueError: ``from_`` doesn't cover the reference, or only one of the two is a group.
        InvalidReference: the new name is too long.
    """
    if from_.is_group is not to.is_group or not from_.covers(reference):
        raise ValueError(f"{reference} can't go from {from_} to {to}")
    return reference.moved_to(to.text + reference.name[len(from_.text) :])


def repository_path(text: str, insecure: Collection[str] = frozenset()) -> str:
    """Read and canonicalise a ``destination.path``.

    Args:
        text: a registry host and, usually, a path there: ``registry.tld/mirror``, with or without a slash at its end.
        insecure: as for ``parse_prefix``.

    Returns:
        ``host`` or ``host/path``, without a slash at its end.

    Raises:
        InvalidPrefix: no host, a tag, a digest, a wildcard, a scheme, or upper case in the path.
    """
    _refuse(text, "a destination", "it is one place")
    host, slash, path = text.removesuffix("/").partition("/")
    _refuse_tag(text, path)  # a colon before the first slash is a port's
    if not looks_like_host(host):
        raise InvalidPrefix(
            f"{quoted(text)} does not begin with a registry host; write for example registry.tld/mirror"
        )
    try:
        host = canonical_host(host, insecure)
    except InvalidReference as error:
        raise InvalidPrefix(str(error)) from None
    if path != path.lower():
        raise InvalidPrefix(f"{quoted(text)} has upper case in its path; repositories are lower case")
    if slash and not is_repository(path):
        rule = "lower-case letters and digits, joined by . _ __ - or /"
        raise InvalidPrefix(f"{quoted(text)} has a path that is no repository: {rule}")
    return f"{host}/{path}" if path else host


def nests(path: str, other: str) -> bool:
    """Say whether two destinations are the same or one lies under the other; both as ``repository_path`` gives them."""
    return lies_under(path, other) or lies_under(other, path)


def lies_under(name: str, path: str) -> bool:
    """Say whether a canonical name is a path or lies under it, at the border of a path segment."""
    return name == path or name.startswith(f"{path}/")


def _refuse(text: str, what: str, instead: str) -> None:
    """Name what people write where a name without digest and wildcard belongs."""
    if not text:
        raise InvalidPrefix(f"{what} is empty")
    try:
        refuse_the_obvious(text)
    except InvalidReference as error:
        raise InvalidPrefix(str(error)) from None
    if any(c in text for c in "*?"):
        raise InvalidPrefix(f"{quoted(text)} has a wildcard; {what} takes none, {instead}")
    if "@" in text:
        raise InvalidPrefix(f"{quoted(text)} has a digest; tag and digest are those of the image")


def _refuse_tag(text: str, end: str) -> None:
    """Refuse a tag at the end of a text, or what would be read as one."""
    _, colon, tag = end.partition(":")
    if not colon:
        return
    if end == text and tag.isdigit() and len(tag) > 2:
        raise InvalidPrefix(f"{quoted(text)} ends in a tag; if that is a port, write {quoted(f'{text}/')}")
    raise InvalidPrefix(f"{quoted(text)} ends in a tag; tag and digest are those of the image")
