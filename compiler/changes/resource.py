"""What changes for a resource: its ring of checks or queue of copies on one host. None of it moves a window (H6)."""

from __future__ import annotations

from dataclasses import dataclass

from compiler.changes.change import Change, Document, Mark, plural
from compiler.plan import Operation

__all__ = [
    "AccessChanges",
    "ImagesChange",
    "OrderChanges",
    "OwnerJoins",
    "OwnerLeaves",
    "OwnerSuspends",
    "ResourceChange",
]


@dataclass(frozen=True, slots=True)
class ResourceChange(Change):
    """A change of one ring (Check) or one queue (Copy). None of them moves a window (H6)."""

    operation: Operation
    owner: str

    @property
    def series(self) -> Operation:
        """The operation whose series is meant."""
        return self.operation

    @property
    def subject(self) -> str:
        """``Kind/name`` of the resource whose ring or queue it is."""
        return self.owner

    @property
    def is_ring(self) -> bool:
        """Whether it is a ring that changes, and not a queue."""
        return self.operation is Operation.CHECK


@dataclass(frozen=True, slots=True)
class OwnerJoins(ResourceChange):
    """A resource begins to read a host.

    Attributes:
        images: all of its ring or queue, in order.
        shared: how many of them cost no window of their own, because another ring asks the same (S1).
    """

    kind = "owner-joins"
    mark = Mark.ADDED
    images: tuple[str, ...]
    shared: int = 0
    suspended: bool = False

    def _text(self) -> str:
        images = plural(len(self.images), "image")
        suspended = ", suspended" if self.suspended else ""
        return f"joins with {images}{self._sharing() if self.is_ring else ' to copy'}{suspended}"

    def _sharing(self) -> str:
        if not self.shared:
            return ""
        if self.shared < len(self.images):
            return f", {self.shared} of them shared"
        return ", shared" if self.shared == 1 else ", all of them shared"

    def _facts(self) -> Document:
        facts: Document = {"shared": self.shared} if self.is_ring else {}
        if self.suspended:
            facts["suspend"] = True
        return {**facts, "images": list(self.images)}


@dataclass(frozen=True, slots=True)
class OwnerLeaves(ResourceChange):
    """A resource reads nothing of a host any more."""

    kind = "owner-leaves"
    mark = Mark.REMOVED
    images: tuple[str, ...]

    def _text(self) -> str:
        return f"leaves with {plural(len(self.images), 'image')}"

    def _facts(self) -> Document:
        return {"images": list(self.images)}


@dataclass(frozen=True, slots=True)
class ImagesChange(ResourceChange):
    """A ring or a queue gains or loses images.

    Attributes:
        gained, lost: the images, in the order of the new and of the old plan.
        moved: the images of a queue that are written to another place than before.
        before, after: how many images there are in all.
    """

    kind = "images-change"
    gained: tuple[str, ...]
    lost: tuple[str, ...]
    moved: tuple[str, ...]
    before: int
    after: int

    def _text(self) -> str:
        parts = []
        if self.gained:
            parts.append(f"gains {plural(len(self.gained), 'image')}")
        if self.lost:
            parts.append(f"loses {plural(len(self.lost), 'image')}")
        if self.moved:
            parts.append(f"writes {plural(len(self.moved), 'image')} to another place")
        size = f" ({self.before} → {self.after})" if self.before != self.after else f" (still {self.after})"
        return f"{', '.join(parts)}{size}"

    def _facts(self) -> Document:
        lists = {"gained": self.gained, "lost": self.lost, "moved": self.moved}
        return {"before": self.before, "after": self.after, **{k: list(v) for k, v in lists.items() if v}}


@dataclass(frozen=True, slots=True)
class OrderChanges(ResourceChange):
    """The same images come in another order (C1)."""

    kind = "order-changes"

    def _text(self) -> str:
        return f"takes the images of its {'ring' if self.is_ring else 'queue'} in another order"


@dataclass(frozen=True, slots=True)
class OwnerSuspends(ResourceChange):
    """A resource is suspended or resumed (T4)."""

    kind = "owner-suspends"
    suspended: bool

    def _text(self) -> str:
        if self.suspended:
            return f"is suspended: keeps its {'ring and its cursor' if self.is_ring else 'queue'}, takes no turn"
        return f"is resumed: {'takes turns again, behind its cursor' if self.is_ring else 'takes turns again'}"

    def _facts(self) -> Document:
        return {"suspend": self.suspended}


@dataclass(frozen=True, slots=True)
class AccessChanges(ResourceChange):
    """Images of a ring are read with another credential, or over the other one of HTTP and HTTPS."""

    kind = "access-changes"
    credentials: tuple[str, ...]
    scheme: tuple[str, ...]

    def _text(self) -> str:
        parts = []
        if self.credentials:
            parts.append(f"{plural(len(self.credentials), 'image')} with another credential")
        if self.scheme:
            parts.append(f"{plural(len(self.scheme), 'image')} over another scheme")
        return f"reads {' and '.join(parts)}, from the next one on; no cursor moves"

    def _facts(self) -> Document:
        lists = {"credentials": self.credentials, "scheme": self.scheme}
        return {k: list(v) for k, v in lists.items() if v}
