"""The one place that sends HTTP requests: everything above it knows requests and answers, nothing of the library below.

One request is one request here: nothing is repeated, but for a kept-alive connection that closed before any byte of an
answer, which is tried once more on a new one. Redirects are followed by hand, because an ``Authorization`` header must
not leave the scheme, host and port it was meant for.
"""

from __future__ import annotations

import logging
import os
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping
from contextlib import aclosing, asynccontextmanager, contextmanager
from dataclasses import replace
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Final

import httpcore
import httpx

from compiler.duration import MINUTE, SECOND, Nanoseconds
from runtime.registry.dial import NameNotResolved, StaleConnection, TlsFailed
from runtime.registry.errors import RequestFailed, unreachable
from runtime.registry.limits import NO_LIMITS, Limits, read_limits
from runtime.registry.messages import CLOCKS, Clocks, Request, Sent, Stream, redirect_target
from runtime.registry.pools import CA_FILE, HostPools
from runtime.registry.verdict import Cause, Unreachable

__all__ = ["Answer", "Wire"]

# C3: a transfer on which no byte moved for 2 minutes has failed
_STALL: Final = 2 * MINUTE
_CONNECT: Final = 30 * SECOND
_REDIRECTS: Final = 5
_REDIRECT_STATUSES: Final = frozenset({301, 302, 303, 307, 308})
# reading what is left of a short answer keeps its connection; a long one costs more than a new connection
_WORTH_READING: Final = 64 * 1024

# they write URLs and headers, and the queries of redirects are signatures
for library in ("httpx", "httpcore"):
    logging.getLogger(library).setLevel(logging.WARNING)


class Answer:
    """An HTTP answer whose body has not been read yet."""

    def __init__(self, response: httpx.Response, request: Request, now: int) -> None:
        self._response = response
        self._now = now
        self._read = False
        self.request = request
        self.status = response.status_code
        # names are found in any case
        self.headers: Mapping[str, str] = response.headers
        self.limits = read_limits(self.headers, now, refused=self.status == 429)

    @property
    def url(self) -> str:
        """Where the answer came from, after redirects."""
        return self.request.url

    def refused_limits(self, body: bytes) -> Limits:
        """Read the limits of an answer that turned out to be a refusal for lack of quota."""
        return read_limits(self.headers, self._now, refused=True, body=body)

    def all_headers(self, name: str) -> list[str]:
        """Give a header that may come several times."""
        return self._response.headers.get_list(name)

    @property
    def redirect(self) -> str | None:
        """The absolute URL that the answer points at, None if it is no redirect.

        Raises:
            RequestFailed: it is one, to nowhere.
        """
        if self.status not in _REDIRECT_STATUSES:
            return None
        return redirect_target(self.url, self.headers.get("location", ""))

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """Give the body as it comes, once.

        Raises:
            RequestFailed: it broke off.
        """
        if self._read:
            return
        self._read = True
        with _translated():
            async for chunk in self._response.aiter_raw():
                yield chunk

    async def body(self, limit: int) -> bytes:
        """Read the whole body.

        Raises:
            RequestFailed: it broke off, or has more than ``limit`` bytes.
        """
        parts, size = [], 0
        async with aclosing(self.chunks()) as chunks:
            async for chunk in chunks:
                size += len(chunk)
                if size > limit:
                    raise unreachable(Cause.BROKEN, f"the answer has more than {limit} bytes", self.limits)
                parts.append(chunk)
        return b"".join(parts)

    async def discard(self) -> None:
        """Read what is left if it is short, so that the connection can be used again."""
        try:
            await self.body(_WORTH_READING)
        except RequestFailed:
            await self.close()

    async def close(self) -> None:
        """Let go of the connection; it is used again if the body has been read to its end."""
        await self._response.aclose()


