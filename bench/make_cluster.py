#!/usr/bin/env python3
"""Writes a made-up cluster of any size: what ``kubectl get pods -A`` or ``helm template`` print, the same every time.

Standard library only, so that it also serves where nothing is installed::

    python bench/make_cluster.py --pods 10000 --format yaml > pods.yaml
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, TextIO

Object = dict[str, Any]

SEED: Final = 20261130
# a cluster's images stay few while its pods grow; three of four pods have one container
CONTAINER_COUNTS: Final = (1, 1, 1, 2, 3)
FORMATS: Final = ("json", "yaml", "docs")


@dataclass(frozen=True, slots=True)
class Cluster:
    """How large the cluster is."""

    pods: int
    images: int = 2000
    hosts: int = 20
    namespaces: int = 50


def make_pods(cluster: Cluster) -> Iterator[Object]:
    """Give the pods one by one; a larger cluster of the same images begins with the pods of a smaller one."""
    rng = random.Random(SEED)
    for number in range(cluster.pods):
        yield _pod(number, rng, cluster)


def write(cluster: Cluster, form: str, file: TextIO) -> None:
    """Write the cluster as ``json`` or ``yaml`` (one List), or as ``docs`` (one YAML document a pod)."""
    if form == "json":
        json.dump({"apiVersion": "v1", "kind": "List", "items": list(make_pods(cluster))}, file, indent=4)
        file.write("\n")
        return
    if form == "yaml":
        file.write('apiVersion: "v1"\nkind: "List"\nitems:\n')
    for pod in make_pods(cluster):
        lines = _yaml_lines(pod) if form == "docs" else _yaml_lines([pod])
        file.write("---\n" if form == "docs" else "")
        file.writelines(f"{line}\n" for line in lines)


def _image(app: int, container: int, cluster: Cluster) -> str:
    number = app + container
    host = f"registry-{app % cluster.hosts:02d}.example.com" if app % cluster.hosts else "docker.io"
    return f"{host}/team-{app % 40:02d}/app-{number % cluster.images:05d}:v{number % 9}.{number % 7}"


def _pod(number: int, rng: random.Random, cluster: Cluster) -> Object:
    app = rng.randrange(cluster.images)
    images = [_image(app, container, cluster) for container in range(rng.choice(CONTAINER_COUNTS))]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": _metadata(number, app, rng, cluster),
        "spec": _spec(number, images),
        "status": _status(images, rng),
    }


def _metadata(number: int, app: int, rng: random.Random, cluster: Cluster) -> Object:
    name = f"app-{app:05d}"
    return {
        "name": f"{name}-{number:06x}",
        "namespace": f"ns-{number % cluster.namespaces:03d}",
        "labels": {
            "app.kubernetes.io/name": name,
            "pod-template-hash": f"{app * 7919 % 10**8:08x}",
            "tier": rng.choice(("web", "db", "job")),
        },
        "annotations": {"checksum/config": f"{rng.getrandbits(256):064x}"},
        "ownerReferences": [
            {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": name, "uid": f"{rng.getrandbits(128):032x}"}
        ],
    }


def _spec(number: int, images: list[str]) -> Object:
    return {
        "nodeName": f"node-{number % 100:03d}",
        "serviceAccountName": "default",
        "containers": [_container(f"c{position}", image) for position, image in enumerate(images)],
        "volumes": [{"name": "tmp", "emptyDir": {}}],
        "tolerations": [
            {
                "key": "node.kubernetes.io/not-ready",
                "operator": "Exists",
                "effect": "NoExecute",
                "tolerationSeconds": 300,
            }
        ],
    }


def _container(name: str, image: str) -> Object:
    return {
        "name": name,
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "env": [{"name": f"VAR_{i}", "value": f"value-{i}"} for i in range(8)],
        "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}, "limits": {"memory": "128Mi"}},
        "volumeMounts": [{"name": "tmp", "mountPath": "/tmp"}],
    }


def _status(images: list[str], rng: random.Random) -> Object:
    return {
        "phase": "Running",
        "conditions": [
            {"type": name, "status": "True", "lastTransitionTime": "2026-11-01T00:00:00Z"}
            for name in ("Initialized", "Ready", "PodScheduled")
        ],
        "containerStatuses": [
            {
                "name": f"c{position}",
                "image": image,
                "imageID": f"{image.rsplit(':', 1)[0]}@sha256:{rng.getrandbits(256):064x}",
                "ready": True,
                "restartCount": 0,
            }
            for position, image in enumerate(images)
        ],
    }


def _yaml_lines(value: Any, indent: int = 0) -> Iterator[str]:
    """Give block style as kubectl prints it: a list stands at the column of its key."""
    pad = "  " * indent
    if isinstance(value, list):
        for item in value:
            first, *rest = _yaml_lines(item, indent + 1)
            yield f"{pad}- {first.lstrip()}"
            yield from rest
        return
    for key, inner in value.items():
        if isinstance(inner, dict | list) and inner:
            yield f"{pad}{key}:"
            yield from _yaml_lines(inner, indent + isinstance(inner, dict))
        else:
            yield f"{pad}{key}: {json.dumps(inner)}"


def main() -> None:
    """Write to standard output what the arguments ask for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    defaults = Cluster(pods=0)
    parser.add_argument("--pods", type=int, required=True)
    parser.add_argument("--images", type=int, default=defaults.images)
    parser.add_argument("--hosts", type=int, default=defaults.hosts)
    parser.add_argument("--namespaces", type=int, default=defaults.namespaces)
    parser.add_argument("--format", choices=FORMATS, default="json")
    a = parser.parse_args()
    write(Cluster(a.pods, a.images, a.hosts, a.namespaces), a.format, sys.stdout)


if __name__ == "__main__":
    main()
