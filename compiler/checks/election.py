"""Rules about the election of a leader."""

from __future__ import annotations

from collections.abc import Iterator

from compiler.config import build_election
from compiler.diagnostics import Code, Diagnostic
from compiler.duration import format_duration
from compiler.source import Document

__all__ = ["times_leave_one_leader"]


def times_leave_one_leader(document: Document) -> Iterator[Diagnostic]:
    """Refuse times with which two processes could lead at once; for a document that has passed its schema."""
    entry = ((document.value or {}).get("controller") or {}).get("leaderElection") or {}
    times, place = build_election(entry), document.place / "controller" / "leaderElection"
    if times.renew_deadline >= times.lease_duration:
        lease, deadline = map(format_duration, (times.lease_duration, times.renew_deadline))
        message = f"with a renewDeadline of {deadline} and a leaseDuration of {lease} two could lead at once"
        yield place.error(Code.INVALID_VALUE, message, "the lease has to last longer than the deadline", key=True)
    # client-go's JitterFactor: an attempt may come a fifth later than the period says
    elif times.retry_period * 12 // 10 >= times.renew_deadline:
        deadline, period = map(format_duration, (times.renew_deadline, times.retry_period))
        message = f"with a retryPeriod of {period} and a renewDeadline of {deadline} one missed renewal ends a term"
        yield place.error(
            Code.INVALID_VALUE, message, "the deadline has to be more than 1.2 times the period", key=True
        )
