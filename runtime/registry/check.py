"""A check: is the image there, and is it still the one that runs?

It costs what the specification allows and not a request more: one HEAD, with a token where the host is known to want
one. Nothing is repeated for a better answer; the answer is the verdict.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from compiler.duration import SECOND, Nanoseconds, format_duration
from runtime.registry.client import Head, RegistryClient
from runtime.registry.errors import RequestFailed
from runtime.registry.limits import NO_LIMITS, Limits
from runtime.registry.manifest import Manifest
from runtime.registry.places import Repository
from runtime.registry.verdict import Available, Cause, Refusal, Unreachable, Verdict

__all__ = ["Checker", "Report"]

# digests of indexes whose platforms are known; more than a cluster has drifted images
_REMEMBERED: Final = 8192


@dataclass(frozen=True, slots=True)
class Report:
    """What a check found.

    Attributes:
        limits: what the registry said about its quota, for metrics and W10.
    """

    verdict: Verdict
    limits: Limits = NO_LIMITS


class Checker:
    """Checks images; remembers the platforms of the indexes that it has read."""

    def __init__(self, client: RegistryClient) -> None:
        self._client = client
        self._indexes: OrderedDict[str, frozenset[str]] = OrderedDict()

    async def check(
        self, repository: Repository, reference: str, *, within: Nanoseconds, running: Collection[str] | None = None
    ) -> Report:
        """Check one image; raises nothing but what ``before_request`` raises.

        Args:
            repository: as the credential sees it.
            reference: a digest, or a tag.
            within: the time for all of it: tokens, redirects and bodies included.
            running: the digests that run, to look for drift; None doesn't look. An index that is none of them is read
                once, because its platforms' digests are right answers too.
        """
        head: Head | None = None
        verdict: Refusal
        try:
            async with asyncio.timeout(within / SECOND):
                head = await self._client.head_manifest(repository, reference)
                if running is None or head.digest in running:
                    return Report(Available(head.digest), head.limits)
                return await self._with_platforms(repository, head)
        except RequestFailed as failed:
            verdict, limits = failed.verdict, failed.limits
        except TimeoutError:
            verdict, limits = Unreachable(Cause.TIMEOUT, f"no answer within {format_duration(within)}"), NO_LIMITS
        if head is not None:
            # the image is there, whatever became of reading its index
            return Report(Available(head.digest), head.limits.updated(limits))
        return Report(verdict, limits)

    async def _with_platforms(self, repository: Repository, head: Head) -> Report:
        limits = head.limits
        if head.digest not in self._indexes and head.may_be_index:
            manifest = head.manifest
            if manifest is None:
                fetched = await self._client.get_manifest(repository, head.digest)
                manifest, limits = fetched.manifest, limits.updated(fetched.limits)
            self._remember(head.digest, manifest)
        return Report(Available(head.digest, self._indexes.get(head.digest, frozenset())), limits)

    def _remember(self, digest: str, manifest: Manifest) -> None:
        self._indexes[digest] = frozenset(d.digest for d in manifest.needs) if manifest.is_index else frozenset()
        if len(self._indexes) > _REMEMBERED:
            self._indexes.popitem(last=False)
