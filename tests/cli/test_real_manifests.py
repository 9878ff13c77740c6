"""Every image of real manifests, once, on the right host, canonical and in order; counted another way to compare."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from pathlib import Path

import pytest

from tests.cli.conftest import MONITOR, Kuik

DATA = Path(__file__).resolve().parent / "data"
KIND = re.compile(r"^kind: (\w+)$", re.MULTILINE)
IMAGE = re.compile(r"^ +(?:- )?image: (\S+)$", re.MULTILINE)
PODS = {"Deployment", "StatefulSet", "DaemonSet"}


def counted(folder: Path) -> dict[str, list[str]]:
    """Find the images of a folder by lines of text alone, and complete the names of Docker Hub."""
    hosts: dict[str, set[str]] = defaultdict(set)
    for path in folder.rglob("*.yaml"):
        for document in re.split(r"^---$", path.read_text(encoding="utf-8"), flags=re.MULTILINE):
            if set(KIND.findall(document)) & PODS:
                for image in IMAGE.findall(document):
                    name = image if "." in image.split("/")[0] else f"docker.io/{image}"
                    hosts[name.split("/")[0]].add(name)
    return {host: sorted(images) for host, images in sorted(hosts.items())}


@pytest.fixture(scope="module")
def expected() -> dict[str, list[str]]:
    found = counted(DATA)
    # the fixtures are as they were taken: a regular expression that finds nothing proves nothing
    assert ["docker.io", "ghcr.io", "public.ecr.aws", "quay.io", "registry.k8s.io"] == list(found)
    assert 11 == sum(map(len, found.values()))
    return found


def test_every_image_is_in_the_ring_of_its_host_once(kuik: Kuik, expected: dict[str, list[str]]) -> None:
    (kuik.folder / "monitor.yaml").write_text(MONITOR)

    done = kuik("plan", "-f", "monitor.yaml", "-f", str(DATA), "-o", "json")

    rings = {h["host"]: [r["images"] for r in h["check"]["rings"]] for h in json.loads(done.stdout)["hosts"]}
    assert {host: [images] for host, images in expected.items()} == rings
    assert "13 workloads; 4 objects of 3 other kinds skipped" in done.stderr


def test_every_image_is_in_the_queue_of_its_host_once(kuik: Kuik, expected: dict[str, list[str]]) -> None:
    (kuik.folder / "mirror.yaml").write_text(
        MONITOR.replace("ImageMonitor", "ImageMirror") + "spec: {destination: {path: registry.tld/mirror}}\n"
    )

    done = kuik("plan", "-f", "mirror.yaml", "-f", str(DATA), "-o", "json")

    queues = {
        h["host"]: [(c["image"], c["to"]) for q in h["copy"]["queues"] for c in q["images"]]
        for h in json.loads(done.stdout)["hosts"]
    }
    assert {h: [(i, f"registry.tld/mirror/{i}") for i in images] for h, images in expected.items()} == queues


def test_what_tools_print_gives_the_same_plan(kuik: Kuik) -> None:
    (kuik.folder / "monitor.yaml").write_text(MONITOR)
    files = " ".join(f"'{path}'" for path in sorted(DATA.rglob("*.yaml")))

    folder = kuik("plan", "-f", "monitor.yaml", "-f", str(DATA), "-o", "yaml")
    stream = kuik.shell(
        f"for f in monitor.yaml {files}; do echo ---; cat $f; done | sed 's/^---$/---\\n# Source: chart/' "
        "| kuik plan -f - -o yaml"
    )

    assert (0, folder.stdout) == (stream.returncode, stream.stdout)
