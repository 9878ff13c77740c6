"""A registry that does what a good one never does: it answers what a test tells it to, byte by byte if need be."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

__all__ = ["Hostile", "Reply", "Seen", "hostile"]


@dataclass(frozen=True)
class Seen:
    """A request as it came."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]

    def __str__(self) -> str:
        return f"{self.method} {self.target}"


@dataclass(frozen=True)
class Reply:
    """An answer.

    Attributes:
        length: what Content-Length says, if that isn't the truth.
        before: awaited before the answer is sent.
        hang: nothing follows the bytes that were sent, but the connection stays open.
        close: the connection is closed behind the answer.
        raw: sent in place of everything else.
    """

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    length: int | None = None
    before: Callable[[], Awaitable[object]] | None = None
    hang: bool = False
    close: bool = False
    raw: bytes | None = None

    def encode(self, method: str) -> bytes:
        if self.raw is not None:
            return self.raw
        length = len(self.body) if self.length is None else self.length
        headers = {"Content-Length": str(length), **self.headers}
        head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        return f"HTTP/1.1 {self.status} Status\r\n{head}\r\n".encode() + (b"" if method == "HEAD" else self.body)


Answer = Callable[[Seen], Reply] | Reply


class Hostile:
    """What was asked, and what to answer: by ``METHOD path``, several answers in turn, the last one for ever.

    Attributes:
        requests: whatever came, in order.
        connections: how many there were.
        otherwise: answers whatever ``answers`` has nothing for.
        cut: gives the number of bytes of a request's body that are taken before the connection is closed, or None.
        when_cut: told of such a request, with the bytes that were taken.
    """

    def __init__(self, answers: Mapping[str, Answer | list[Answer]]) -> None:
        self.answers = {key: list(a) if isinstance(a, list) else [a] for key, a in answers.items()}
        self.requests: list[Seen] = []
        self.connections = 0
        self.host = ""
        self.otherwise: Callable[[Seen], Reply] = lambda _: Reply(404)
        self.cut: Callable[[Seen], int | None] = lambda _: None
        self.when_cut: Callable[[Seen], object] = lambda _: None

    def asked(self, method: str = "") -> list[str]:
        return [str(seen) for seen in self.requests if seen.method == method or not method]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while seen := await self._read(reader):
                self.requests.append(seen)
                if not await self._answer(seen, writer):
                    return
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError, ssl.SSLError):
            pass
        finally:
            writer.close()

    async def _read(self, reader: asyncio.StreamReader) -> Seen | None:
        head = await reader.readuntil(b"\r\n\r\n") if not reader.at_eof() else b""
        if not head:
            return None
        first, *lines = head.decode().split("\r\n")
        method, target, _ = first.split(" ")
        headers = {n.lower(): v.strip() for n, _, v in (line.partition(":") for line in lines if line)}
        length = int(headers.get("content-length", 0))
        taken = self.cut(Seen(method, target, headers, b""))
        if taken is None:
            return Seen(method, target, headers, await reader.readexactly(length))
        seen = Seen(method, target, headers, await reader.readexactly(taken))
        self.requests.append(seen)
        self.when_cut(seen)
        return None

    async def _answer(self, seen: Seen, writer: asyncio.StreamWriter) -> bool:
        """Answer; False ends the connection."""
        answers = self.answers.get(f"{seen.method} {seen.path}") or [self.otherwise]
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        reply = answer(seen) if callable(answer) else answer
        if reply.before is not None:
            await reply.before()
        writer.write(reply.encode(seen.method))
        await writer.drain()
        if reply.hang:
            await asyncio.Event().wait()
        short = reply.length is not None and reply.length > len(reply.body) and seen.method != "HEAD"
        return not (reply.close or short or reply.raw is not None)


@asynccontextmanager
async def hostile(
    answers: Mapping[str, Answer | list[Answer]], tls: ssl.SSLContext | None = None
) -> AsyncIterator[Hostile]:
    """Serve on a free port of loopback until the end of the context."""
    registry = Hostile(answers)
    tasks: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        task.add_done_callback(tasks.discard)
        await registry.serve(reader, writer)

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls)
    registry.host = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield registry
    finally:
        server.close()
        for task in list(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await server.wait_closed()
