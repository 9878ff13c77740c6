"""Where a mirror writes the copy of an image (page 4, "Destination").

The repository is ``destination.path`` and the image's full name; the tag is the image's, with ``_`` and the cluster's
ID behind it. Two images never share a tag, and what is written is a legal reference, whatever is read:

- A host is no path segment as it stands. The ``:`` before a port becomes ``_``, which no host has. An IPv6 address is
  ``ipv6__`` and its eight groups joined by ``-``: no host has ``__``, so none can look like one. A host of one word is
  in upper case in canonical references; in lower case it is no other canonical host.
- A tag that is too long together with the cluster's ID is cut, and a hash of the whole stands for the rest. A tag that
  looks like kuik's own work, an anchor or a cut tag, gets the hash too: another mirror's tags may be an origin here.

A reference with a tag and a digest shares its tag with that tag alone; what tells them apart is the anchor.
"""

from __future__ import annotations

import hashlib
import ipaddress
import re
from dataclasses import dataclass
from typing import Final

from compiler.quoting import quoted
from compiler.reference import Reference, split_host

__all__ = ["Destination", "DestinationTooLong", "destination"]

_LONGEST_TAG: Final = 128  # distribution/reference, regexp.go
_LONGEST_REPOSITORY: Final = 255
_HASH_DIGITS: Final = 32  # 128 bits of SHA-256: nobody finds two tags that share them
_OWN_WORK: Final = re.compile(rf"kuik-sha(?:256|384|512)-.*|.*-kuik-[0-9a-f]{{{_HASH_DIGITS}}}")


class DestinationTooLong(ValueError):
    """The path of the mirror and the name of the image are together longer than a repository may be."""


@dataclass(frozen=True, slots=True)
class Destination:
    """What is written for one image.

    Attributes:
        to: the canonical reference of the copy, with a tag and without a digest.
        anchor: the tag written beside that of ``to``, in the same repository, which keeps the digest of a reference
            alive when the tag moves on; None for a reference without a tag or without a digest.
    """

    to: str
    anchor: str | None = None


def destination(path: str, reference: Reference, cluster_id: str | None = None) -> Destination:
    """Give the destination of an image.

    Args:
        path: the mirror's, as ``prefixes.repository_path`` gives it.
        reference: the image to be copied.
        cluster_id: ``[a-zA-Z0-9.-]``, at most 32 characters; without one the tags have no suffix.

    Raises:
        DestinationTooLong: the repository would pass 255 characters.
    """
    name = _name(path, reference)
    suffix = f"_{cluster_id}" if cluster_id else ""
    anchor = _anchor(reference.digest, suffix) if reference.digest else None
    if reference.tag is None:
        return Destination(f"{name}:{anchor}")
    return Destination(f"{name}:{_tag(reference.tag, suffix)}", anchor)


def _name(path: str, reference: Reference) -> str:
    name = f"{path}/{_segment(reference.host)}/{reference.repository}"
    repository = split_host(name)[1]
    if len(repository) > _LONGEST_REPOSITORY:
        raise DestinationTooLong(
            f"the copy of {quoted(reference.text)} under {quoted(path)} would have a repository of "
            f"{len(repository)} characters; {_LONGEST_REPOSITORY} are allowed"
        )
    return name


def _segment(host: str) -> str:
    """Spell a canonical host as a path segment."""
    if host.startswith("["):
        address, _, port = host[1:].partition("]")
        # not .exploded, which Python 3.13 writes with dots where the address maps IPv4
        bits = int(ipaddress.IPv6Address(address))
        groups = (bits >> shift & 0xFFFF for shift in range(112, -1, -16))
        host = f"ipv6__{'-'.join(f'{group:x}' for group in groups)}{port}"
    return host.lower().replace(":", "_")


def _tag(tag: str, suffix: str) -> str:
    if len(tag) + len(suffix) <= _LONGEST_TAG and not _OWN_WORK.fullmatch(tag):
        return f"{tag}{suffix}"
    return _cut(tag, f"{tag}{suffix}", suffix)


def _anchor(digest: str, suffix: str) -> str:
    """Give the tag that keeps a digest alive; a bare ``sha256-<hex>`` would be the referrers' tag of OCI."""
    anchor = f"kuik-{digest.replace(':', '-')}"
    # the colon, which no tag has, keeps its hash apart from that of a tag of the same spelling
    return (
        f"{anchor}{suffix}" if len(anchor) + len(suffix) <= _LONGEST_TAG else _cut(anchor, f"{digest}{suffix}", suffix)
    )


def _cut(text: str, whole: str, suffix: str) -> str:
    end = f"-kuik-{hashlib.sha256(whole.encode()).hexdigest()[:_HASH_DIGITS]}{suffix}"
    return text[: _LONGEST_TAG - len(end)] + end
