"""What a registry's answer means for an image: the rows of the specification's table, as frozen values.

A verdict is decided once, where the answer is read, and matched on by type from there on::

    match verdict:
        case Available(digest=digest): ...
        case QuotaExceeded(retry_after=delay): ...
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, TypeAlias

from compiler.duration import Nanoseconds

__all__ = ["Available", "Cause", "NotFound", "QuotaExceeded", "Refusal", "Unauthorized", "Unreachable", "Verdict"]


class Cause(StrEnum):
    """Why a registry counts as unreachable."""

    DNS = "DNS"
    CONNECT = "Connect"
    TLS = "TLS"
    TIMEOUT = "Timeout"
    STATUS = "Status"
    REDIRECT = "Redirect"
    BROKEN = "Broken"
    DIGEST_MISMATCH = "DigestMismatch"


@dataclass(frozen=True, slots=True)
class Available:
    """The image is there.

    Attributes:
        digest: of the manifest that the reference points at.
        platforms: where drift was asked for and the image is an index, the digests of its manifests, each as right an
            answer as ``digest``; None when nobody looked.
    """

    digest: str
    platforms: frozenset[str] | None = None

    reason: ClassVar[str] = "Available"
    message: ClassVar[str] = ""


@dataclass(frozen=True, slots=True)
class NotFound:
    """The registry says that there is no such image."""

    message: str = "the registry has no such image"

    reason: ClassVar[str] = "NotFound"


@dataclass(frozen=True, slots=True)
class Unauthorized:
    """The credential, or anonymous access, was refused."""

    message: str

    reason: ClassVar[str] = "Unauthorized"


@dataclass(frozen=True, slots=True)
class QuotaExceeded:
    """The registry rations; this says nothing about the image.

    Attributes:
        retry_after: how long the registry wants to be left alone, None when it doesn't say.
    """

    retry_after: Nanoseconds | None = None
    message: str = "the registry's quota is used up"

    reason: ClassVar[str] = "QuotaExceeded"


@dataclass(frozen=True, slots=True)
class Unreachable:
    """No usable answer; ``cause`` says of which kind, ``message`` in words."""

    cause: Cause
    message: str

    reason: ClassVar[str] = "Unreachable"


Refusal: TypeAlias = NotFound | Unauthorized | QuotaExceeded | Unreachable
Verdict: TypeAlias = Available | Refusal
