"""A TCP proxy that misbehaves: it cuts connections after so many bytes, in one direction or the other."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

__all__ = ["Proxy", "proxy"]


@dataclass
class Proxy:
    """The way to a server.

    Attributes:
        cut_up: for the next connections that send more than this: cut there, once each.
        cut_down: likewise for what comes back.
        bytes_up: that went through.
        bytes_down: that came back.
    """

    host: str = ""
    cut_up: list[int] = field(default_factory=list)
    cut_down: list[int] = field(default_factory=list)
    bytes_up: int = 0
    bytes_down: int = 0

    def up(self, count: int) -> None:
        self.bytes_up += count

    def down(self, count: int) -> None:
        self.bytes_down += count


@asynccontextmanager
async def proxy(server_host: str) -> AsyncIterator[Proxy]:
    """Stand in front of a server on loopback until the end of the context."""
    state = Proxy()
    tasks: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        address, _, port = server_host.rpartition(":")
        server_reader, server_writer = await asyncio.open_connection(address, int(port))
        ways = [
            asyncio.create_task(_pump(reader, server_writer, state.cut_up, state.up)),
            asyncio.create_task(_pump(server_reader, writer, state.cut_down, state.down)),
        ]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            pass
        finally:
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
            for end in (writer, server_writer):
                end.transport.abort()
            tasks.discard(task)

    listener = await asyncio.start_server(serve, "127.0.0.1", 0)
    state.host = f"127.0.0.1:{listener.sockets[0].getsockname()[1]}"
    try:
        yield state
    finally:
        listener.close()
        for task in list(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await listener.wait_closed()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, cuts: list[int], count: object) -> None:
    passed = 0
    while data := await reader.read(65536):
        if cuts and passed + len(data) > cuts[0]:
            writer.write(data[: cuts.pop(0) - passed])
            await writer.drain()
            return
        passed += len(data)
        writer.write(data)
        await writer.drain()
        if callable(count):
            count(len(data))
