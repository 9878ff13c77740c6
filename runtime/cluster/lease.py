"""The lease: who leads among several processes of one cluster, in a ``coordination.k8s.io/v1`` Lease.

The rules are client-go's. Whether another's lease has run out is judged by when this process saw it change, never by
the times in it: clocks of two machines differ. A renewal is a write with the version that was read last, so it can only
succeed while nobody else wrote. Each request is bounded by half the renew deadline: one that hangs leaves time for
another.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import uuid
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any, Final

from compiler.duration import SECOND, Nanoseconds
from runtime.clock import Clock, timestamp
from runtime.cluster.api import Api, Call
from runtime.cluster.errors import ClusterError, Conflict, LeadershipLost, NotFound
from runtime.cluster.leadership import Leadership, LeaseTimes

__all__ = ["LEASE_NAME", "lead"]

log: Final = logging.getLogger(__name__)

LEASE_NAME: Final = "kuik-reconciler"


@asynccontextmanager
async def lead(api: Api, namespace: str, times: LeaseTimes, clock: Clock) -> AsyncIterator[Leadership]:
    """Wait for the lease, keep it while the context lasts, and release it at the end unless it was lost."""
    lease = _Lease(api, namespace, times, clock)
    leadership = await lease.take()
    keeping = asyncio.create_task(lease.keep(leadership))
    try:
        yield leadership
    finally:
        keeping.cancel()
        await asyncio.gather(keeping, return_exceptions=True)
        if not leadership.is_lost:
            await lease.release()


class _Lease:
    """The Lease object as this process sees it."""

    def __init__(self, api: Api, namespace: str, times: LeaseTimes, clock: Clock) -> None:
        self._api, self._times, self._clock = api, times, clock
        self._collection = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
        self._path = f"{self._collection}/{LEASE_NAME}"
        # of its own for each process and start: a lease is never taken over from oneself
        self._identity = f"{socket.gethostname()}_{uuid.uuid4()}"
        self._seen: dict[str, Any] = {}
        self._seen_at: Nanoseconds = 0

    async def take(self) -> Leadership:
        """Wait until the lease can be had, and take it."""
        while True:
            start = self._clock()
            try:
                if await self._try_to_take():
                    return Leadership(self._times, self._transitions(), self._clock(), start)
            except ClusterError as error:
                log.warning("the lease can't be had", extra={"lease": self._path, "reason": str(error)})
            await asyncio.sleep(self._times.retry / SECOND)

    async def _try_to_take(self) -> bool:
        try:
            await self._look()
        except NotFound:
            spec = {**self._spec_of_ours(), "acquireTime": timestamp(), "leaseTransitions": 0}
            return await self._write("POST", self._collection, {"metadata": {"name": LEASE_NAME}, "spec": spec})
        if self._holder() not in {"", self._identity} and self._clock() < self._seen_at + self._lasts():
            return False
        # a request that timed out may have arrived all the same: then the holder is us
        transitions = self._transitions() + (self._holder() != self._identity)
        spec = {**self._spec_of_ours(), "acquireTime": timestamp(), "leaseTransitions": transitions}
        return await self._write("PUT", self._path, {**self._seen, "spec": spec})

    async def keep(self, leadership: Leadership) -> None:
        """Renew until that fails for too long, or another holds the lease."""
        while True:
            await asyncio.sleep(self._times.retry / SECOND)
            start = self._clock()
            left = leadership.runs_out_at - start
            if left <= 0:
                leadership.lose("the lease could not be renewed in time")
                return
            try:
                async with asyncio.timeout(left / SECOND):
                    await self._renew()
            except LeadershipLost as lost:
                leadership.lose(str(lost))
                return
            except (ClusterError, TimeoutError) as error:
                log.warning(
                    "the lease was not renewed", extra={"lease": self._path, "reason": str(error) or "out of time"}
                )
            else:
                # from the start: the others count from when they saw it, which is later
                leadership.renewed(start)

    async def _renew(self) -> None:
        """Write a new time; when somebody else wrote meanwhile, look who holds it now.

        Raises:
            LeadershipLost: it isn't us. Deleted counts as lost: another may have made a new one already.
            ClusterError: no telling; to be tried again.
        """
        for _ in range(2):
            try:
                if await self._write("PUT", self._path, {**self._seen, "spec": self._renewed()}):
                    return
                await self._look()
            except NotFound:
                raise LeadershipLost("the lease was deleted") from None
            if self._holder() != self._identity:
                raise LeadershipLost(f"the lease is held by {self._holder() or 'nobody'}")
        raise Conflict("somebody else keeps writing the lease")

    async def release(self) -> None:
        """Give the lease away, so that another can take it at once; failing that it runs out."""
        spec = {**self._renewed(), "holderIdentity": "", "leaseDurationSeconds": 1}
        with suppress(ClusterError):
            await self._write("PUT", self._path, {**self._seen, "spec": spec})

    async def _look(self) -> None:
        """Read the lease, and note when it was first seen to be as it is."""
        found = await self._api.send(Call(self._path, timeout=self._times.renew_deadline // 2))
        if found.get("spec") != self._seen.get("spec"):
            if (holder := (found.get("spec") or {}).get("holderIdentity")) != self._holder():
                log.info("the lease has a holder", extra={"lease": self._path, "holder": holder or "nobody"})
            self._seen_at = self._clock()
        self._seen = found

    async def _write(self, method: str, path: str, lease: Mapping[str, Any]) -> bool:
        """Write the lease if nobody has since it was read; False when somebody has."""
        try:
            self._seen = await self._api.send(Call(path, method, body=lease, timeout=self._times.renew_deadline // 2))
        except Conflict:
            return False
        self._seen_at = self._clock()
        return True

    def _spec_of_ours(self) -> dict[str, Any]:
        return {
            "holderIdentity": self._identity,
            # whole seconds, and at least one, is what the API takes
            "leaseDurationSeconds": -(-self._times.lease // SECOND),
            "renewTime": timestamp(),
        }

    def _renewed(self) -> dict[str, Any]:
        return {**self._seen["spec"], **self._spec_of_ours()}

    def _holder(self) -> str:
        return (self._seen.get("spec") or {}).get("holderIdentity") or ""

    def _lasts(self) -> Nanoseconds:
        """How long the holder's lease lasts, as the holder has it: its configuration may differ from ours."""
        seconds = (self._seen.get("spec") or {}).get("leaseDurationSeconds")
        return seconds * SECOND if isinstance(seconds, int) else self._times.lease

    def _transitions(self) -> int:
        return (self._seen.get("spec") or {}).get("leaseTransitions") or 0
