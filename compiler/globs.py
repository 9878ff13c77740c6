"""Globs over canonical references: the images that a resource leaves out (``excludeImages``).

A glob has a name part and, behind a ``:`` after the last ``/``, a tag part. (A colon before the last ``/`` is that of a
port.) Each part is matched whole: the name part against ``host/repository``, the tag part against the tag.

- ``*`` stands for any characters but ``/``, or none; ``**`` for any characters at all. In a tag they are the same.
- Without a tag part a glob covers every tag and every digest of the names that it matches.
- With a tag part it covers the references whose tag matches, whether a digest stands beside the tag or not.
  A reference without a tag is not covered, not even by ``:*``: nothing says which tag its digest belongs to.
- Everything else stands for itself. ``?`` and ``[…]``, wildcards elsewhere, can't be in a name and are refused.

A host that is spelled out is made canonical, as in references. Names are not completed: ``nginx`` is no canonical name,
and ``never_matches`` says what to write instead.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Final

from compiler.quoting import quoted
from compiler.reference import (
    DOCKER_HUB,
    InvalidReference,
    Reference,
    canonical_host,
    is_repository,
    is_tag,
    looks_like_host,
    refuse_the_obvious,
)

__all__ = ["Glob", "InvalidGlob", "never_matches", "parse_glob"]

_LONGEST: Final = 1024  # characters; no canonical reference comes near it
_NAME_CHARACTERS: Final = re.compile(r"(?:\[[A-Fa-f0-9:]+\])?[A-Za-z0-9._/:*-]*")
_TAG_CHARACTERS: Final = re.compile(r"[A-Za-z0-9_.*-]*")
_ANYWHERE: Final = re.compile(r"\*{2,}")


class InvalidGlob(ValueError):
    """The text is no glob over references; the message says why."""


@dataclass(frozen=True, slots=True)
class Glob:
    """A glob, ready to be matched.

    Attributes:
        text: as it was written, but for the host, which is canonical.
    """

    text: str
    name: re.Pattern[str] = field(compare=False, repr=False)
    tag: re.Pattern[str] | None = field(compare=False, repr=False)

    def matches(self, reference: Reference) -> bool:
        """Say whether the glob covers a reference."""
        if not self.name.fullmatch(reference.name):
            return False
        return self.tag is None or (reference.tag is not None and self.tag.fullmatch(reference.tag) is not None)

    def __str__(self) -> str:
        return self.text


def parse_glob(text: str, insecure: Collection[str] = frozenset()) -> Glob:
    """Read a glob and make its host canonical, where that is spelled out.

    Args:
        text: such as ``quay.io/team/*``, ``**:latest`` or ``ghcr.io/org/**``.
        insecure: the canonical hosts that are read over plain HTTP, whose default port is 80 and not 443.

    Raises:
        InvalidGlob: empty, too long, with a digest, a scheme, or a character that no reference has.
    """
    name, tag = _parts(text, insecure)
    return Glob(name if tag is None else f"{name}:{tag}", _compile(name), None if tag is None else _compile(tag))


def never_matches(text: str, insecure: Collection[str] = frozenset()) -> str | None:
    """Explain why a glob can match no canonical reference, and what was probably meant.

    None if it may match one, or is no glob at all, which ``parse_glob`` explains.
    """
    try:
        name, tag = _parts(text, insecure)
    except InvalidGlob:
        return None
    ending = "" if tag is None else f":{tag}"
    return _unmatchable_name(name, text, ending) or _unmatchable_tag(tag or "*", text)


def _parts(text: str, insecure: Collection[str]) -> tuple[str, str | None]:
    """Split a glob into its name part, host canonical, and its tag part."""
    _refuse(text)
    slash = text.rfind("/")
    colon = text.find(":", slash + 1)
    name, tag = (text, None) if colon < 0 else (text[:colon], text[colon + 1 :])
    if not name or tag == "":
        raise InvalidGlob(f"{quoted(text)} has a colon with nothing on one side; write for example **:latest")
    if not _NAME_CHARACTERS.fullmatch(name):
        raise InvalidGlob(f"{quoted(text)} has a character that no image name has; the only wildcards are * and **")
    if tag and not _TAG_CHARACTERS.fullmatch(tag):
        raise InvalidGlob(f"{quoted(text)} has a character that no tag has; the only wildcard there is *")
    return _with_canonical_host(name, insecure), tag


def _refuse(text: str) -> None:
    if not text:
        raise InvalidGlob("the glob is empty; write ** for every image")
    if len(text) > _LONGEST:
        raise InvalidGlob(f"{quoted(text)} has {len(text)} characters; {_LONGEST} are allowed")
    if "@" in text:
        raise InvalidGlob(f"{quoted(text)} has a digest; a glob without a tag part covers every digest")
    try:
        refuse_the_obvious(text)
    except InvalidReference as error:
        raise InvalidGlob(str(error)) from None


def _with_canonical_host(name: str, insecure: Collection[str]) -> str:
    first, slash, rest = name.partition("/")
    if not slash or not looks_like_host(first):
        return name
    if "*" in first:
        return f"{first.lower()}/{rest}"
    try:
        return f"{canonical_host(first, insecure)}/{rest}"
    except InvalidReference as error:
        raise InvalidGlob(str(error)) from None


def _compile(part: str) -> re.Pattern[str]:
    """Translate one part into a regular expression whose time is quadratic at worst, however many stars there are.

    Everything between two ``**`` is an atomic group: it takes the first place where it fits and never tries another.
    Nothing is lost by that: what follows is ``**``, and from an earlier place ``**`` reaches whatever it reaches from a
    later one. Likewise for the texts between two ``*``, because up to a later place there is no ``/`` to cross.
    """
    first, *others = _ANYWHERE.split(part)
    if not others:
        return re.compile(_last(first), re.DOTALL)
    middle = "".join(f"(?>.*?{_block(block)})" for block in others[:-1])
    return re.compile(f"{_block(first)}{middle}.*{_last(others[-1])}", re.DOTALL)


def _block(block: str) -> str:
    """Translate what stands before a ``**``: as little as possible for each ``*``."""
    first, *others = map(re.escape, block.split("*"))
    return first + "".join(f"(?>[^/]*?{text})" for text in others)


def _last(block: str) -> str:
    """Translate what stands at the end: the text behind the last ``*`` has its place there."""
    before, star, text = block.rpartition("*")
    return f"{_block(before)}[^/]*{re.escape(text)}" if star else re.escape(text)


def _unmatchable_name(name: str, text: str, ending: str) -> str | None:
    first, slash, rest = name.partition("/")
    if "**" not in first:
        if not slash:
            return _without_slash(name, text, ending)
        if not first or ("*" not in first and not looks_like_host(first)):
            hub = f"{DOCKER_HUB}/{name.lstrip('/')}{ending}"
            return f"{quoted(text)} matches nothing: {quoted(first)} is not a registry host; write {quoted(hub)}"
        if first == DOCKER_HUB and "/" not in rest and "**" not in rest and rest:
            library = f"{DOCKER_HUB}/library/{rest}{ending}"
            return f"{quoted(text)} matches nothing: images there have two parts; write {quoted(library)}"
    return _unmatchable_repository(rest, text, f"{name}**{ending}") if slash else None


def _without_slash(name: str, text: str, ending: str) -> str:
    """Explain a glob of one segment, where every canonical name has a host and a repository."""
    remedy = f"{DOCKER_HUB}/library/{name}{ending}"
    if set(name) == {"*"}:
        remedy = f"**{ending}"
    elif "." in name:
        remedy = f"{name}{ending}/**" if ending[1:].isdigit() else f"{name}/**{ending}"
    return f"{quoted(text)} matches nothing: names begin with a registry host; write {quoted(remedy)}"


def _unmatchable_repository(repository: str, text: str, all_below: str) -> str | None:
    if repository != repository.lower():
        return f"{quoted(text)} matches nothing: repositories are lower case"
    segments = repository.split("/")
    if not segments[-1]:
        return f"{quoted(text)} matches nothing: names do not end in a slash; write {quoted(all_below)}"
    wrong = next((s for s in segments if "*" not in s and not is_repository(s)), None)
    return None if wrong is None else f"{quoted(text)} matches nothing: {quoted(wrong)} is no part of an image name"


def _unmatchable_tag(tag: str, text: str) -> str | None:
    # a star may stand for nothing, and for one letter: then what is left decides
    if is_tag(tag.replace("*", "")) or (tag.startswith("*") and is_tag("a" + tag.replace("*", ""))):
        return None
    return f"{quoted(text)} matches nothing: no tag looks like {quoted(tag)}"
