"""What is known of every owner, from its status at the start to its status at the end."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from compiler.duration import Nanoseconds
from compiler.plan import Copy
from runtime.controller.conditions import Conditions
from runtime.controller.ledger import Ledger
from runtime.controller.preparing import Prepared, Use
from runtime.controller.reports import read_record
from runtime.controller.retention import read_retained
from runtime.controller.statuses import Finding, mirror_status, monitor_status
from runtime.controller.times import Clocks
from runtime.pacing.values import OwnerStatus, Record, Scan, Verdict

__all__ = ["Findings"]

Document = Mapping[str, Any]


class Findings:
    """Collects what reads and scans find, and writes it down as status.

    Args:
        clocks: status shows times of day.
        pace: gives the rings and queues of an owner.
    """

    def __init__(self, clocks: Clocks, pace: Callable[[str], OwnerStatus]) -> None:
        self._clocks, self._pace = clocks, pace
        self.ledger = Ledger()
        self._conditions = Conditions()
        self._prepared: Prepared | None = None
        self._uses: Mapping[str, Use] = {}
        self._images = dict[str, dict[str, tuple[str, ...]]]()
        self._repositories = dict[str, set[str]]()
        self._scanned = dict[str, Nanoseconds]()
        self._remembered = set[str]()
        self._records = dict[str, Record]()

    @property
    def uses(self) -> Mapping[str, Use]:
        """What each monitor's pods use, and what is retained."""
        return self._uses

    def remember(self, owner: str, status: object) -> None:
        """Learn from the status of an owner that is new to this process."""
        if owner in self._remembered:
            return
        self._remembered.add(owner)
        known: Document = status if isinstance(status, dict) else {}
        self.ledger.restore(owner, known)
        self._conditions.restore(owner, known)
        self._records[owner] = read_record(known, self._clocks)
        self._uses = {**self._uses, owner: Use(retained={r.ref: r for r in read_retained(known)})}
        repositories = known.get("repositories")
        written = repositories if isinstance(repositories, list) else []
        self._repositories[owner] = {r for r in written if isinstance(r, str)}

    def take_records(self) -> Mapping[str, Record]:
        """Hand out, once, what the engine needs of the statuses that were remembered."""
        records, self._records = self._records, {}
        return records

    def follow(self, prepared: Prepared) -> list[str]:
        """Keep to what is there now; give the owners that are gone."""
        self._prepared, self._uses = prepared, prepared.uses
        self._images = {}
        tracked = dict[str, set[str]]()
        for host in prepared.plan.hosts:
            for ring in host.check.rings:
                self._images.setdefault(ring.owner, {})[host.host] = ring.images
                tracked.setdefault(ring.owner, set()).update(ring.images)
            for queue in host.copy.queues:
                tracked.setdefault(queue.owner, set()).update(c.image for c in queue.images)
        self.ledger.keep_only(tracked)
        gone = [o for o in self._remembered if o not in prepared.objects]
        for owner in gone:
            self._remembered.discard(owner)
            self._conditions.forget(owner)
            self._repositories.pop(owner, None)
            self._scanned.pop(owner, None)
        return gone

    def scanned(self, owner: str, scan: Scan) -> None:
        """Note what a scan found at a mirror's destination."""
        self._scanned[owner] = self._clocks.wall()
        for image, digest in scan.present.items():
            if digest is not None:
                self.ledger.copied(owner, image, digest)

    def copied(self, owner: str, image: str, copy: Copy, digest: str | None) -> None:
        """Note a copy that has arrived."""
        self._repositories.setdefault(owner, set()).add(copy.to.rpartition(":")[0])
        if digest is not None:
            self.ledger.copied(owner, image, digest)

    def status_of(self, owner: str) -> Document | None:
        """Give the present status of an owner; None when it has none, or is gone."""
        prepared = self._prepared
        if prepared is None or owner not in prepared.objects:
            return None
        finding = Finding(
            owner,
            self._not_ready(prepared, owner),
            self._images.get(owner, {}),
            self._pace(owner),
            self.ledger,
            self._clocks.to_wall,
        )
        if (monitor := prepared.monitors.get(owner)) is not None:
            status, conditions = monitor_status(monitor, self._uses.get(owner, Use()), finding)
        elif (mirror := prepared.mirrors.get(owner)) is not None:
            repositories = self._repositories.get(owner, set())
            status, conditions = mirror_status(mirror, finding, repositories, self._scanned.get(owner))
        else:
            return None
        metadata = prepared.objects[owner].value.get("metadata", {})
        generation = metadata.get("generation")
        written = self._conditions.write(owner, conditions, generation, self._clocks.wall())
        return {**status, "conditions": written}

    def anomalies(self, owner: str) -> Iterator[tuple[str, str, str, str]]:
        """Give (``unavailable`` or ``drifted``, image, host, reason) of each anomaly of an owner."""
        for image, known in self.ledger.of(owner).items():
            if known.verdict is not Verdict.AVAILABLE:
                yield "unavailable", image, image.partition("/")[0], known.verdict.value
        prepared = self._prepared
        monitor = prepared.monitors.get(owner) if prepared is not None else None
        running = self._uses[owner].running if monitor is not None and monitor.drift_detection else {}
        for image, _, _ in (*self.ledger.drifted(owner, running), *self.ledger.moved(owner)):
            yield "drifted", image, image.partition("/")[0], "DigestChanged"

    def _not_ready(self, prepared: Prepared, owner: str) -> tuple[str, str] | None:
        refused = prepared.compilation.refused.get(owner)
        if refused:
            return "InvalidSpec", f"{refused[0].message}; what was in force before still is"
        resource = prepared.monitors.get(owner) or prepared.mirrors.get(owner)
        if resource is not None and resource.suspended:
            return "Suspended", "spec.suspend is true"
        return None
