"""What the engine is told and what it answers: frozen values and nothing else.

Times are whole nanoseconds on the driver's monotonic clock, durations whole nanoseconds. What is made once a window or
oftener is a ``NamedTuple``: as frozen as a dataclass, and made in a third of the time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from compiler.duration import HOUR, MINUTE, SECOND, Nanoseconds
from compiler.plan import Copy, Operation

__all__ = [
    "Applied",
    "CopyFailure",
    "Ended",
    "Lap",
    "Outcome",
    "OwnerStatus",
    "Policy",
    "QueueStatus",
    "Read",
    "Record",
    "Response",
    "RingStatus",
    "Scan",
    "SeriesStatus",
    "UnknownRead",
    "Verdict",
    "Visit",
    "Window",
]


class Verdict(StrEnum):
    """What a registry's answer means for an image; the table is page 4's."""

    AVAILABLE = "Available"
    NOT_FOUND = "NotFound"
    UNAUTHORIZED = "Unauthorized"
    QUOTA_EXCEEDED = "QuotaExceeded"
    UNREACHABLE = "Unreachable"


class Outcome(StrEnum):
    """What became of a window: it took an image, or it was lost and why. The values are those of the metrics' label."""

    USED = "used"
    IDLE = "idle"
    BUSY = "busy"
    HELD = "held"
    MISSED = "missed"


class Response(NamedTuple):
    """How a read ended.

    Attributes:
        verdict: of the source, also for a copy.
        digest: what the source has, when it is available.
        retry_after: how long a 429 asks to be left alone, from the end of the read (W10): with QuotaExceeded, or with
            Available when it answered a request beside the one that found the image.
        quota_reset: how long until the quota comes back, when the answer said that nothing remains of it (W10).
        failure: why a copy failed though its source may have answered; None for a check, or for a copy that arrived.
        detail: the words for people.
        platforms: of an index that was looked into, the digests of its manifests, each as right as ``digest``.
    """

    verdict: Verdict
    digest: str | None = None
    retry_after: Nanoseconds | None = None
    quota_reset: Nanoseconds | None = None
    failure: str | None = None
    detail: str = ""
    platforms: frozenset[str] | None = None


class Read(NamedTuple):
    """One image that a window takes: what the driver reads now.

    Attributes:
        number: the window's, counted from 1 at the anchor.
        opens: when the window opened; the time of everything that comes of it.
        timeout: 0 means none.
        secret: the name of the secret to read with; None is anonymous.
        insecure: over plain HTTP.
        copy: where it goes, for a copy.
    """

    host: str
    operation: Operation
    owner: str
    image: str
    number: int
    opens: Nanoseconds
    timeout: Nanoseconds
    secret: str | None
    insecure: bool
    copy: Copy | None = None


class UnknownRead(ValueError):
    """The read isn't in flight: it ended already, or belongs to another engine."""

    def __init__(self, read: Read) -> None:
        super().__init__(f"{read.operation} of {read.image} for {read.owner} is not in flight")
        self.read = read


class Visit(NamedTuple):
    """An owner has taken an image of its ring, by a request or by reuse.

    Attributes:
        asked: when the window opened in which the registry was asked.
    """

    owner: str
    image: str
    response: Response
    asked: Nanoseconds
    reused: bool


class Lap(NamedTuple):
    """A full turn of a ring (R4)."""

    host: str
    owner: str
    started: Nanoseconds
    ended: Nanoseconds

    @property
    def duration(self) -> Nanoseconds:
        """How long it took."""
        return self.ended - self.started


class Window(NamedTuple):
    """A window that opened.

    Attributes:
        number: counted from 1 at the anchor of the series.
        run: how many windows this stands for, from ``number`` on; over 1 only where several were missed.
        read: what to read; only with ``used``.
        visits: those made without a request, in order.
        laps: those that ended with one of ``visits``.
    """

    host: str
    operation: Operation
    number: int
    opens: Nanoseconds
    outcome: Outcome
    run: int = 1
    read: Read | None = None
    visits: tuple[Visit, ...] = ()
    laps: tuple[Lap, ...] = ()


