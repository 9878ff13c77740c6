"""A server that says what a test wants it to say, where a real one can't be brought to say it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

__all__ = ["HANG", "Said", "Scripted", "scripted"]

HANG = b"hang"
"""As the last part of an answer: the connection stays open."""


@dataclass(frozen=True, slots=True)
class Said:
    """An answer: a status, headers, and parts of a body, sent one by one."""

    parts: tuple[bytes, ...] = ()
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)

    @classmethod
    def json(cls, value: Any, status: int = 200, **headers: str) -> Said:
        return cls((json.dumps(value).encode(),), status, headers)

    @classmethod
    def events(cls, *events: Any, hang: bool = True) -> Said:
        lines = tuple(json.dumps(event).encode() + b"\n" for event in events)
        return cls((*lines, HANG) if hang else lines)


@dataclass(slots=True)
class Scripted:
    """What was asked: (path, query), in order; and the kubeconfig that leads here."""

    kubeconfig: str = ""
    asked: list[tuple[str, dict[str, str]]] = field(default_factory=list)

    def watched(self) -> list[str]:
        """Give the versions from which there was a watch."""
        return [query["resourceVersion"] for _, query in self.asked if "watch" in query]

    def lists(self) -> int:
        return sum("watch" not in query and "continue" not in query for _, query in self.asked)


@asynccontextmanager
async def scripted(folder: Path, answer: Callable[[str, dict[str, str]], Said]) -> AsyncIterator[Scripted]:
    """Serve answers on loopback."""
    server, serving = Scripted(), set[asyncio.Task[Any]]()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        serving.add(asyncio.current_task())  # type: ignore[arg-type]
        try:
            await respond(reader, writer)
        finally:
            writer.close()

    async def respond(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.IncompleteReadError):
            target = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split(" ", 2)[1]
            url = urlsplit(target)
            query = {key: values[0] for key, values in parse_qs(url.query).items()}
            server.asked.append((url.path, query))
            said = answer(url.path, query)
            lines = [f"HTTP/1.1 {said.status} Reason", "Connection: close"]
            lines += [f"{name.replace('_', '-')}: {value}" for name, value in said.headers.items()]
            writer.write("\r\n".join((*lines, "", "")).encode())
            for part in said.parts:
                if part is HANG:
                    await reader.read()
                    break
                writer.write(part)
                await writer.drain()

    listening = await asyncio.start_server(serve, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": url}}],
        "users": [{"name": "u", "user": {"token": "t"}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }
    path = folder / "kubeconfig"
    path.write_text(json.dumps(config))
    server.kubeconfig = str(path)
    try:
        yield server
    finally:
        listening.close()
        for task in serving:
            task.cancel()
        await asyncio.gather(*serving, return_exceptions=True)
