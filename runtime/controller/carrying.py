"""Carries out reads by the plan in force, and tells the log, the metrics and the findings what came of them (H3)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from compiler.duration import SECOND, Nanoseconds, format_duration
from compiler.plan import Copy, HostPlan, Operation
from compiler.resources import ImageMirror
from runtime.controller.findings import Findings
from runtime.controller.instruments import Instruments
from runtime.controller.losses import Losses
from runtime.controller.pacing import NeverBegan
from runtime.controller.preparing import Prepared
from runtime.controller.reading import Answer, Reader
from runtime.pacing import Read, Response

__all__ = ["Carrier"]

log: Final = logging.getLogger(__name__)

_RECORDED_WITHIN: Final = 30 * SECOND
"""How long a copy waits for its repository to be recorded; its window is lost then, its place is not."""


class Carrier:
    """Carries out what the engine decides.

    Args:
        reader: asks the registries.
        findings: remember what was found.
        instruments: count and measure it.
        record: writes the status of an owner, and returns when that is done.

    Attributes:
        losses: the windows that reads have cost.
    """

    def __init__(
        self, reader: Reader, findings: Findings, instruments: Instruments, record: Callable[[str], Awaitable[None]]
    ) -> None:
        self.losses = Losses()
        self._reader, self._findings, self._record = reader, findings, record
        self._metrics, self._clock = instruments.metrics, instruments.clocks.boot
        self._prepared: Prepared | None = None
        self._hosts: Mapping[str, HostPlan] = {}

    def follow(self, prepared: Prepared) -> None:
        """Read by another plan from the next image on."""
        self._prepared = prepared
        self._hosts = {host.host: host for host in prepared.plan.hosts}

    async def carry_out(self, read: Read) -> Response:
        """Read one image.

        Raises:
            NeverBegan: nothing was asked, because the host or the owner is in no plan any more, or leadership is gone.
        """
        prepared, host = self._prepared, self._hosts.get(read.host)
        if prepared is None or host is None:
            raise NeverBegan(f"{read.host} is in no plan any more")
        if read.operation is Operation.COPY:
            return await self._copy(read, host, prepared)
        start = self._clock()
        answer = await self._reader.check(read, host, prepared.watched.get(read.image))
        self._tell(read, answer, self._clock() - start)
        return answer.response

    async def _copy(self, read: Read, host: HostPlan, prepared: Prepared) -> Response:
        mirror = prepared.mirrors.get(read.owner)
        if mirror is None or read.copy is None:
            raise NeverBegan(f"{read.owner} is gone")
        await self._record_repository(mirror, read.copy)
        start = self._clock()
        answer = await self._reader.copy(read, host, mirror, prepared.platforms)
        duration = self._clock() - start
        if answer.response.failure is None:
            if answer.response.digest is not None:
                self._findings.ledger.copied(read.owner, read.image, answer.response.digest)
            self._metrics.copied(read.host, duration / SECOND)
        self._tell(read, answer, duration)
        return answer.response

    async def _record_repository(self, mirror: ImageMirror, copy: Copy) -> None:
        """Let status name a repository before anything is pushed into it: a crash must not leave one unknown."""
        if not self._findings.about_to_write(mirror.owner, copy):
            return
        try:
            async with asyncio.timeout(_RECORDED_WITHIN / SECOND):
                await self._record(mirror.owner)
        except TimeoutError:
            self._findings.not_written(mirror.owner, copy)
            raise NeverBegan(f"status was not written within {format_duration(_RECORDED_WITHIN)}") from None

    def _tell(self, read: Read, answer: Answer, duration: Nanoseconds) -> None:
        if answer.limits is not None:
            self._metrics.read(read.host, read.operation, answer.result, duration / SECOND)
            self._metrics.rationed(read.host, answer.limits.limit, answer.limits.remaining)
        log.info(
            _message(read, answer),
            extra={
                "host": read.host,
                "window": read.number,
                "owner": read.owner,
                "image": read.image,
                "result": answer.result,
                "seconds": round(duration / SECOND, 3),
                "lost": self.losses.take(read.host, read.operation) or None,
                "detail": answer.response.detail or None,
            },
        )


def _message(read: Read, answer: Answer) -> str:
    if read.operation is Operation.CHECK:
        return "checked"
    return "copied" if answer.response.failure is None else "copy failed"
