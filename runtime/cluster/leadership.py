"""Leadership as the pacing needs it (W8, W9): a value that says, right before each request, whether it may go out.

Whoever lost the lease can't know it at once: the process was frozen, the network is gone. So leadership is never asked
for, it runs out: a request goes out only within the renew deadline of the *start* of the last successful renewal,
while others wait for a whole lease after they saw that renewal.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from compiler.duration import SECOND, Nanoseconds, format_duration

__all__ = ["Leadership", "LeaseTimes"]

# client-go, tools/leaderelection: JitterFactor
_JITTER_FACTOR = 1.2


@dataclass(frozen=True, slots=True)
class LeaseTimes:
    """How long a lease lasts, how long its holder may rely on it, how often both sides try.

    The defaults are client-go's, as ``controller.leaderElection`` has them.

    Raises:
        ValueError: not lease > renew deadline > 1.2 retry periods, without which two could lead.
    """

    lease: Nanoseconds = 15 * SECOND
    renew_deadline: Nanoseconds = 10 * SECOND
    retry: Nanoseconds = 2 * SECOND

    def __post_init__(self) -> None:
        if not self.lease > self.renew_deadline > self.retry * _JITTER_FACTOR > 0:
            given = ", ".join(format_duration(d) for d in (self.lease, self.renew_deadline, self.retry))
            raise ValueError(f"lease duration > renew deadline > 1.2 retry periods is needed, not {given}")


class Leadership:
    """One term of leading.

    Args:
        times: the renew deadline is what counts here.
        transitions: how often the lease has changed hands (T3).
        taken_at: when the lease was taken, the anchor of the windows (W2): the end of the request that took it.
        renewed_at: the start of that request.
    """

    def __init__(self, times: LeaseTimes, transitions: int, taken_at: Nanoseconds, renewed_at: Nanoseconds) -> None:
        self.transitions = transitions
        self.taken_at = taken_at
        self._deadline = renewed_at + times.renew_deadline
        self._renew_deadline = times.renew_deadline
        self._lost = asyncio.Event()
        self._reason = ""

    def may_send(self, now: Nanoseconds) -> bool:
        """Say whether a request may go out at this moment of the boot clock (W9)."""
        return now < self._deadline and not self._lost.is_set()

    @property
    def runs_out_at(self) -> Nanoseconds:
        """When ``may_send`` begins to say no, unless there is another renewal."""
        return self._deadline

    @property
    def is_lost(self) -> bool:
        """Whether it has ended before its time."""
        return self._lost.is_set()

    async def lost(self) -> str:
        """Wait until leadership is lost, and say why; it never comes back."""
        await self._lost.wait()
        return self._reason

    def renewed(self, start: Nanoseconds) -> None:
        """Note that a renewal which started at ``start`` has succeeded."""
        self._deadline = start + self._renew_deadline

    def lose(self, reason: str) -> None:
        """End it; for the adapter alone."""
        self._reason = self._reason or reason
        self._lost.set()
