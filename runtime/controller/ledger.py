"""What the reads of this process, and the status of those before it, say of images: by owner and image."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

from compiler.duration import Nanoseconds
from runtime.controller.reports import entries
from runtime.controller.times import read_time
from runtime.pacing.values import Response, Verdict

__all__ = ["Known", "Ledger"]


class Known(NamedTuple):
    """What is known of an image.

    Attributes:
        verdict: the last one that says something about the image.
        since: when it was first so, in nanoseconds since 1970.
        checked: when that was last seen.
        digest: the last one known.
    """

    verdict: Verdict
    since: Nanoseconds
    checked: Nanoseconds
    digest: str | None = None


class Ledger:
    """Findings by owner and image; it grows with what is tracked, not with time.

    An index's digest and those of its platforms are right answers alike to what runs, so these are remembered too.
    """

    def __init__(self) -> None:
        self._known = defaultdict[str, dict[str, Known]](dict)
        self._platforms = dict[str, frozenset[str]]()
        self._copied = defaultdict[str, dict[str, str]](dict)

    def of(self, owner: str) -> Mapping[str, Known]:
        """Give what is known for an owner, by image."""
        return self._known.get(owner, {})

    def visited(self, owner: str, image: str, response: Response, at: Nanoseconds) -> None:
        """Note what a visit found; a used-up quota says nothing about the image (S1).

        Args:
            at: the time of day at which the registry was asked.
        """
        if response.verdict is Verdict.QUOTA_EXCEEDED:
            return
        before = self._known[owner].get(image)
        since = before.since if before is not None and before.verdict is response.verdict else at
        digest = response.digest or (before.digest if before is not None else None)
        self._known[owner][image] = Known(response.verdict, since, at, digest)

    def platforms(self, digest: str, platforms: frozenset[str]) -> None:
        """Note the digests of the platforms of an index."""
        self._platforms[digest] = platforms

    def copied(self, owner: str, image: str, digest: str) -> None:
        """Note the source's digest of the copy that a mirror has at its destination."""
        self._copied[owner][image] = digest

    def drifted(self, owner: str, running: Mapping[str, frozenset[str]]) -> Iterator[tuple[str, str, str]]:
        """Give (image, running digest, upstream digest) of a monitor's images of which another digest runs."""
        for image, known in self.of(owner).items():
            runs = running.get(image)
            if runs and known.digest is not None and not runs & {known.digest, *self._platforms.get(known.digest, ())}:
                yield image, min(runs), known.digest

    def moved(self, owner: str) -> Iterator[tuple[str, str, str]]:
        """Give (image, copied digest, upstream digest) of a mirror's copies whose tag has moved."""
        known = self.of(owner)
        for image, digest in self._copied.get(owner, {}).items():
            upstream = known[image].digest if image in known else None
            if upstream is not None and upstream != digest:
                yield image, digest, upstream

    def digests(self) -> dict[str, str]:
        """Give the last known digest of every image."""
        return {i: k.digest for known in self._known.values() for i, k in known.items() if k.digest is not None}

    def restore(self, owner: str, status: Mapping[str, Any]) -> None:
        """Learn what an earlier process wrote: unavailable images stay so, since then, until they are read again."""
        for entry in entries(status, "unavailableImages"):
            since, checked = read_time(entry.get("since")), read_time(entry.get("lastChecked"))
            reason = entry.get("reason")
            if since is not None and reason in {v.value for v in Verdict}:
                self._known[owner].setdefault(entry["ref"], Known(Verdict(reason), since, checked or since))

    def keep_only(self, tracked: Mapping[str, Collection[str]]) -> None:
        """Forget owners and images that are not tracked any more.

        Args:
            tracked: images by owner.
        """
        for owner in [o for o in self._known if o not in tracked]:
            del self._known[owner]
        for owner in [o for o in self._copied if o not in tracked]:
            del self._copied[owner]
        for owner, images in tracked.items():
            wanted = set(images)
            for image in self._known[owner].keys() - wanted:
                del self._known[owner][image]
            for image in self._copied[owner].keys() - wanted:
                del self._copied[owner][image]
        digests = {k.digest for known in self._known.values() for k in known.values()}
        self._platforms = {d: p for d, p in self._platforms.items() if d in digests}
