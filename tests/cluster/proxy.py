"""A TCP proxy that misbehaves on demand: between kuik and a real API server, whose own network never does."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from tests.cluster.api_server import ApiServer

__all__ = ["Proxy", "Request", "proxied"]


@dataclass(frozen=True, slots=True)
class Request:
    """The head of a request that came by."""

    method: str
    target: str
    at: float

    @property
    def path(self) -> str:
        return urlsplit(self.target).path

    @property
    def is_watch(self) -> bool:
        return "watch=true" in self.target


Answer = tuple[int, dict[str, str]]


@dataclass(slots=True)
class Proxy:
    """Plain HTTP towards kuik, TLS towards the server; one request a connection, so that each can be seen and cut.

    Attributes:
        kubeconfig: names the proxy in place of the server.
        requests: all that came by.
        answer: given a request, a status and headers to answer in the server's place; None lets it pass.
        is_down: new connections are closed at once.
        is_mute: nothing passes any more, in either direction, and nothing is closed: a network that is gone.
    """

    server: ApiServer
    kubeconfig: str = ""
    requests: list[Request] = field(default_factory=list)
    answer: Callable[[Request], Answer | None] = lambda _: None
    is_down: bool = False
    is_mute: bool = False
    _open: set[asyncio.StreamWriter] = field(default_factory=set)

    def cut(self) -> int:
        """Cut every open connection without a word, and say how many there were."""
        writers = [*self._open]
        for writer in writers:
            writer.transport.abort()
        return len(writers)

    async def keep_cutting(self) -> None:
        """Cut every connection as soon as it is there."""
        while True:
            self.cut()
            await asyncio.sleep(0.005)

    def watches(self, path: str = "") -> list[Request]:
        return [r for r in self.requests if r.is_watch and r.path.endswith(path)]

    def lists(self, path: str) -> list[Request]:
        """Give the lists; their further pages are no lists of their own."""
        gets = (r for r in self.requests if r.method == "GET" and r.path.endswith(path))
        return [r for r in gets if not r.is_watch and "continue=" not in r.target]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open.add(writer)
        try:
            if not self.is_down:
                await self._one(reader, writer)
        except (OSError, asyncio.IncompleteReadError, ssl.SSLError):
            pass
        finally:
            self._open.discard(writer)
            writer.close()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        method, target, _ = head.decode("latin-1").split(" ", 2)
        request = Request(method, target, asyncio.get_running_loop().time())
        self.requests.append(request)
        if (answer := self.answer(request)) is not None:
            await self._answer(answer, reader, writer)
            return
        url = urlsplit(self.server.url)
        context = ssl._create_unverified_context()
        upstream, upward = await asyncio.open_connection(url.hostname, url.port, ssl=context)
        self._open.add(upward)
        try:
            # closed after one answer, so that the next request is seen too
            upward.write(head.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
            async with asyncio.TaskGroup() as group:
                up = group.create_task(self._pass(reader, upward))
                group.create_task(self._pass(upstream, writer)).add_done_callback(lambda _: up.cancel())
        finally:
            self._open.discard(upward)
            upward.close()

    async def _answer(self, answer: Answer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        status, headers = answer
        body = json.dumps({"kind": "Status", "message": "the proxy says no", "code": status}).encode()
        lines = [f"HTTP/1.1 {status} No", f"Content-Length: {len(body)}", "Connection: close"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        writer.write("\r\n".join((*lines, "", "")).encode() + body)
        await writer.drain()
        writer.write_eof()
        await reader.read()

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await reader.read(65536):
                while self.is_mute:  # noqa: ASYNC110  a network has no event
                    await asyncio.sleep(0.02)
                writer.write(data)
                await writer.drain()
            if writer.can_write_eof():
                writer.write_eof()


@asynccontextmanager
async def proxied(server: ApiServer, folder: Path, context: str = "admin") -> AsyncIterator[Proxy]:
    """Run a proxy in front of a server; its kubeconfig has the one context."""
    proxy = Proxy(server)
    listening = await asyncio.start_server(proxy.serve, "127.0.0.1", 0, limit=2**20)
    port = listening.sockets[0].getsockname()[1]
    token = {"admin": server.admin_token, "kuik": server.kuik_token}[context]
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "proxy", "cluster": {"server": f"http://127.0.0.1:{port}"}}],
        "users": [{"name": context, "user": {"token": token}}],
        "contexts": [{"name": context, "context": {"cluster": "proxy", "user": context}}],
        "current-context": context,
    }
    path = folder / f"kubeconfig-{port}"
    path.write_text(json.dumps(config))
    proxy.kubeconfig = str(path)
    try:
        yield proxy
    finally:
        listening.close()
        proxy.is_mute = False
        proxy.cut()
        await asyncio.sleep(0)
