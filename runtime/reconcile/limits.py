"""Which limiter counts the failures of which kind, as ``controller.rateLimiter`` and ``controller.perKind`` say."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, TypeAlias

from compiler.duration import Nanoseconds
from runtime.clock import Clock
from runtime.limiters import Limiter, build_limiter, default_limiter
from runtime.reconcile.keys import Key

__all__ = ["LimiterByKind"]

Description: TypeAlias = Mapping[str, Any]


class LimiterByKind:
    """A limiter that asks the one of the key's kind, or the default one.

    Args:
        clock: for limiters that count per time.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._default_description: Description | None = None
        self._default = default_limiter(clock)
        self._by_kind = dict[str, tuple[Description, Limiter]]()

    def configure(self, default: Description | None, per_kind: Mapping[str, Description]) -> None:
        """Put other limiters in force, whole or not at all; one whose description is the same keeps what it counted.

        Args:
            default: plain values as in the configuration; None is controller-runtime's default.
            per_kind: the same by kind.

        Raises:
            InvalidLimiter: a description is none; everything stays as it was.
        """
        new_default = self._default
        if default != self._default_description:
            new_default = default_limiter(self._clock) if default is None else build_limiter(default, self._clock)
        by_kind = {kind: (described, self._limiter(kind, described)) for kind, described in per_kind.items()}
        self._default_description, self._default, self._by_kind = default, new_default, by_kind

    def when(self, item: Hashable) -> Nanoseconds:
        """Record a failure and return the delay."""
        return self._of(item).when(item)

    def forget(self, item: Hashable) -> None:
        """Forget the failures of a key."""
        self._of(item).forget(item)

    def num_requeues(self, item: Hashable) -> int:
        """Count the failures of a key."""
        return self._of(item).num_requeues(item)

    def _of(self, item: Hashable) -> Limiter:
        entry = self._by_kind.get(item.kind) if isinstance(item, Key) else None
        return self._default if entry is None else entry[1]

    def _limiter(self, kind: str, described: Description) -> Limiter:
        present = self._by_kind.get(kind)
        if present is not None and present[0] == described:
            return present[1]
        return build_limiter(described, self._clock, f"perKind.{kind}")
