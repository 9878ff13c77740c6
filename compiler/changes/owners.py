"""Compares who reads a registry in two plans: the rings of its checks and the queues of its copies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from compiler.changes.resource import (
    AccessChanges,
    ImagesChange,
    OrderChanges,
    OwnerJoins,
    OwnerLeaves,
    OwnerSuspends,
    ResourceChange,
)
from compiler.plan import HostPlan, Operation, Queue, Ring
from compiler.reference import split_host

__all__ = ["compare_owners"]

_Readers: TypeAlias = Sequence[Ring] | Sequence[Queue]


def compare_owners(host: str, old: HostPlan | None, new: HostPlan | None) -> Iterator[ResourceChange]:
    """Give what changes for the resources that read one host, Check before Copy, each by owner.

    Args:
        host: its name.
        old: the host in the old plan, None if it wasn't there.
        new: the host in the new plan, None if it isn't there any more.
    """
    rings, rings_now = (h.check.rings if h else () for h in (old, new))
    queues, queues_now = (h.copy.queues if h else () for h in (old, new))
    shared = _shared(new, rings) if new else {}
    yield from _compare(host, Operation.CHECK, rings, rings_now, shared)
    yield from _compare(host, Operation.COPY, queues, queues_now, {})


def _compare(
    host: str, operation: Operation, old: _Readers, new: _Readers, shared: Mapping[str, int]
) -> Iterator[ResourceChange]:
    before, after = {r.owner: r for r in old}, {r.owner: r for r in new}
    for owner in sorted(before.keys() | after.keys()):
        was, now = before.get(owner), after.get(owner)
        if was is None and now is not None:
            yield OwnerJoins(host, operation, owner, _images(now), shared.get(owner, 0), now.suspended)
        elif now is None and was is not None:
            yield OwnerLeaves(host, operation, owner, _images(was))
        elif was is not None and now is not None and was != now:
            yield from _differences(host, operation, was, now)


def _differences(host: str, operation: Operation, was: Ring | Queue, now: Ring | Queue) -> Iterator[ResourceChange]:
    images, images_now = _images(was), _images(now)
    known, wanted = set(images), set(images_now)
    gained = tuple(i for i in images_now if i not in known)
    lost = tuple(i for i in images if i not in wanted)
    moved = _moved(was, now)
    if gained or lost or moved:
        yield ImagesChange(host, operation, now.owner, gained, lost, moved, len(images), len(images_now))
    # the order of those that stay: a gain or a loss is no other order
    if [i for i in images if i in wanted] != [i for i in images_now if i in known]:
        yield OrderChanges(host, operation, now.owner)
    if was.suspended != now.suspended:
        yield OwnerSuspends(host, operation, now.owner, now.suspended)
    if isinstance(was, Ring) and isinstance(now, Ring):
        yield from _access(host, was, now, known & wanted)


def _moved(was: Ring | Queue, now: Ring | Queue) -> tuple[str, ...]:
    """Give the images of a queue that stay and are written to another place."""
    if isinstance(was, Ring) or isinstance(now, Ring):
        return ()
    places = {c.image: c for c in was.images}
    return tuple(c.image for c in now.images if places.get(c.image, c) != c)


def _access(host: str, was: Ring, now: Ring, stay: set[str]) -> Iterator[AccessChanges]:
    secrets, secrets_now = dict(was.auth), dict(now.auth)
    credentials = sorted(
        i for i in stay & (secrets.keys() | secrets_now.keys()) if secrets.get(i) != secrets_now.get(i)
    )
    scheme = sorted(stay & (set(was.insecure) ^ set(now.insecure)))
    if credentials or scheme:
        yield AccessChanges(host, Operation.CHECK, now.owner, tuple(credentials), tuple(scheme))


def _images(reader: Ring | Queue) -> tuple[str, ...]:
    return reader.images if isinstance(reader, Ring) else tuple(c.image for c in reader.images)


def _shared(host: HostPlan, old: Sequence[Ring]) -> dict[str, int]:
    """Count, for each ring that joins, the images that cost no window of their own (S1).

    These are the ones that a ring which stays, or one counted before it, asks the registry for in the same words. A
    suspended ring takes no turn, so it asks for nothing.
    """
    before = {r.owner for r in old}
    joining = [r for r in host.check.rings if r.owner not in before]
    if not joining:
        return {}
    asked = {key for r in host.check.rings if r.owner in before and not r.suspended for key in _keys(host, r)}
    shared = {}
    for ring in joining:
        keys = _keys(host, ring)
        shared[ring.owner] = sum(key in asked for key in keys)
        if not ring.suspended:
            asked.update(keys)
    return shared


def _keys(host: HostPlan, ring: Ring) -> list[tuple[str, str | None]]:
    """Give what a ring asks for: what is read, and the secret where it isn't the one that the host has for it."""
    own = {image: secret for image, secret in ring.auth if secret != host.secret_for(_repository(image))}
    return [(_read(image), own.get(image)) for image in ring.images]


def _read(image: str) -> str:
    """Give the reference without what the registry isn't asked: the tag beside a digest."""
    if "@" not in image:
        return image
    return f"{_name(image)}@{image.partition('@')[2]}"


def _repository(image: str) -> str:
    return split_host(_name(image))[1]


def _name(image: str) -> str:
    tagged = image.partition("@")[0]
    return tagged[: tagged.find(":", tagged.rfind("/"))] if ":" in tagged[tagged.rfind("/") :] else tagged
