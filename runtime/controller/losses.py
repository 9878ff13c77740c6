"""Says which windows were lost that somebody could have used (W4, W6, C4), without a line for each of thousands."""

from __future__ import annotations

import logging
from collections import Counter
from typing import Final

from compiler.plan import Operation
from runtime.pacing import Outcome, Window

__all__ = ["Losses"]

log: Final = logging.getLogger(__name__)


class Losses:
    """Collects lost windows.

    A read that outlasts its interval is told of when it costs its first window, and counts them all when it ends.
    Missed windows come in crowds, after a process was stopped or a machine suspended: they are told of together.
    """

    def __init__(self) -> None:
        self._busy = Counter[tuple[str, Operation]]()
        self._missed = Counter[tuple[str, Operation]]()

    def note(self, window: Window) -> None:
        """Note a window that has opened."""
        key = window.host, window.operation
        if window.outcome is Outcome.MISSED:
            self._missed[key] += window.run
        elif window.outcome is Outcome.BUSY:
            self._busy[key] += 1
            if self._busy[key] == 1:
                keys = {"host": window.host, "operation": window.operation.value, "window": window.number}
                log.info("window lost: the image before is still being read", extra=keys)

    def take(self, host: str, operation: Operation) -> int:
        """Give how many windows a read has cost that has just ended."""
        return self._busy.pop((host, operation), 0)

    def tell_missed(self) -> None:
        """Tell of the windows that were noticed too late since the last time."""
        if not self._missed:
            return
        host, operation = next(iter(self._missed))
        keys = {"windows": self._missed.total(), "series": len(self._missed), "host": host, "operation": str(operation)}
        log.warning("windows missed", extra=keys)
        self._missed.clear()
