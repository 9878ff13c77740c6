"""The status of each kind, as page 3 ("Status") and the schemas have it: pure functions of what is known.

Anomalies are listed to 100 and counted beyond; so a status never nears etcd's limit, whatever happens to a registry.
Empty fields are left out: the API server of 1.20 refuses an empty string.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from compiler.duration import Nanoseconds, format_duration
from compiler.resources import ImageMirror, ImageMonitor
from runtime.controller.conditions import FALSE, TRUE, UNKNOWN, Condition
from runtime.controller.ledger import Known, Ledger
from runtime.controller.preparing import Use
from runtime.controller.times import write_time
from runtime.pacing import OwnerStatus, RingStatus, Verdict

__all__ = ["LISTED", "RECORDED", "Finding", "mirror_status", "monitor_status"]

LISTED: Final = 100
"""How many anomalies of a kind a status lists."""
RECORDED: Final = 5000
"""How many repositories a status records (page 3, "Status")."""

_NO_SOURCE: Final = frozenset({"SourceUnavailable", "AuthFailed"})

Document = dict[str, Any]
_ToWall = Callable[[Nanoseconds], Nanoseconds]


@dataclass(frozen=True, slots=True)
class Finding:
    """What is known of one owner.

    Attributes:
        ready: why it is not, as (reason, message); None when it is.
        images: what each of its rings holds, by host.
        pace: its rings and queues.
        to_wall: turns a moment of the engine's clock into a time of day.
    """

    owner: str
    ready: tuple[str, str] | None
    images: Mapping[str, Sequence[str]]
    pace: OwnerStatus
    ledger: Ledger
    to_wall: _ToWall

    @property
    def known(self) -> Mapping[str, Known]:
        """What was found, by image."""
        return self.ledger.of(self.owner)


def monitor_status(monitor: ImageMonitor, use: Use, finding: Finding) -> tuple[Document, list[Condition]]:
    """Give the status of an ImageMonitor without its conditions, and these."""
    tracked = [*dict.fromkeys((*use.pods, *use.retained))]
    alternatives = {i for images in finding.images.values() for i in images}.difference(tracked)
    unavailable = [i for i in tracked if _is_unavailable(finding.known.get(i))]
    drifted = sorted(finding.ledger.drifted(finding.owner, use.running)) if monitor.drift_detection else []
    unknown = sum(i not in finding.known for i in tracked)
    status: Document = {
        "images": {
            "tracked": len(tracked),
            "inUse": len(use.pods),
            "retained": len(use.retained),
            "available": len(tracked) - unknown - len(unavailable),
            "unavailable": len(unavailable),
            "unknown": unknown,
            "drifted": len(drifted),
        },
        "alternatives": {
            "tracked": len(alternatives),
            "unavailable": sum(_is_unavailable(finding.known.get(i)) for i in alternatives),
        },
        "retainedImages": [
            _without_empty({"ref": r.ref, "unusedSince": write_time(r.unused_since), "digest": r.digest})
            for r in use.retained.values()
        ],
        "unavailableImages": [
            _unavailable(i, finding.known[i], use.pods.get(i, 0)) for i in sorted(unavailable)[:LISTED]
        ],
        "driftedImages": [
            {"ref": d.image, "runningDigest": d.old, "upstreamDigest": d.new, "referencedBy": use.pods.get(d.image, 0)}
            for d in drifted[:LISTED]
        ],
        "checks": _checks(finding),
    }
    conditions = [
        _ready(finding),
        _all_available(len(unavailable), unknown),
        _no_drift(
            len(drifted),
            unknown + finding.ledger.undecided(finding.owner, use.running),
            is_watched=monitor.drift_detection,
        ),
        *_truncated(
            use.is_truncated, "more images are retained than a status keeps; those unused longest were dropped"
        ),
    ]
    return status, conditions


def mirror_status(
    mirror: ImageMirror, finding: Finding, repositories: Collection[str], scanned: Nanoseconds | None
) -> tuple[Document, list[Condition]]:
    """Give the status of an ImageMirror without its conditions, and these.

    Args:
        mirror: as it is in force.
        finding: what is known of it.
        repositories: those of the destination that were written to.
        scanned: the time of day at which the last scan ended.
    """
    queues = finding.pace.queues
    failed = sorted((f for q in queues for f in q.failed), key=lambda f: f.image)
    owed = sum(len(q.pending) for q in queues)
    desired = sum(q.desired for q in queues)
    is_known = all(q.known for q in queues)
    # what is owed because its tag moved is there, though not as it should be
    behind = {image for q in queues for image in q.drifted}
    absent = owed - len(behind)
    drifted = behind | {drift.image for drift in finding.ledger.moved(finding.owner)}
    missing = [f for f in failed if f.reason in _NO_SOURCE and f.image not in behind]
    status: Document = {
        "images": {
            "desired": desired,
            "copied": desired - absent if is_known else 0,
            "pending": absent,
            "retained": 0,
            "drifted": len(drifted),
            "missingSource": len(missing),
        },
        "failedImagesCopy": [
            {
                "ref": f.image,
                "reason": f.reason,
                "lastAttempt": write_time(finding.to_wall(f.last_attempt)),
                "attempts": f.attempts,
            }
            for f in failed[:LISTED]
        ],
        "repositories": sorted(repositories)[:RECORDED],
        "checks": _checks(finding),
    }
    if scanned is not None:
        status["destinationScanned"] = write_time(scanned)
    is_behind = mirror.drift_policy == "Sync" and bool(drifted)
    in_sync = _in_sync(owed, len(failed), is_known=is_known, is_behind=is_behind)
    ready = finding.ready
    if ready is None and not is_known:
        ready = ("DestinationUnknown", "the destination has not been scanned yet; nothing is copied until then")
    truncated = _truncated(len(repositories) > RECORDED, "more repositories were written to than a status keeps")
    return status, [_ready(finding, ready), in_sync, *truncated]


def _checks(finding: Finding) -> Document:
    return {"registries": [_ring(ring, finding.to_wall) for ring in finding.pace.rings if ring.images]}


def _ring(ring: RingStatus, to_wall: _ToWall) -> Document:
    started, duration = ring.cycle_started, ring.cycle_duration
    return _without_empty(
        {
            "registry": ring.registry,
            "images": ring.images,
            "cursor": ring.cursor,
            "checked": ring.checked,
            "cycleStarted": None if started is None else write_time(to_wall(started)),
            "cycleDuration": None if duration is None else format_duration(duration),
        }
    )


def _unavailable(image: str, known: Known, pods: int) -> Document:
    return {
        "ref": image,
        "reason": known.verdict.value,
        "since": write_time(known.since),
        "lastChecked": write_time(known.checked),
        "referencedBy": pods,
    }


def _is_unavailable(known: Known | None) -> bool:
    return known is not None and known.verdict is not Verdict.AVAILABLE


def _without_empty(document: Document) -> Document:
    return {k: v for k, v in document.items() if v is not None and v != ""}


def _ready(finding: Finding, not_ready: tuple[str, str] | None = None) -> Condition:
    reason = not_ready or finding.ready
    if reason is None:
        return Condition("Ready", TRUE, "Reconciled", "the spec is in force")
    return Condition("Ready", FALSE, *reason)


def _all_available(unavailable: int, unknown: int) -> Condition:
    kind = "AllImagesAvailable"
    if unavailable:
        return Condition(kind, FALSE, "ImagesUnavailable", f"{unavailable} images can't be read")
    if unknown:
        return Condition(kind, UNKNOWN, "NotCheckedYet", f"{unknown} images were not checked yet")
    return Condition(kind, TRUE, "AllAvailable", "every image could be read when it was last checked")


def _no_drift(drifted: int, unknown: int, *, is_watched: bool) -> Condition:
    kind = "NoImageDrift"
    if not is_watched:
        return Condition(kind, UNKNOWN, "DriftDetectionOff", "spec.driftDetection is false")
    if drifted:
        return Condition(kind, FALSE, "ImagesDrifted", f"{drifted} tags have moved")
    if unknown:
        return Condition(kind, UNKNOWN, "NotCheckedYet", f"{unknown} images were not checked yet")
    return Condition(kind, TRUE, "NoDrift", "no tag has moved")


def _in_sync(pending: int, failed: int, *, is_known: bool, is_behind: bool) -> Condition:
    kind = "DestinationInSync"
    if not is_known:
        return Condition(kind, UNKNOWN, "NotScannedYet", "what is at the destination is not known yet")
    if failed:
        return Condition(kind, FALSE, "CopiesFailed", f"{failed} copies have failed; {pending} images are pending")
    if pending or is_behind:
        return Condition(kind, FALSE, "CopiesPending", f"{pending} images wait for their window")
    return Condition(kind, TRUE, "InSync", "every image is at the destination")


def _truncated(is_truncated: bool, message: str) -> Iterator[Condition]:
    if is_truncated:
        yield Condition("StatusTruncated", TRUE, "EntriesDropped", message)
