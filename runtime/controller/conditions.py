"""Conditions as Kubernetes has them: what is true of a resource, since when, and why."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from compiler.duration import Nanoseconds
from runtime.controller.reports import entries
from runtime.controller.times import write_time

__all__ = ["FALSE", "TRUE", "UNKNOWN", "Condition", "Conditions"]

TRUE: Final = "True"
FALSE: Final = "False"
UNKNOWN: Final = "Unknown"


class Condition(NamedTuple):
    """One condition. The reasons of each type are listed in the schemas, as ``x-conditions``."""

    type: str
    status: str
    reason: str
    message: str


class Conditions:
    """Remembers since when each condition of each owner has its status."""

    def __init__(self) -> None:
        self._since = dict[tuple[str, str], tuple[str, str]]()

    def restore(self, owner: str, status: Mapping[str, Any]) -> None:
        """Learn what an earlier process wrote."""
        for entry in entries(status, "conditions", named="type"):
            match entry:
                case {"type": str(kind), "status": str(value), "lastTransitionTime": str(since)}:
                    self._since.setdefault((owner, kind), (value, since))
                case _:
                    continue

    def write(
        self, owner: str, conditions: Iterable[Condition], generation: int | None, now: Nanoseconds
    ) -> list[dict[str, Any]]:
        """Give conditions as status has them; a time changes only where a status does."""
        written = []
        for one in conditions:
            before = self._since.get((owner, one.type))
            since = before[1] if before is not None and before[0] == one.status else write_time(now)
            self._since[owner, one.type] = (one.status, since)
            written.append(
                {
                    "type": one.type,
                    "status": one.status,
                    **({} if generation is None else {"observedGeneration": generation}),
                    "lastTransitionTime": since,
                    "reason": one.reason,
                    "message": one.message,
                }
            )
        return written

    def forget(self, owner: str) -> None:
        """Forget an owner that is gone."""
        for key in [k for k in self._since if k[0] == owner]:
            del self._since[key]
