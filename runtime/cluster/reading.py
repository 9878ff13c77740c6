"""Kubernetes objects as kuik keeps them: read once, at the door, so that a raw pod never stays in memory."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterator, Mapping
from sys import intern
from typing import Any, Final

from compiler.diagnostics import Diagnostic
from compiler.reference import InvalidReference, Reference, parse_reference
from compiler.source import Document, Object
from compiler.workloads import ORIGINAL_IMAGES, ImageComplaints, Workload, read_workload
from runtime.cluster.port import Sighting

__all__ = ["labels_of", "object_of", "read_docker_config", "read_platform", "read_sighting"]

DOCKER_CONFIG: Final = ".dockerconfigjson"
"""The key of a ``kubernetes.io/dockerconfigjson`` Secret."""


def object_of(value: Mapping[str, Any], kind: str, api_version: str) -> Object:
    """Give an object of a cluster a place to be named by in messages: ``Kind/[namespace/]name``."""
    metadata = value["metadata"]
    name = "/".join(filter(None, (kind, metadata.get("namespace"), metadata["name"])))
    whole = {"apiVersion": api_version, "kind": kind, **value}
    return Object(whole, Document(name, 1, whole).place, kind, api_version)


def read_sighting(
    found: Object, insecure: frozenset[str], complaints: ImageComplaints
) -> tuple[Sighting | None, list[Diagnostic]]:
    """Read a workload with what it runs.

    Returns:
        None for a pod that has ended or can't be read; and what is odd about it.
    """
    workload, odd = read_workload(found, insecure, complaints)
    if workload is None:
        return None, odd
    compact = Workload(
        intern(workload.namespace),
        {intern(key): intern(value) for key, value in workload.labels.items()},
        workload.images,
        workload.is_template,
    )
    running = () if workload.is_template else tuple(dict.fromkeys(_running(found.value, insecure)))
    return Sighting(compact, running), odd


def read_platform(node: Mapping[str, Any]) -> str | None:
    """Give ``os/architecture`` of a Node; None when its kubelet has not told."""
    info = _mapping(_mapping(node.get("status")).get("nodeInfo"))
    system, architecture = info.get("operatingSystem"), info.get("architecture")
    return f"{system}/{architecture}" if system and architecture else None


def read_docker_config(secret: Mapping[str, Any]) -> str | None:
    """Give the text of the config.json in a Secret; None when it holds none. Nothing of it is ever in an error."""
    plain = _mapping(secret.get("stringData")).get(DOCKER_CONFIG)
    if isinstance(plain, str):
        return plain
    encoded = _mapping(secret.get("data")).get(DOCKER_CONFIG)
    try:
        return base64.b64decode(encoded).decode() if isinstance(encoded, str) else None
    except (binascii.Error, UnicodeDecodeError):
        return None


def labels_of(value: Mapping[str, Any]) -> Mapping[str, str]:
    """Give the labels of an object, those that are text."""
    labels = _mapping(_mapping(value.get("metadata")).get("labels"))
    return {intern(k): intern(v) for k, v in labels.items() if isinstance(k, str) and isinstance(v, str)}


def _running(pod: Mapping[str, Any], insecure: frozenset[str]) -> Iterator[tuple[Reference, str]]:
    """Give what a pod's containers run: the image that was asked for, and the digest that the node has pulled.

    An ``imageID`` without a repository is the digest of a configuration, which says nothing of a manifest.
    """
    spec = _mapping(pod.get("spec"))
    containers = (c for group in ("initContainers", "containers") for c in _entries(spec.get(group)))
    images: dict[Any, Any] = {c.get("name"): c.get("image") for c in containers}
    images.update(_originals(pod))
    for group in ("initContainerStatuses", "containerStatuses"):
        for status in _entries(_mapping(pod.get("status")).get(group)):
            _, at, digest = str(status.get("imageID") or "").rpartition("@")
            image = images.get(status.get("name"))
            if at and isinstance(image, str):
                try:
                    yield parse_reference(image, insecure), intern(digest)
                except InvalidReference:
                    continue  # complained about where the images are read


def _originals(pod: Mapping[str, Any]) -> Mapping[str, str]:
    annotation = _mapping(_mapping(pod.get("metadata")).get("annotations")).get(ORIGINAL_IMAGES)
    if not isinstance(annotation, str):
        return {}
    try:
        originals = json.loads(annotation)
    except (ValueError, RecursionError):
        return {}
    return originals if isinstance(originals, dict) and all(isinstance(v, str) for v in originals.values()) else {}


def _entries(value: Any) -> Iterator[Mapping[str, Any]]:
    return (entry for entry in value if isinstance(entry, dict)) if isinstance(value, list) else iter(())


def _mapping(value: Any) -> Mapping[Any, Any]:
    return value if isinstance(value, dict) else {}
