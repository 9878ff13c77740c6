"""Connections kept alive, one pool for each origin.

The library's single pool looks at every connection of every host for each request, and makes hosts wait for a place in
it. A pool of its own for each origin costs nothing while nobody talks to it, has no limit, and lets each host have its
own certificate authorities and proxy.
"""

from __future__ import annotations

import ssl
import sys
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import takewhile
from pathlib import Path
from typing import Final, TypeAlias

import httpcore
import httpx

from compiler.duration import SECOND, Nanoseconds
from runtime.registry.dial import Dialer, TlsFailed
from runtime.registry.proxies import proxy_for

__all__ = ["CA_FILE", "HostPools"]

# httpcore asks for sniffio with every lock it makes, and a module that isn't there is searched on the whole path each
# time, which takes longer than the rest of a request; None says at once that there is none
if "sniffio" not in sys.modules and find_spec("sniffio") is None:
    sys.modules["sniffio"] = None  # type: ignore[assignment]

# the extension of a request that names its registry's certificate authorities
CA_FILE: Final = "ca_file"
# long enough for the requests of one check or copy; intervals are longer, and thousands of hosts would fill the table
# of open files
_KEEP_ALIVE: Final = 15 * SECOND
# what a copy uses at once, with room
_IDLE_CONNECTIONS: Final = 16
_PoolKey: TypeAlias = tuple[str, str, int | None, str]


@dataclass(slots=True)
class _Pool:
    connections: httpcore.AsyncConnectionPool
    used: Nanoseconds

    def busy(self) -> bool:
        return any(not connection.is_idle() for connection in self.connections.connections)


class HostPools(httpx.AsyncBaseTransport):
    """Sends each request through the pool of its origin.

    Errors are httpcore's own and those of ``dial``; ``wire`` knows both.
    """

    def __init__(self, environ: Mapping[str, str], clock: Callable[[], Nanoseconds]) -> None:
        self._environ = environ
        self._clock = clock
        self._dialer = Dialer()
        self._authorities = _Authorities()
        # the pool used longest ago comes first
        self._pools: OrderedDict[_PoolKey, _Pool] = OrderedDict()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request and give the answer as soon as its headers are there."""
        pool = self._pool(request.url, request.extensions.get(CA_FILE))
        await self._close_unused()
        answer = await pool.handle_async_request(
            httpcore.Request(
                method=request.method.encode(),
                url=httpcore.URL(
                    scheme=request.url.raw_scheme,
                    host=request.url.raw_host,
                    port=request.url.port,
                    target=request.url.raw_path,
                ),
                headers=request.headers.raw,
                content=request.stream,
                extensions=request.extensions,
            )
        )
        return httpx.Response(answer.status, headers=answer.headers, stream=_Body(answer))

    async def aclose(self) -> None:
        """Close every connection."""
        while self._pools:
            await self._pools.popitem()[1].connections.aclose()
        self._dialer.close()

    def _pool(self, url: httpx.URL, ca_file: str | None) -> httpcore.AsyncConnectionPool:
        authorities = self._authorities.version(ca_file) if url.scheme == "https" else ""
        key = (url.scheme, url.host, url.port, authorities)
        pool = self._pools.get(key)
        if pool is None:
            pool = self._pools[key] = _Pool(self._open(url, authorities, ca_file), 0)
        pool.used = self._clock()
        self._pools.move_to_end(key)
        return pool.connections

    def _open(self, url: httpx.URL, authorities: str, ca_file: str | None) -> httpcore.AsyncConnectionPool:
        port = url.port or (443 if url.scheme == "https" else 80)
        return httpcore.AsyncConnectionPool(
            ssl_context=self._authorities.context(authorities, ca_file) if url.scheme == "https" else None,
            proxy=_proxy(proxy_for(url.scheme, url.host, port, self._environ)),
            max_connections=None,
            max_keepalive_connections=_IDLE_CONNECTIONS,
            keepalive_expiry=_KEEP_ALIVE / SECOND,
            network_backend=self._dialer,
        )

    async def _close_unused(self) -> None:
        """Close what has been idle for too long: a pool looks at the age of its connections only when it is used."""
        oldest = self._clock() - _KEEP_ALIVE
        for key, pool in tuple(takewhile(lambda item: item[1].used < oldest, self._pools.items())):
            if pool.busy():
                pool.used = self._clock()
                self._pools.move_to_end(key)
            elif self._pools.pop(key, None) is not None:
                await pool.connections.aclose()


class _Authorities:
    """TLS contexts: one for all hosts that have no authorities of their own, one for each file otherwise.

    Reading the system's authorities takes tens of milliseconds and a megabyte, so it is done once.
    """

    def __init__(self) -> None:
        self._contexts: dict[str, ssl.SSLContext] = {}

    def version(self, ca_file: str | None) -> str:
        """Name the present content of a file, so that a replaced one applies from the next request."""
        if ca_file is None:
            return ""
        try:
            state = Path(ca_file).stat()
        except OSError as error:
            raise TlsFailed(f"caFile {ca_file}: {error.strerror}") from None
        return f"{ca_file}:{state.st_mtime_ns}:{state.st_ino}:{state.st_size}"

    def context(self, version: str, ca_file: str | None) -> ssl.SSLContext:
        if version not in self._contexts:
            context = ssl.create_default_context()
            # Python 3.13 turned this on; no other tool in a cluster refuses authorities over it
            context.verify_flags &= ~ssl.VERIFY_X509_STRICT
            if ca_file is not None:
                _trust(context, ca_file)
            self._contexts = {v: c for v, c in self._contexts.items() if not v.startswith(f"{ca_file}:")}
            self._contexts[version] = context
        return self._contexts[version]


def _trust(context: ssl.SSLContext, ca_file: str) -> None:
    try:
        context.load_verify_locations(ca_file)
    except (OSError, ssl.SSLError) as error:
        raise TlsFailed(f"caFile {ca_file}: {error.strerror or 'no certificate in PEM form'}") from None


class _Body(httpx.AsyncByteStream):
    """The body of an answer; ending or closing it gives the connection back to its pool."""

    def __init__(self, answer: httpcore.Response) -> None:
        self._answer = answer

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._answer.aiter_stream():
            yield chunk

    async def aclose(self) -> None:
        await self._answer.aclose()


def _proxy(url: str | None) -> httpcore.Proxy | None:
    if url is None:
        return None
    try:
        parsed = httpx.URL(url)
    except httpx.InvalidURL:
        raise httpcore.ProxyError("the proxy of the environment is not a URL") from None
    if parsed.scheme not in {"http", "https"}:
        raise httpcore.ProxyError(f"a proxy with {parsed.scheme}:// is not supported; use http:// or https://")
    auth = (parsed.username.encode(), parsed.password.encode()) if parsed.username or parsed.password else None
    return httpcore.Proxy(httpcore.URL(str(parsed.copy_with(userinfo=b""))), auth=auth)
