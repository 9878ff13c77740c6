"""Connections: names resolved on threads of our own, addresses raced, and a kept-alive connection that died told apart.

Why not the library's own backend:

- asyncio resolves names on the loop's default executor, a handful of threads that a few dead name servers fill; then
  every other host looks unreachable.
- an error says why in words only, while DNS, TLS and a refused connection are different verdicts.
- one repetition is allowed when a kept-alive connection closes before any byte of an answer, and only the stream itself
  knows whether that is what happened.
"""

from __future__ import annotations

import asyncio
import ipaddress
import os
import socket
import ssl
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, zip_longest
from typing import Any, Final

import httpcore

__all__ = ["Dialer", "NameNotResolved", "StaleConnection", "TlsFailed"]

# threads cost memory only while they are needed; fewer would let slow name servers delay healthy hosts
_RESOLVERS: Final = 256
# RFC 8305, section 5: the delay before the next address is tried beside the first
_HEAD_START: Final = 0.25
# asyncio reads up to 256 KiB from a socket at once; asking for less makes anyio cut and copy it
_READ_BYTES: Final = 256 * 1024
_SocketOptions = Iterable[Any] | None


class NameNotResolved(httpcore.ConnectError):
    """The host's name has no address, or no name server answers."""


class TlsFailed(httpcore.ConnectError):
    """The handshake failed, most often over a certificate."""


class StaleConnection(httpcore.ReadError):
    """A connection that had served before closed without a byte of an answer."""


class Dialer(httpcore.AsyncNetworkBackend):
    """Opens connections."""

    def __init__(self) -> None:
        self._backend = httpcore.AnyIOBackend()
        self._resolvers = ThreadPoolExecutor(_RESOLVERS, thread_name_prefix="resolve")

    def close(self) -> None:
        """Let go of the threads, without waiting for name servers that don't answer."""
        self._resolvers.shutdown(wait=False, cancel_futures=True)

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109  the base class has it so
        local_address: str | None = None,  # noqa: ARG002
        socket_options: _SocketOptions = None,  # noqa: ARG002
    ) -> httpcore.AsyncNetworkStream:
        """Connect to the first address of a host that answers.

        Raises:
            NameNotResolved: there is no address.
            httpcore.ConnectError: no address takes the connection.
            httpcore.ConnectTimeout: all of it took too long.
        """
        try:
            async with asyncio.timeout(timeout):
                return _Stream(await self._race(await self._addresses(host), port))
        except TimeoutError:
            raise httpcore.ConnectTimeout(f"no connection to {host}:{port} in time") from None

    async def sleep(self, seconds: float) -> None:
        """Sleep."""
        await self._backend.sleep(seconds)

    async def _addresses(self, host: str) -> Sequence[str]:
        """Give the addresses of a host, the two families in turn (RFC 8305, section 4)."""
        try:
            return (str(ipaddress.ip_address(host)),)
        except ValueError:
            pass
        try:
            found = await asyncio.get_running_loop().run_in_executor(self._resolvers, _look_up, host)
        except (OSError, UnicodeError) as error:
            raise NameNotResolved(f"{host}: {getattr(error, 'strerror', None) or error}") from None
        first = found[0][0]
        preferred = [address for family, address in found if family == first]
        others = [address for family, address in found if family != first]
        return [a for a in chain.from_iterable(zip_longest(preferred, others)) if a is not None]

    async def _race(self, addresses: Sequence[str], port: int) -> httpcore.AsyncNetworkStream:
        if len(addresses) == 1:
            return await self._connect(addresses[0], port)
        waiting = list(reversed(addresses))
        running: set[asyncio.Task[httpcore.AsyncNetworkStream]] = set()
        failure: BaseException = httpcore.ConnectError(f"no address takes a connection on port {port}")
        try:
            while waiting or running:
                if waiting:
                    running.add(asyncio.create_task(self._connect(waiting.pop(), port)))
                head_start = _HEAD_START if waiting else None
                done, running = await asyncio.wait(running, timeout=head_start, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    if (error := task.exception()) is None:
                        running |= done - {task}
                        return task.result()
                    failure = error
        finally:
            await _abandon(running)
        raise failure

    async def _connect(self, address: str, port: int) -> httpcore.AsyncNetworkStream:
        try:
            return await self._backend.connect_tcp(address, port)
        except httpcore.ConnectError as error:
            raise httpcore.ConnectError(f"no connection to port {port}: {_first_cause(error)}") from None


async def _abandon(tasks: Iterable[asyncio.Task[httpcore.AsyncNetworkStream]]) -> None:
    """Cancel the connections that lost, and close those that were made in the same instant."""
    tasks = list(tasks)
    for task in tasks:
        task.cancel()
    for outcome in await asyncio.gather(*tasks, return_exceptions=True):
        if not isinstance(outcome, BaseException):
            await outcome.aclose()


def _look_up(host: str) -> list[tuple[int, str]]:
    found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return list(dict.fromkeys((int(family), str(address[0])) for family, _, _, _, address in found))


class _Stream(httpcore.AsyncNetworkStream):
    """A connection that remembers whether it has served, and whether the present request has had a byte of answer."""

    def __init__(self, stream: httpcore.AsyncNetworkStream) -> None:
        self._stream = stream
        self._heard = False
        self._served = False

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109
        """Read, more than asked where it is there: the parser above has no limit of its own."""
        try:
            data = await self._stream.read(max(max_bytes, _READ_BYTES), timeout)
        except httpcore.ReadError:
            self._refuse_if_stale()
            raise
        if not data:
            self._refuse_if_stale()
        self._heard |= bool(data)
        return data

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ASYNC109
        """Write; the first write after an answer begins the next request."""
        self._served |= self._heard
        self._heard = False
        await self._stream.write(buffer, timeout)

    def _refuse_if_stale(self) -> None:
        if self._served and not self._heard:
            raise StaleConnection("the kept-alive connection was closed")

    async def aclose(self) -> None:
        """Close."""
        await self._stream.aclose()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ASYNC109
    ) -> httpcore.AsyncNetworkStream:
        """Shake hands.

        Raises:
            TlsFailed: with what the TLS library says.
        """
        try:
            return _Stream(await self._stream.start_tls(ssl_context, server_hostname, timeout))
        except httpcore.ConnectError as error:
            raise TlsFailed(_why(error)) from None

    def get_extra_info(self, info: str) -> Any:
        """Pass the question on."""
        return self._stream.get_extra_info(info)


def _first_cause(error: BaseException) -> str:
    while error.__cause__ is not None:
        error = error.__cause__
    number = getattr(error, "errno", None)
    return (os.strerror(number) if number else str(error)).lower()


def _why(error: BaseException) -> str:
    """Say what OpenSSL said, without its file and line."""
    cause = error.__cause__
    if isinstance(cause, ssl.SSLCertVerificationError):
        return f"the certificate was refused: {cause.verify_message}"
    if isinstance(cause, ssl.SSLError):
        return (cause.reason or str(cause)).lower().replace("_", " ")
    return "the connection was closed in the handshake"
