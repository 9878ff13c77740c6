"""The HTTP side of a process: metrics, probes, the plan in force. No credential is here, and nothing is written."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final

from aiohttp import web

from compiler.plan import Plan
from compiler.plan_document import to_document
from compiler.render import yaml
from runtime.metrics import CONTENT_TYPE, Metrics

__all__ = ["AddressInUse", "serve"]

log: Final = logging.getLogger(__name__)


class AddressInUse(Exception):
    """The address can't be listened on; the message says which and why."""


@asynccontextmanager
async def serve(
    host: str, port: int, metrics: Metrics, plan: Callable[[], Plan | None], is_ready: Callable[[], bool]
) -> AsyncIterator[int]:
    """Serve while the context lasts; gives the port, which the system chooses for 0.

    Args:
        host: an address of this machine, or all of them.
        port: 0 lets the system choose.
        metrics: to be shown.
        plan: gives the plan in force; None before there is one.
        is_ready: says whether the process is in its place, be it as leader or as standby.

    Raises:
        AddressInUse: another process listens there, or this one may not.
    """

    async def get_metrics(_: web.Request) -> web.Response:
        metrics.collect()
        body = await asyncio.to_thread(metrics.render)
        return web.Response(body=body, headers={"Content-Type": CONTENT_TYPE})

    async def get_plan(_: web.Request) -> web.Response:
        present = plan()
        if present is None:
            return web.Response(status=503, text="there is no plan yet\n")
        text = await asyncio.to_thread(lambda: yaml.dump(to_document(present)))
        return web.Response(text=text, content_type="application/yaml")

    async def get_health(_: web.Request) -> web.Response:
        return web.Response(text="ok\n")

    async def get_readiness(_: web.Request) -> web.Response:
        return web.Response(text="ok\n") if is_ready() else web.Response(status=503, text="starting\n")

    app = web.Application()
    for path, handler in {
        "/metrics": get_metrics,
        "/plan": get_plan,
        "/healthz": get_health,
        "/readyz": get_readiness,
    }.items():
        app.router.add_get(path, handler)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    try:
        site = web.TCPSite(runner, host, port)
        try:
            await site.start()
        except OSError as error:
            raise AddressInUse(f"can't listen on {host}:{port}: {error.strerror or error}") from None
        address = runner.addresses[0]
        log.info("serving", extra={"address": f"{address[0]}:{address[1]}"})
        yield address[1]
    finally:
        await runner.cleanup()
