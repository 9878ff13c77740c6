"""What goes over the wire and what is told of it, as values; and the border that credentials don't cross.

Nothing here knows the HTTP library.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final
from urllib.parse import urljoin, urlsplit

from compiler.duration import Nanoseconds
from runtime.registry.errors import unreachable
from runtime.registry.limits import Limits
from runtime.registry.places import Registry
from runtime.registry.verdict import Cause

__all__ = ["CLOCKS", "Clocks", "Request", "Sent", "Stream", "origin", "redirect_target"]


@dataclass(frozen=True, slots=True)
class Clocks:
    """The two clocks that a client needs, in nanoseconds.

    Attributes:
        steady: only grows, from any start; tokens expire by it.
        wall: since 1970; dates in answers are compared with it where the answer says no date of its own.
    """

    steady: Callable[[], Nanoseconds] = time.monotonic_ns
    wall: Callable[[], int] = time.time_ns


CLOCKS: Final = Clocks()


@dataclass(frozen=True, slots=True)
class Stream:
    """A body that is never whole in memory.

    Attributes:
        length: in bytes.
        chunks: starts the body; called once for each attempt to send it.
    """

    length: int
    chunks: Callable[[], AsyncGenerator[bytes, None]]


@dataclass(frozen=True, slots=True)
class Request:
    """One HTTP request; what may hold a credential is not shown."""

    method: str
    url: str = field(repr=False)
    registry: Registry
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    body: bytes | Stream | None = field(default=None, repr=False)

    def with_authorization(self, value: str | None) -> Request:
        """Give the request with this ``Authorization``, or as it is."""
        return self if value is None else replace(self, headers={**self.headers, "Authorization": value})

    def moved_to(self, url: str) -> Request:
        """Give the request for another URL; what was meant for this origin stays here."""
        if origin(url) == origin(self.url):
            return replace(self, url=url)
        return replace(self, url=url, headers={k: v for k, v in self.headers.items() if k != "Authorization"})


@dataclass(frozen=True, slots=True)
class Sent:
    """What went over the wire, for metrics and logs.

    Attributes:
        registry: the canonical host that the request was made for; a redirect or token endpoint counts for it too.
        status: of the answer, None when there was none.
        cause: why there was none.
        duration: until the headers of the answer were there.
    """

    registry: str
    method: str
    status: int | None
    cause: Cause | None
    duration: Nanoseconds
    limits: Limits


def origin(url: str) -> tuple[str, str, int]:
    """Give scheme, host and port of a URL: the border that credentials don't cross.

    Raises:
        RequestFailed: the URL has none.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise unreachable(Cause.REDIRECT, "a URL of the registry's cannot be read") from None
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise unreachable(Cause.REDIRECT, f'a URL of the registry\'s has the scheme "{parts.scheme}"')
    return parts.scheme, parts.hostname, port or (443 if parts.scheme == "https" else 80)


def redirect_target(base: str, location: str) -> str:
    """Resolve a Location; a user name in it is not ours and is dropped."""
    if not location:
        raise unreachable(Cause.REDIRECT, "a redirect without a Location")
    try:
        parts = urlsplit(urljoin(base, location))
    except ValueError:
        raise unreachable(Cause.REDIRECT, "a redirect to a URL that cannot be read") from None
    url = parts._replace(netloc=parts.netloc.rpartition("@")[2], fragment="").geturl()
    origin(url)
    return url
