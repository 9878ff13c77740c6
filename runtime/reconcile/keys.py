"""What the work queue holds: keys, never objects, so that a reconcile always looks at the present state."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Key"]


class Key(NamedTuple):
    """A resource by name.

    Attributes:
        kind: decides which limiter counts its failures.
        name: cluster-scoped, as kuik's own kinds are.
    """

    kind: str
    name: str

    @classmethod
    def of(cls, owner: str) -> Key:
        """Read an owner, ``Kind/name``."""
        kind, _, name = owner.partition("/")
        return cls(kind, name)

    @property
    def owner(self) -> str:
        """``Kind/name``, as plans and rings call it."""
        return f"{self.kind}/{self.name}"
