"""What registries say about their quota: ``Retry-After`` in all its forms, and the ``RateLimit`` headers.

The client only reports. Whether a host is held, and for how long, is decided by the engine (W10).

Forms that are in the wild, and read here:

- ``Retry-After``: seconds, decimals of seconds, and the three HTTP dates of RFC 9110, which are compared with the
  answer's own ``Date`` so that a clock that is off on either side doesn't matter.
- GHCR writes a Go duration into the body: ``toomanyrequests: retry-after: 1.16676ms, allowed: 44000/minute``.
- Docker Hub: ``ratelimit-limit: 100;w=21600`` and ``ratelimit-remaining: 20;w=21600``.
- The IETF's drafts: ``RateLimit-Reset`` in seconds, ``RateLimit: "default";r=50;t=30`` with ``RateLimit-Policy:
  "default";q=100;w=60``; some servers put ``X-`` in front, or a Unix time where seconds should be.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Final

from compiler.duration import SECOND, InvalidDuration, Nanoseconds, parse_duration

__all__ = ["NO_LIMITS", "Limits", "read_limits"]

_NUMBER: Final = re.compile(r"\s*(\d{1,15})(?:\s*[;,].*)?\s*")
_DECIMAL: Final = re.compile(r"\s*(\d{1,15})(?:\.(\d{1,9})\d*)?\s*")
_WINDOW: Final = re.compile(r"[;,]\s*w\s*=\s*(\d{1,9})")
_BODY_DELAY: Final = re.compile(rb"retry-after:\s*([0-9][0-9a-z.\xc2\xb5\xce\xbc]*)", re.IGNORECASE)
# a RateLimit-Reset above this many seconds (in 2001 as a date) can only be a Unix time
_UNIX_TIME: Final = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Limits:
    """What one answer said about the quota; None for what it didn't say.

    Attributes:
        limit: the quota, in the registry's own unit.
        remaining: what is left of it.
        window: the length of the quota's window.
        reset: how long until the quota is filled up again, counted from the answer.
        retry_after: how long to stay away; only from an answer that refused for lack of quota.
    """

    limit: int | None = None
    remaining: int | None = None
    window: Nanoseconds | None = None
    reset: Nanoseconds | None = None
    retry_after: Nanoseconds | None = None

    def updated(self, later: Limits) -> Limits:
        """Give these limits with whatever a later answer said in their place."""
        if later == NO_LIMITS:
            return self
        return Limits(
            *(b if (b := getattr(later, f.name)) is not None else getattr(self, f.name) for f in fields(self))
        )


NO_LIMITS: Final = Limits()


def read_limits(headers: Mapping[str, str], now: int, *, refused: bool = False, body: bytes = b"") -> Limits:
    """Read what an answer says about the quota.

    Args:
        headers: names are looked up in lower case.
        now: the wall clock, in nanoseconds since 1970, for dates where the answer has no ``Date``.
        refused: the answer is a 429 or says TOOMANYREQUESTS; ``Retry-After`` means nothing to us otherwise.
        body: of a refusal, where there is one.
    """
    retry_after = _first(_retry_after(headers, now), _delay_in(body)) if refused else None
    combined = headers.get("ratelimit", "")
    policy = headers.get("ratelimit-policy", "") + "," + combined
    limit_text = _either(headers, "limit")
    limits = Limits(
        limit=_first(_number(limit_text), _parameter("q|limit", policy)),
        remaining=_first(_number(_either(headers, "remaining")), _parameter("r|remaining", combined)),
        window=_seconds(_first(_window(limit_text), _parameter("w", policy))),
        reset=_reset(_first(_number(_either(headers, "reset")), _parameter("t|reset", combined)), now),
        retry_after=retry_after,
    )
    return NO_LIMITS if limits == NO_LIMITS else limits


def _either(headers: Mapping[str, str], name: str) -> str:
    return headers.get(f"ratelimit-{name}") or headers.get(f"x-ratelimit-{name}") or ""


def _first(*candidates: int | None) -> int | None:
    return next((c for c in candidates if c is not None), None)


def _number(text: str) -> int | None:
    match = _NUMBER.fullmatch(text)
    return int(match[1]) if match else None


def _parameter(names: str, text: str) -> int | None:
    match = re.search(rf"(?:^|[;,\s])(?:{names})\s*=\s*(\d{{1,15}})", text)
    return int(match[1]) if match else None


def _window(text: str) -> int | None:
    match = _WINDOW.search(text)
    return int(match[1]) if match else None


def _seconds(count: int | None) -> Nanoseconds | None:
    return None if count is None else count * SECOND


def _reset(count: int | None, now: int) -> Nanoseconds | None:
    if count is None or count < _UNIX_TIME:
        return _seconds(count)
    return max(0, count * SECOND - now)


def _retry_after(headers: Mapping[str, str], now: int) -> Nanoseconds | None:
    text = headers.get("retry-after", "")
    if match := _DECIMAL.fullmatch(text):
        return int(match[1]) * SECOND + int((match[2] or "0").ljust(9, "0"))
    until = _date(text)
    if until is None:
        return None
    return max(0, until - (_date(headers.get("date", "")) or now))


def _date(text: str) -> int | None:
    """Read an HTTP date as nanoseconds since 1970; RFC 9110 has them all in UTC, said or not."""
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()) * SECOND


def _delay_in(body: bytes) -> Nanoseconds | None:
    match = _BODY_DELAY.search(body)
    if match is None:
        return None
    try:
        return parse_duration(match[1].decode("utf-8", "replace").rstrip("."))
    except InvalidDuration:
        return None