class Wire:
    """Sends requests.

    Args:
        before_request: called right before each request goes out, when its connection stands, however long that took;
            what it raises keeps the request in (W9).
        after_request: told of each request that went out.
        clocks: for durations and for dates.
        environ: where the proxies are named.
        transport: sends, in place of the network.
    """

    def __init__(
        self,
        *,
        before_request: Callable[[], None] = lambda: None,
        after_request: Callable[[Sent], None] = lambda _: None,
        clocks: Clocks = CLOCKS,
        environ: Mapping[str, str] = os.environ,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._before_request = before_request
        self._after_request = after_request
        self._clock = clocks.steady
        self._wall = clocks.wall
        self._client = httpx.AsyncClient(
            transport=transport or HostPools(environ, clocks.steady),
            headers={"User-Agent": "kuik", "Accept-Encoding": "identity"},
            # a registry's session cookie would speak for one repository's credential in the requests of another
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
            timeout=httpx.Timeout(_STALL / SECOND, connect=_CONNECT / SECOND, pool=None),
            # no ~/.netrc; the pools honour the proxies
            trust_env=False,
        )

    async def aclose(self) -> None:
        """Close every connection."""
        await self._client.aclose()

    @asynccontextmanager
    async def follow(self, request: Request) -> AsyncIterator[Answer]:
        """Send a request and follow its redirects; the answer is closed at the end of the context.

        A body that streams is not sent a second time: its redirect is the answer.

        Raises:
            RequestFailed: no answer, or a redirect that leads nowhere.
        """
        for _ in range(_REDIRECTS + 1):
            async with self.send(request) as answer:
                target = None if isinstance(request.body, Stream) else answer.redirect
                if target is None:
                    yield answer
                    return
                await answer.discard()
            request = request.moved_to(target)
            if answer.status == 303 and request.method != "HEAD":
                request = replace(request, method="GET", body=None)
        raise unreachable(Cause.REDIRECT, f"more than {_REDIRECTS} redirects")

    @asynccontextmanager
    async def send(self, request: Request) -> AsyncIterator[Answer]:
        """Send one request; the answer is closed at the end of the context.

        Raises:
            RequestFailed: no answer.
        """
        answer = await self._answer(request)
        try:
            if request.method == "HEAD":
                # there is no body, but only who has read to its end gets the connection back into its pool
                await answer.discard()
            yield answer
        finally:
            await answer.close()

    async def _answer(self, request: Request) -> Answer:
        try:
            return await self._attempt(request)
        except _Stale:
            if isinstance(request.body, Stream):
                raise
        return await self._attempt(request)

    async def _attempt(self, request: Request) -> Answer:
        start = self._clock()
        try:
            response = await self._open(request)
        except RequestFailed as failure:
            cause = getattr(failure.verdict, "cause", None)
            self._tell(request, None, cause, start, NO_LIMITS)
            raise
        answer = Answer(response, request, self._wall())
        self._tell(request, answer.status, None, start, answer.limits)
        return answer

    async def _open(self, request: Request) -> httpx.Response:
        with _translated():
            if not isinstance(request.body, Stream):
                return await self._client.send(self._build(request, request.body, {}), stream=True)
            async with aclosing(request.body.chunks()) as chunks:
                length = {"Content-Length": str(request.body.length)}
                return await self._client.send(self._build(request, chunks, length), stream=True)

    def _build(
        self, request: Request, content: bytes | AsyncIterator[bytes] | None, more: Mapping[str, str]
    ) -> httpx.Request:
        return self._client.build_request(
            request.method,
            request.url,
            headers={**request.headers, **more},
            content=content,
            extensions={CA_FILE: request.registry.ca_file, "trace": self._trace},
        )

    async def _trace(self, event: str, _: object) -> None:
        if event == "http11.send_request_headers.started":
            self._before_request()

    def _tell(
        self, request: Request, status: int | None, cause: Cause | None, start: Nanoseconds, limits: Limits
    ) -> None:
        duration = self._clock() - start
        self._after_request(Sent(request.registry.host, request.method, status, cause, duration, limits))


class _Stale(RequestFailed):
    """The kept-alive connection was closed without a byte of an answer; the request may go once more."""


@contextmanager
def _translated() -> Iterator[None]:
    """Turn the errors of the libraries below into ours."""
    try:
        yield
    except StaleConnection as error:
        raise _Stale(Unreachable(Cause.BROKEN, str(error))) from None
    except (httpx.HTTPError, httpx.InvalidURL, httpcore.NetworkError, httpcore.TimeoutException) as error:
        raise unreachable(*_explain(error)) from None
    except (httpcore.ProtocolError, httpcore.ProxyError, httpcore.UnsupportedProtocol) as error:
        raise unreachable(*_explain(error)) from None


def _explain(error: Exception) -> tuple[Cause, str]:
    text = str(error)
    match error:
        case NameNotResolved():
            return Cause.DNS, text
        case TlsFailed():
            return Cause.TLS, text
        case httpcore.ConnectTimeout():
            return Cause.TIMEOUT, "no connection in time"
        case httpcore.TimeoutException() | httpx.TimeoutException():
            return Cause.TIMEOUT, f"no byte moved for {_STALL // MINUTE} minutes"
        case httpcore.ConnectError() | httpcore.ProxyError():
            return Cause.CONNECT, text or "no connection"
        case httpx.InvalidURL():
            return Cause.REDIRECT, "a URL of the registry's cannot be read"
        case httpx.RemoteProtocolError():
            # httpx itself looks at nothing of an answer but where it redirects to
            return Cause.REDIRECT, "a redirect to a URL that cannot be read"
        case _:
            return Cause.BROKEN, text or "the connection broke"
