"""The exceptions of this package; no error of an HTTP library leaves it.

::

    RegistryError
    ├── RequestFailed        a request got no usable answer; .verdict says what that means for the image
    ├── CopyFailed           a copy ended early; .reason is what the status shows
    └── InvalidDockerConfig  a config.json that can't be read

What ``before_request`` raises passes through untouched: it is the caller's own. Neither messages nor ``repr`` carry
credentials, tokens or the query of a URL, where signatures and tokens travel.
"""

from __future__ import annotations

from enum import StrEnum

from runtime.registry.limits import NO_LIMITS, Limits
from runtime.registry.verdict import Cause, QuotaExceeded, Refusal, Unauthorized, Unreachable

__all__ = [
    "CopyFailed",
    "CopyReason",
    "InvalidDockerConfig",
    "RegistryError",
    "RequestFailed",
    "source_failed",
    "target_failed",
    "unreachable",
]


class RegistryError(Exception):
    """Anything that this package raises."""


class RequestFailed(RegistryError):
    """A request got no usable answer.

    Attributes:
        verdict: what it means.
        limits: what the registry said about its quota in the same answer.
    """

    def __init__(self, verdict: Refusal, limits: Limits = NO_LIMITS) -> None:
        super().__init__(verdict.message)
        self.verdict = verdict
        self.limits = limits


class CopyReason(StrEnum):
    """Why a copy failed, in the words of the status."""

    SOURCE_UNAVAILABLE = "SourceUnavailable"
    QUOTA_EXCEEDED = "QuotaExceeded"
    AUTH_FAILED = "AuthFailed"
    PUSH_FAILED = "PushFailed"
    TIMEOUT = "Timeout"
    DIGEST_MISMATCH = "DigestMismatch"


class CopyFailed(RegistryError):
    """A copy ended early; nothing incomplete is visible under a tag.

    Attributes:
        reason: what the status shows.
        verdict: what the *source* said; None when the fault lies with the destination or with time.
        limits: what the source said about its quota.
    """

    def __init__(
        self, reason: CopyReason, message: str, verdict: Refusal | None = None, limits: Limits = NO_LIMITS
    ) -> None:
        super().__init__(message)
        self.reason = reason
        self.verdict = verdict
        self.limits = limits


class InvalidDockerConfig(RegistryError, ValueError):
    """The text is no Docker config.json; the message names the entry, never its content."""


def unreachable(cause: Cause, message: str, limits: Limits = NO_LIMITS) -> RequestFailed:
    """Make the error of an answer that can't be used."""
    return RequestFailed(Unreachable(cause, message), limits)


def source_failed(failed: RequestFailed) -> CopyFailed:
    """Say what a failed read of the source means for a copy; a stall is a matter of time (C3)."""
    match failed.verdict:
        case Unauthorized():
            reason = CopyReason.AUTH_FAILED
        case QuotaExceeded():
            reason = CopyReason.QUOTA_EXCEEDED
        case Unreachable(cause=Cause.DIGEST_MISMATCH):
            reason = CopyReason.DIGEST_MISMATCH
        case Unreachable(cause=Cause.TIMEOUT):
            reason = CopyReason.TIMEOUT
        case _:
            reason = CopyReason.SOURCE_UNAVAILABLE
    return CopyFailed(reason, f"source: {failed}", failed.verdict, failed.limits)


def target_failed(failed: RequestFailed) -> CopyFailed:
    """Say what a failed request to the destination means for a copy; it says nothing of the source."""
    match failed.verdict:
        case Unauthorized():
            reason = CopyReason.AUTH_FAILED
        case Unreachable(cause=Cause.DIGEST_MISMATCH):
            reason = CopyReason.DIGEST_MISMATCH
        case Unreachable(cause=Cause.TIMEOUT):
            reason = CopyReason.TIMEOUT
        case _:
            reason = CopyReason.PUSH_FAILED
    return CopyFailed(reason, f"destination: {failed}")
