"""Digests: checked before they become part of a URL, and computed while bytes pass."""

from __future__ import annotations

import hashlib
import re
from typing import Any, Final

__all__ = ["digest_of", "hasher", "is_digest"]

# the algorithms of the OCI image specification that registries serve, with the length of their hex digits
_HEX_DIGITS: Final = {"sha256": 64, "sha384": 96, "sha512": 128}
_HEX: Final = re.compile(r"[a-f0-9]+")


def is_digest(text: str) -> bool:
    """Say whether this is a digest of a known algorithm; whatever else a registry sends never gets into a URL."""
    algorithm, _, encoded = text.partition(":")
    return _HEX_DIGITS.get(algorithm) == len(encoded) and _HEX.fullmatch(encoded) is not None


def hasher(digest: str) -> Any:
    """Give an empty hash of a digest's algorithm."""
    return hashlib.new(digest.partition(":")[0])


def digest_of(body: bytes, like: str = "sha256:") -> str:
    """Compute a digest, of the same algorithm as another."""
    algorithm = like.partition(":")[0]
    return f"{algorithm}:{hashlib.new(algorithm, body).hexdigest()}"
