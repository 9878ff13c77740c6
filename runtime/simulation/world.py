"""What a simulation has instead of registries: answers, latencies, and what lies at the destinations."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from compiler.duration import Nanoseconds
from compiler.plan import Operation, Plan
from runtime.pacing import Read, Response, Verdict
from runtime.simulation.script import Answer, Latency

__all__ = ["World", "digest_of"]

_REASONS: Final[Mapping[Verdict, str]] = {
    Verdict.NOT_FOUND: "SourceUnavailable",
    Verdict.UNREACHABLE: "SourceUnavailable",
    Verdict.UNAUTHORIZED: "AuthFailed",
    Verdict.QUOTA_EXCEEDED: "QuotaExceeded",
}
"""Why a copy fails whose source answers so; the words of page 4."""


@lru_cache(maxsize=65536)
def digest_of(image: str) -> str:
    """Give the digest that a reference has when the script doesn't say: its own, or one derived from its text."""
    _, at, digest = image.partition("@")
    return digest if at else f"sha256:{hashlib.sha256(image.encode()).hexdigest()}"


class World:
    """Registries as the script describes them. It outlives restarts of the process."""

    def __init__(self) -> None:
        self._latencies = dict[tuple[str, Operation], Nanoseconds]()
        self._answers = dict[str, Answer]()
        # by owner and the reference that was written: the digest of the source
        self._copied = dict[tuple[str, str], str | None]()

    def slow_down(self, entry: Latency) -> None:
        """Let the reads of a series take a time from now on."""
        self._latencies[entry.host, entry.operation] = entry.duration

    def change_answer(self, entry: Answer) -> None:
        """Answer for a reference as the script says from now on."""
        if entry.verdict is Verdict.AVAILABLE and entry.digest is None:
            self._answers.pop(entry.image, None)
        else:
            self._answers[entry.image] = entry

    def read(self, read: Read) -> tuple[Nanoseconds, Response]:
        """Say how long a read takes that starts now, and how it ends."""
        latency = self._latencies.get((read.host, read.operation), 0)
        if read.timeout and latency > read.timeout:
            is_copy = read.operation is Operation.COPY
            return read.timeout, Response(
                Verdict.UNREACHABLE, failure="Timeout" if is_copy else None, detail="the timeout was reached"
            )
        answer = self._answers.get(read.image)
        if answer is None:
            return latency, Response(Verdict.AVAILABLE, digest_of(read.image))
        return latency, Response(
            answer.verdict,
            digest=(answer.digest or digest_of(read.image)) if answer.verdict is Verdict.AVAILABLE else None,
            retry_after=answer.retry_after,
            failure=_REASONS.get(answer.verdict) if read.operation is Operation.COPY else None,
            detail="as scripted",
        )

    def store(self, read: Read, response: Response) -> None:
        """Keep what a copy brought to its destination."""
        if read.copy is not None and response.verdict is Verdict.AVAILABLE:
            self._copied[read.owner, read.copy.to] = response.digest

    def remove(self, owner: str, image: str, plan: Plan) -> None:
        """Remove a copy from its destination."""
        for host in plan.hosts:
            for queue in host.copy.queues:
                if queue.owner == owner:
                    for copy in queue.images:
                        if copy.image == image:
                            self._copied.pop((owner, copy.to), None)

    def present(self, plan: Plan) -> dict[str, dict[str, str | None]]:
        """Give by mirror which of its references lie at the destination, each with the digest of its source."""
        found = dict[str, dict[str, str | None]]()
        for host in plan.hosts:
            for queue in host.copy.queues:
                there = found.setdefault(queue.owner, {})
                for copy in queue.images:
                    if (queue.owner, copy.to) in self._copied:
                        there[copy.image] = self._copied[queue.owner, copy.to]
        return found
