"""What the reads of this process, and the status of those before it, say of images: by owner and image."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final, NamedTuple, TypeVar

from compiler.duration import Nanoseconds
from runtime.controller.reports import entries
from runtime.controller.times import read_time
from runtime.pacing import Response, Verdict

__all__ = ["Drift", "Known", "Ledger"]

_T = TypeVar("_T")

_REASONS: Final = {verdict.value: verdict for verdict in Verdict}


class Known(NamedTuple):
    """What is known of an image.

    Attributes:
        verdict: the last one that says something about the image.
        since: when it was first so, in nanoseconds since 1970.
        checked: when that was last seen.
        digest: the last one known.
        platforms: the digests in the index of that digest, each as right an answer to what runs; None while nobody has
            looked, so that nothing can be said of a drift.
    """

    verdict: Verdict
    since: Nanoseconds
    checked: Nanoseconds
    digest: str | None = None
    platforms: frozenset[str] | None = None


class Drift(NamedTuple):
    """A tag that points at something else now.

    Attributes:
        old: the digest that runs, or that was copied.
        new: the digest that the tag points at.
    """

    image: str
    old: str
    new: str


class Ledger:
    """Findings by owner and image; it grows with what is tracked, not with time."""

    def __init__(self) -> None:
        self._known = defaultdict[str, dict[str, Known]](dict)
        self._copied = defaultdict[str, dict[str, str]](dict)

    def of(self, owner: str) -> Mapping[str, Known]:
        """Give what is known for an owner, by image."""
        return self._known.get(owner, {})

    def visited(self, owner: str, image: str, response: Response, at: Nanoseconds) -> None:
        """Note what a visit found, reused or not; a used-up quota says nothing about the image (S1).

        Args:
            owner: whose image it is.
            image: the canonical reference.
            response: what the registry said.
            at: the time of day at which it was asked.
        """
        if response.verdict is Verdict.QUOTA_EXCEEDED:
            return
        before = self._known[owner].get(image) or Known(response.verdict, at, at)
        since = before.since if before.verdict is response.verdict else at
        digest, platforms = response.digest or before.digest, response.platforms
        if platforms is None:
            platforms = before.platforms if digest == before.digest else None
        self._known[owner][image] = Known(response.verdict, since, at, digest, platforms)

    def copied(self, owner: str, image: str, digest: str) -> None:
        """Note the source's digest of the copy that a mirror has at its destination."""
        self._copied[owner][image] = digest

    def drifted(self, owner: str, running: Mapping[str, frozenset[str]]) -> Iterator[Drift]:
        """Give a monitor's images of which no digest runs that the tag points at now."""
        for image, known in self.of(owner).items():
            runs = running.get(image)
            if not runs or known.digest is None or known.platforms is None:
                continue
            if runs.isdisjoint((known.digest, *known.platforms)):
                yield Drift(image, min(runs), known.digest)

    def undecided(self, owner: str, running: Mapping[str, frozenset[str]]) -> int:
        """Count a monitor's images whose tag points at an index that nobody could look into: they may have drifted."""
        return sum(
            known.digest is not None and known.platforms is None and known.digest not in running[image]
            for image, known in self.of(owner).items()
            if running.get(image)
        )

    def moved(self, owner: str) -> Iterator[Drift]:
        """Give a mirror's copies whose tag has moved at its origin."""
        known = self.of(owner)
        for image, digest in self._copied.get(owner, {}).items():
            upstream = known[image].digest if image in known else None
            if upstream is not None and upstream != digest:
                yield Drift(image, digest, upstream)

    def digests(self) -> dict[str, str]:
        """Give the last known digest of every image."""
        return {i: k.digest for known in self._known.values() for i, k in known.items() if k.digest is not None}

    def restore(self, owner: str, status: Mapping[str, Any], now: Nanoseconds) -> None:
        """Learn what an earlier process wrote: an anomaly is one until the image is read again.

        Args:
            owner: whose status it is.
            status: as it was written.
            now: the time of day, for what the status doesn't say.
        """
        known = self._known[owner]
        for entry in entries(status, "unavailableImages"):
            since, verdict = read_time(entry.get("since")), _REASONS.get(str(entry.get("reason")))
            if since is not None and verdict is not None:
                known.setdefault(entry["ref"], Known(verdict, since, read_time(entry.get("lastChecked")) or since))
        for entry in entries(status, "driftedImages"):
            if isinstance(digest := entry.get("upstreamDigest"), str):
                before = known.get(entry["ref"]) or Known(Verdict.AVAILABLE, now, now)
                known[entry["ref"]] = before._replace(digest=digest, platforms=frozenset())

    def keep_only(self, tracked: Mapping[str, Collection[str]]) -> None:
        """Forget owners and images that are not tracked any more.

        Args:
            tracked: images by owner.
        """
        _keep_only(self._known, tracked)
        _keep_only(self._copied, tracked)


def _keep_only(entries_of: dict[str, dict[str, _T]], tracked: Mapping[str, Collection[str]]) -> None:
    for owner in [*entries_of]:
        kept = {image: entry for image, entry in entries_of[owner].items() if image in tracked.get(owner, ())}
        if kept:
            entries_of[owner] = kept
        else:
            del entries_of[owner]