class Ended(NamedTuple):
    """What the end of a read led to.

    Attributes:
        visit: None for a copy, and when the image has left the ring meanwhile.
        laps: those that ended with it.
        held_until: when the series of the host go on, if this answer holds one.
        pending: how many images the queue still owes; None for a check.
    """

    read: Read
    visit: Visit | None = None
    laps: tuple[Lap, ...] = ()
    held_until: Nanoseconds | None = None
    pending: int | None = None


class Applied(NamedTuple):
    """What a new plan led to.

    Attributes:
        restarted: the series whose windows start anew (H2).
        laps: those that ended because the images behind the cursor went (R4).
    """

    restarted: tuple[tuple[str, Operation], ...] = ()
    laps: tuple[Lap, ...] = ()


@dataclass(frozen=True, slots=True)
class Policy:
    """What holds for a plan and isn't part of it.

    Attributes:
        check_interval: that of hosts not yet seen (H2).
        copy_interval: likewise.
        synced: the mirrors under ``driftPolicy: Sync``, whose drifted copies are owed again (C1).
        retry_base: how long a copy that failed once waits (C2).
        retry_longest: how long one waits that has failed often.
    """

    check_interval: Nanoseconds = 30 * SECOND
    copy_interval: Nanoseconds = 3 * MINUTE
    synced: frozenset[str] = frozenset()
    retry_base: Nanoseconds = MINUTE
    retry_longest: Nanoseconds = HOUR


@dataclass(frozen=True, slots=True)
class RingStatus:
    """A ring as ``status.checks.registries`` shows it (R5), and all that a restart needs of it.

    Attributes:
        images: how many.
        cursor: the image visited last; None before the first visit.
        checked: visits in this lap. A status with a cursor that doesn't say how many is at one.
        cycle_started: None in a status that doesn't say: it starts with the process.
        cycle_duration: of the last lap; None before one has ended.
    """

    registry: str
    images: int
    cursor: str | None = None
    checked: int = 0
    cycle_started: Nanoseconds | None = None
    cycle_duration: Nanoseconds | None = None


@dataclass(frozen=True, slots=True)
class CopyFailure:
    """A copy that failed and has not succeeded since (``status.failedImagesCopy``).

    Attributes:
        last_attempt: when it ended.
        attempts: how many in a row, at least 1.
    """

    image: str
    reason: str
    last_attempt: Nanoseconds
    attempts: int


@dataclass(frozen=True, slots=True)
class QueueStatus:
    """What a mirror owes from one host.

    Attributes:
        desired: how many images of the host it wants.
        pending: those that it owes, in the order of C1 and C2; the one that is being copied is among them.
        drifted: those of ``pending`` that are owed because their tag moved.
        known: whether a scan has told what the destination holds (R8).
    """

    registry: str
    desired: int
    pending: tuple[str, ...] = ()
    drifted: tuple[str, ...] = ()
    failed: tuple[CopyFailure, ...] = ()
    known: bool = True


@dataclass(frozen=True, slots=True)
class OwnerStatus:
    """Rings and queues of an owner, each in order of hosts."""

    rings: tuple[RingStatus, ...] = ()
    queues: tuple[QueueStatus, ...] = ()


@dataclass(frozen=True, slots=True)
class Record:
    """What the status of an owner remembers from an earlier process; times are mapped to this one's clock."""

    rings: tuple[RingStatus, ...] = ()
    failures: tuple[CopyFailure, ...] = ()


@dataclass(frozen=True, slots=True)
class SeriesStatus:
    """Where a series stands.

    Attributes:
        anchor: window k opens at ``anchor + k · interval``.
        number: the next window's.
        opens: when that is.
        reading: what is in flight.
        held_until: None unless the series is held.
    """

    host: str
    operation: Operation
    anchor: Nanoseconds
    interval: Nanoseconds
    number: int
    opens: Nanoseconds
    reading: Read | None = None
    held_until: Nanoseconds | None = None


@dataclass(frozen=True, slots=True)
class Scan:
    """What a scan found at a mirror's destination.

    Attributes:
        began: when it started; copies that ended since then are not contradicted by it.
        present: the references of the mirror that are there, each with the digest of the source it was copied from,
            None where that is not known.
    """

    began: Nanoseconds
    present: Mapping[str, str | None] = field(default_factory=dict)
