"""Images that no pod uses any more and that a monitor keeps checking for a while (``unusedImageRetention``)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Final

from compiler.duration import Nanoseconds
from runtime.controller.reports import entries
from runtime.controller.times import read_time

__all__ = ["LONGEST", "Retained", "read_retained", "retain"]

LONGEST: Final = 5000
"""How many are kept; beyond, those that are unused longest go first (page 3, "Status")."""

LARGEST: Final = 5 * 2**18
"""Bytes that they may take in status: etcd takes 1.5 MiB of an object (``--max-request-bytes``)."""
_ENTRY: Final = 140
"""Bytes of an entry of ``retainedImages`` beside its reference, in JSON."""


@dataclass(frozen=True, slots=True)
class Retained:
    """A retained image.

    Attributes:
        unused_since: in nanoseconds since 1970.
        digest: the last one known; None where none is.
    """

    ref: str
    unused_since: Nanoseconds
    digest: str | None = None


def retain(
    candidates: Mapping[str, Retained], used: frozenset[str], retention: Nanoseconds, now: Nanoseconds
) -> tuple[dict[str, Retained], bool]:
    """Give what is retained now.

    Args:
        candidates: what was retained before, and what was used until now.
        used: what pods use.
        retention: how long an image is kept.
        now: the time of day.

    Returns:
        By reference, and whether some had to go before their time.
    """
    lasting = [r for r in candidates.values() if r.ref not in used and now - r.unused_since < retention]
    lasting.sort(key=lambda r: (-r.unused_since, r.ref))
    sizes = accumulate(_ENTRY + len(r.ref) for r in lasting[:LONGEST])
    kept = [r for r, size in zip(lasting, sizes, strict=False) if size <= LARGEST]
    return {r.ref: r for r in sorted(kept, key=lambda r: r.ref)}, len(lasting) > len(kept)


def read_retained(status: Mapping[str, Any]) -> Iterator[Retained]:
    """Read what a status says is retained; an entry without a time is left out."""
    for entry in entries(status, "retainedImages"):
        since = read_time(entry.get("unusedSince"))
        if since is not None:
            digest = entry.get("digest")
            yield Retained(entry["ref"], since, digest if isinstance(digest, str) else None)
