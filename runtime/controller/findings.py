"""What is known of every owner, from its status at the start to its status at the end."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from compiler.duration import Nanoseconds
from compiler.plan import Copy
from compiler.reference import split_host
from compiler.resources import ImageMirror, ImageMonitor
from compiler.source import Object
from runtime.controller.conditions import FALSE, Condition, Conditions
from runtime.controller.ledger import Ledger
from runtime.controller.preparing import Prepared, Use
from runtime.controller.reports import read_record, texts
from runtime.controller.retention import read_retained
from runtime.controller.statuses import Finding, mirror_status, monitor_status
from runtime.controller.times import Clocks, read_time
from runtime.metrics import Anomaly
from runtime.pacing import OwnerStatus, Record, Scan, Verdict

__all__ = ["Findings"]

Document = Mapping[str, Any]

_KINDS: Final = frozenset({ImageMirror.kind, ImageMonitor.kind})
"""Those that have a status."""


class Findings:
    """Collects what reads and scans find, and writes it down as status.

    Args:
        clocks: status shows times of day.
        pace: gives the rings and queues of an owner.
        problem: says why a secret can't be used; None when it can.
    """

    def __init__(
        self, clocks: Clocks, pace: Callable[[str], OwnerStatus], problem: Callable[[str], str | None]
    ) -> None:
        self._clocks, self._pace, self._problem = clocks, pace, problem
        self.ledger = Ledger()
        self._conditions = Conditions()
        self._prepared: Prepared | None = None
        self._uses: Mapping[str, Use] = {}
        self._images = dict[str, dict[str, tuple[str, ...]]]()
        self._secrets = dict[str, set[str]]()
        self._repositories = dict[str, set[str]]()
        self._scanned = dict[str, Nanoseconds]()
        self._remembered = dict[str, str | None]()
        self._records = dict[str, Record]()

    @property
    def uses(self) -> Mapping[str, Use]:
        """What each monitor's pods use, and what is retained."""
        return self._uses

    def remember(self, resource: Object) -> bool:
        """Learn from the status of a resource that is new to this process.

        Returns:
            Whether it has taken the place of another of the same name, too soon after that for a plan in between.
        """
        owner, status = resource.label, resource.value.get("status")
        uid = resource.value.get("metadata", {}).get("uid")
        if resource.kind not in _KINDS or self._remembered.get(owner, "") == uid:
            return False
        if is_successor := owner in self._remembered:
            self._forget(owner)
        self._remembered[owner] = uid
        known: Document = status if isinstance(status, dict) else {}
        self.ledger.restore(owner, known, self._clocks.wall())
        self._conditions.restore(owner, known)
        self._records[owner] = read_record(known, self._clocks)
        self._uses = {**self._uses, owner: Use(retained={r.ref: r for r in read_retained(known)})}
        self._repositories[owner] = {*texts(known, "repositories")}
        if (scanned := read_time(known.get("destinationScanned"))) is not None:
            self._scanned[owner] = scanned
        return is_successor

    def take_records(self) -> Mapping[str, Record]:
        """Hand out, once, what the engine needs of the statuses that were remembered."""
        records, self._records = self._records, {}
        return records

    def follow(self, prepared: Prepared) -> list[str]:
        """Keep to what is in force now; give the owners that are not in force any more.

        One that is refused, and has no earlier version that goes on, is among them: its status is remembered again
        when it is mended.
        """
        self._prepared, self._uses = prepared, prepared.uses
        self._images, self._secrets = {}, {}
        tracked = dict[str, set[str]]()
        for host in prepared.plan.hosts:
            for ring in host.check.rings:
                self._images.setdefault(ring.owner, {})[host.host] = ring.images
                self._secrets.setdefault(ring.owner, set()).update(secret for _, secret in ring.auth)
                tracked.setdefault(ring.owner, set()).update(ring.images)
            for queue in host.copy.queues:
                tracked.setdefault(queue.owner, set()).update(c.image for c in queue.images)
        self.ledger.keep_only(tracked)
        for owner, mirror in prepared.mirrors.items():
            self._secrets.setdefault(owner, set()).update(filter(None, (mirror.push_secret, mirror.pull_secret)))
        gone = [o for o in self._remembered if o not in prepared.monitors and o not in prepared.mirrors]
        for owner in gone:
            self._forget(owner)
        return gone

    def _forget(self, owner: str) -> None:
        self._remembered.pop(owner, None)
        self._conditions.forget(owner)
        self._repositories.pop(owner, None)
        self._scanned.pop(owner, None)

    def scanned(self, owner: str, scan: Scan) -> None:
        """Note what a scan found at a mirror's destination."""
        self._scanned[owner] = self._clocks.wall()
        for image, digest in scan.present.items():
            if digest is not None:
                self.ledger.copied(owner, image, digest)

    def about_to_write(self, owner: str, copy: Copy) -> bool:
        """Note the repository that a copy will write to; say whether it is a new one, to be recorded before that."""
        repository = copy.to.rpartition(":")[0]
        known = self._repositories.setdefault(owner, set())
        is_new = repository not in known
        known.add(repository)
        return is_new

    def not_written(self, owner: str, copy: Copy) -> None:
        """Note that nothing was written into a new repository after all."""
        self._repositories.get(owner, set()).discard(copy.to.rpartition(":")[0])

    def status_of(self, owner: str) -> Document | None:
        """Give the present status of an owner; None when it has none, or is gone."""
        prepared = self._prepared
        if prepared is None or (resource := prepared.objects.get(owner)) is None:
            return None
        if (monitor := prepared.monitors.get(owner)) is not None:
            finding = self._finding(prepared, monitor)
            status: Document
            status, conditions = monitor_status(monitor, self._uses.get(owner, Use()), finding)
        elif (mirror := prepared.mirrors.get(owner)) is not None:
            finding = self._finding(prepared, mirror)
            repositories = self._repositories.get(owner, set())
            status, conditions = mirror_status(mirror, finding, repositories, self._scanned.get(owner))
        elif resource.kind in _KINDS and owner in prepared.compilation.refused:
            status, conditions = self._refused(prepared, resource)
        else:
            return None
        generation = resource.value.get("metadata", {}).get("generation")
        written = self._conditions.write(owner, conditions, generation, self._clocks.wall())
        return {**status, "conditions": written}

    def anomalies(self, owner: str) -> Iterator[Anomaly]:
        """Give what is wrong with the images of an owner."""
        for image, known in self.ledger.of(owner).items():
            if known.verdict is not Verdict.AVAILABLE:
                yield Anomaly("unavailable", image, split_host(image)[0], known.verdict.value)
        monitor = self._prepared.monitors.get(owner) if self._prepared is not None else None
        running = self._uses[owner].running if monitor is not None and monitor.drift_detection else {}
        for drift in (*self.ledger.drifted(owner, running), *self.ledger.moved(owner)):
            yield Anomaly("drifted", drift.image, split_host(drift.image)[0], "DigestChanged")

    def _finding(self, prepared: Prepared, resource: ImageMonitor | ImageMirror) -> Finding:
        owner = resource.owner
        return Finding(
            owner,
            self._not_ready(prepared, resource),
            self._images.get(owner, {}),
            self._pace(owner),
            self.ledger,
            self._clocks.to_wall,
        )

    def _not_ready(self, prepared: Prepared, resource: ImageMonitor | ImageMirror) -> tuple[str, str] | None:
        if refused := prepared.compilation.refused.get(resource.owner):
            return "InvalidSpec", f"{refused[0].message}; what was in force before still is"
        if resource.suspended:
            return "Suspended", "spec.suspend is true"
        for secret in sorted(self._secrets.get(resource.owner, ())):
            if (problem := self._problem(secret)) is not None:
                return "SecretUnusable", problem
        return None

    def _refused(self, prepared: Prepared, resource: Object) -> tuple[Document, list[Condition]]:
        """Say what is wrong beside what an earlier process knew, which is needed again when the spec is mended."""
        earlier = resource.value.get("status")
        earlier = earlier if isinstance(earlier, dict) else {}
        self._conditions.restore(resource.label, earlier)
        message = f"{prepared.compilation.refused[resource.label][0].message}; nothing of it is in force"
        return earlier, [Condition("Ready", FALSE, "InvalidSpec", message)]
