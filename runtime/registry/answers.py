"""Answers that are no success: which verdict each of them is."""

from __future__ import annotations

import json
import re
from contextlib import aclosing
from http import HTTPStatus
from typing import Final

from runtime.registry.credentials import Credential
from runtime.registry.errors import RequestFailed
from runtime.registry.verdict import Cause, NotFound, QuotaExceeded, Refusal, Unauthorized, Unreachable
from runtime.registry.wire import Answer

__all__ = ["MAX_DOCUMENT", "failure"]

# distribution/distribution reads manifests up to 4 MiB; nothing else that is read whole comes near
MAX_DOCUMENT: Final = 4 * 1024 * 1024
# enough for the code and the delay of an error, whatever page a proxy sends
_MAX_ERROR: Final = 16 * 1024
_CODE: Final = re.compile(r"[A-Z_]{3,40}")
_RATIONED: Final = "TOOMANYREQUESTS"


async def failure(answer: Answer, credential: Credential | None, what: str) -> RequestFailed:
    """Make the error of an answer that is no success; reads its body.

    Args:
        answer: of any status.
        credential: that the request was made with.
        what: who answered, to begin the message with.
    """
    body = await _beginning(answer)
    code = _code(body)
    said = f"{what} answered {answer.status} {_phrase(answer.status)}{f' ({code})' if code else ''}"
    if answer.status == 429 or code == _RATIONED:
        limits = answer.refused_limits(body)
        return RequestFailed(QuotaExceeded(limits.retry_after, said), limits)
    return RequestFailed(_verdict(answer.status, said, credential), answer.limits)


def _verdict(status: int, said: str, credential: Credential | None) -> Refusal:
    if status == 404:
        return NotFound(said)
    if status in {401, 403} and credential is None:
        return Unauthorized(
            f"{said} to an anonymous read: either perPrefixFallbackAuth is missing, or there is no such repository, "
            "which some registries say so"
        )
    if status in {401, 403}:
        return Unauthorized(f"{said} to the credential")
    return Unreachable(Cause.STATUS, said)


async def _beginning(answer: Answer) -> bytes:
    """Read as much of a body as an error takes; what breaks off here has said enough with its status."""
    parts, size = [], 0
    try:
        async with aclosing(answer.chunks()) as chunks:
            async for chunk in chunks:
                parts.append(chunk)
                size += len(chunk)
                if size >= _MAX_ERROR:
                    break
    except RequestFailed:
        pass
    return b"".join(parts)[:_MAX_ERROR]


def _code(body: bytes) -> str:
    """Give the first error code of ``{"errors": [{"code": …}]}``, empty if there is none."""
    try:
        document = json.loads(body)
        code = document["errors"][0]["code"].upper()
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError):
        return ""
    return code if _CODE.fullmatch(code) else ""


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "status"
