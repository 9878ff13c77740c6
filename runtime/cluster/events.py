"""Events: what people see beside an object in ``kubectl describe``.

The same event again is counted in the one that is there, as every controller does it, and not more often than once a
minute; a flood is dropped. An event is a courtesy, so nothing waits for it and nothing fails with it.
"""

from __future__ import annotations

import logging
import uuid
from collections import OrderedDict, deque
from dataclasses import dataclass
from typing import Any, Final

from compiler.duration import MINUTE, SECOND, Nanoseconds
from compiler.resources import GROUP
from runtime.clock import Clock, timestamp
from runtime.cluster.api import Api, Call
from runtime.cluster.errors import ClusterError
from runtime.cluster.lease import LEASE_NAME
from runtime.cluster.port import Report

__all__ = ["Events"]

log: Final = logging.getLogger(__name__)

AGAIN_AFTER: Final = MINUTE
MOST: Final = 25
WITHIN: Final = 5 * MINUTE
"""At most so many requests in that time; client-go's spam filter has the same numbers an object."""
_REMEMBERED: Final = 256
_LONGEST_MESSAGE: Final = 1024
"""Characters; k8s.io/kubernetes, pkg/apis/core/validation."""


@dataclass(slots=True)
class _Posted:
    path: str
    count: int
    told: int
    at: Nanoseconds


class Events:
    """Posts reports as events.

    Args:
        namespace: kuik's own, whose Lease stands for kuik itself.
    """

    def __init__(self, api: Api, namespace: str, clock: Clock) -> None:
        self._api, self._namespace, self._clock = api, namespace, clock
        self._posted = OrderedDict[Report, _Posted]()
        self._sent_at = deque[Nanoseconds](maxlen=MOST)

    async def post(self, report: Report, uid: str | None) -> None:
        """Post a report, or count it in the event that is there; never raises.

        Args:
            report: what it says, and of what.
            uid: of the object that it is about, if that is known.
        """
        posted, now = self._posted.get(report), self._clock()
        if posted is not None:
            posted.count += 1
            self._posted.move_to_end(report)
        if (posted is not None and now < posted.at + AGAIN_AFTER) or not self._may_send(now):
            return
        self._sent_at.append(now)
        try:
            if posted is None:
                await self._create(report, uid, now)
            else:
                await self._count(posted, now)
        except ClusterError as error:
            self._posted.pop(report, None)
            log.info("an event was not recorded", extra={"reason": str(error)})

    def _may_send(self, now: Nanoseconds) -> bool:
        return len(self._sent_at) < MOST or now >= self._sent_at[0] + WITHIN

    async def _create(self, report: Report, uid: str | None, now: Nanoseconds) -> None:
        involved = self._involved(report, uid)
        # events of what is in no namespace are in this one
        namespace = involved.get("namespace", "default")
        collection, name = f"/api/v1/namespaces/{namespace}/events", f"kuik.{uuid.uuid4().hex}"
        self._remember(report, _Posted(f"{collection}/{name}", 1, 1, now))
        at = _to_the_second()
        body = {
            "metadata": {"name": name, "namespace": namespace},
            "involvedObject": involved,
            "type": report.severity.value,
            "reason": report.reason,
            "message": report.message[:_LONGEST_MESSAGE],
            "source": {"component": "kuik"},
            "firstTimestamp": at,
            "lastTimestamp": at,
            "count": 1,
        }
        await self._api.send(Call(collection, "POST", body=body, timeout=5 * SECOND))

    async def _count(self, posted: _Posted, now: Nanoseconds) -> None:
        posted.at = now
        body = {"count": posted.count, "lastTimestamp": _to_the_second()}
        await self._api.send(
            Call(posted.path, "PATCH", body=body, content_type="application/merge-patch+json", timeout=5 * SECOND)
        )

    def _remember(self, report: Report, posted: _Posted) -> None:
        self._posted[report] = posted
        if len(self._posted) > _REMEMBERED:
            self._posted.popitem(last=False)

    def _involved(self, report: Report, uid: str | None) -> dict[str, Any]:
        if not report.about:
            about = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "name": LEASE_NAME}
            return {**about, "namespace": self._namespace}
        kind, _, name = report.about.partition("/")
        return {"apiVersion": f"{GROUP}/v1alpha1", "kind": kind, "name": name, **({"uid": uid} if uid else {})}


def _to_the_second() -> str:
    return f"{timestamp().partition('.')[0]}Z"
