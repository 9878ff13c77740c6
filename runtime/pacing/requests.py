"""Request keys: what makes two reads the same question to a registry (the terms of page 1, S5)."""

from __future__ import annotations

from typing import TypeAlias

from compiler.plan import HostPlan, Ring
from compiler.reference import split_host

__all__ = ["Key", "keys_of_ring", "secret_for", "secret_of"]

Key: TypeAlias = str | tuple[str, str]
"""The reference that is asked for; with the name of the secret beside it unless the question is anonymous.

A key is the reference's own string wherever it can be: a million of them cost nothing.
"""


def keys_of_ring(ring: Ring, host: HostPlan, images: tuple[str, ...]) -> tuple[Key, ...]:
    """Give the request key of each image of a ring, in order.

    Args:
        ring: whose credentials come before the host's.
        host: which the images are on.
        images: of the ring; all of them, or those that are there.
    """
    if not ring.auth and not host.auth and not any("@" in image for image in images):
        return images
    own = dict(ring.auth)
    return tuple(_key(image, own.get(image) or secret_for(image, host)) for image in images)


def secret_of(key: Key) -> str | None:
    """Give the secret that a key is asked with."""
    return None if isinstance(key, str) else key[1]


def secret_for(image: str, host: HostPlan) -> str | None:
    """Give the secret with which a host's own configuration reads an image."""
    return host.secret_for(split_host(_name(image))[1]) if host.auth else None


def _key(image: str, secret: str | None) -> Key:
    name, at, digest = image.partition("@")
    asked = f"{_name(name)}@{digest}" if at else image
    return asked if secret is None else (asked, secret)


def _name(image: str) -> str:
    """Cut tag and digest off; a colon before the last slash is a port's."""
    name = image.partition("@")[0]
    colon = name.find(":", name.rfind("/"))
    return name if colon < 0 else name[:colon]
