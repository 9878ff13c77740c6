#!/usr/bin/env python3
"""Copies between two registries on loopback: kuik's copier beside ``skopeo copy --all``, run by turns.

Both registries are Debian's docker-registry. Every run of either side writes to a registry of its own that was empty,
and skopeo's cache of blob locations starts empty as well; a second run, with nothing to do, follows on the same ones.
The copier is part of a process that runs for months, so the start of Python is a column of its own.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shlex
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Final

from measure import Cost, peak, print_table, ratio, run, wall

from runtime.registry import Copier, Registry, RegistryClient, Repository, Transfer
from tests.support import images
from tests.support.debian import Tool, Unavailable, find_tool, serve_registry

MIB: Final = 2**20
SMALL: Final = 200
# MiB of memory, as the issue that asked for this has it
MEMORY_LIMIT: Final = 150


@dataclass(frozen=True, slots=True)
class Case:
    """What is copied: these repositories, tag ``1`` of each."""

    title: str
    names: Sequence[str]


async def copy(source: str, target: str, names: Sequence[str]) -> float:
    """Copy one image after the other, as windows would; give the seconds that it took."""
    began = time.perf_counter()
    async with RegistryClient() as client:
        copier = Copier(client)
        for name in names:
            there = Repository(Registry(target, insecure=True), name, None, "pull,push")
            await copier.copy(Transfer(Repository(Registry(source, insecure=True), name), "1", there, ("1",)))
    return time.perf_counter() - began


def kuik_command(report: Path, source: str, target: str, names: Sequence[str]) -> list[str]:
    """Give a process of this script that copies, and reports the seconds in a file."""
    return [sys.executable, __file__, "--copy", str(report), source, target, *names]


def skopeo_command(skopeo: Tool, cache: Path, source: str, target: str, names: Sequence[str]) -> list[str]:
    """Give a shell that runs skopeo once an image: it knows no other way to copy a list with all platforms."""
    options = "--insecure-policy copy --all --quiet --src-tls-verify=false --dest-tls-verify=false"
    loop = f"for name; do {shlex.quote(str(skopeo.path))} {options} docker://{source}/$name:1 docker://{target}/$name:1"
    variables = [f"LD_LIBRARY_PATH={skopeo.libraries}", f"XDG_DATA_HOME={cache}"]
    return ["env", *variables, "sh", "-ec", f"{loop}; done", "sh", *names]


def fill(host: str, folder: Path, gibibytes: float) -> list[Case]:
    """Put the images into the source: many small ones over one base, and a large one in 8 layers."""
    base = images.layer(0, size=3 * MIB)
    names = [f"small/{number:03}" for number in range(SMALL)]
    for number, name in enumerate(names):
        own = images.layer(number + 1, size=40_000)
        config = images.Content("application/vnd.oci.image.config.v1+json", f'{{"number": {number}}}'.encode())
        images.push(host, name, ["1"], images.image([base, own], config))
    layers = [random_layer(folder / f"layer-{number}", int(gibibytes * 1024 / 8)) for number in range(8)]
    images.push(host, "large", ["1"], images.image(layers))
    return [Case(f"{SMALL} small images, one base", names), Case(f"{gibibytes:g} GiB in 8 layers", ["large"])]


def random_layer(path: Path, mebibytes: int) -> images.FileContent:
    """Write a layer that doesn't compress."""
    with path.open("wb") as writer:
        for _ in range(mebibytes):
            writer.write(os.urandom(MIB))
    return images.FileContent("application/vnd.oci.image.layer.v1.tar+gzip", path)


@dataclass(frozen=True, slots=True)
class Pair:
    """One run of each side, next to each other.

    Attributes:
        start: the seconds that Python took before and after copying.
    """

    kuik: Cost
    skopeo: Cost
    start: float


def measure(registry: Tool, skopeo: Tool, source: str, case: Case) -> tuple[Pair, Pair]:
    """Run each side once, then once more with nothing to do."""
    runs = []
    with tempfile.TemporaryDirectory() as scratch, serve_registry(registry, Path(scratch, "registry")) as target:
        report = Path(scratch, "seconds")
        for _ in range(2):
            cost = run(kuik_command(report, source, target, case.names))
            seconds = float(report.read_text())
            runs.append((replace(cost, wall=seconds), cost.wall - seconds))
    with tempfile.TemporaryDirectory() as scratch, serve_registry(registry, Path(scratch, "registry")) as target:
        command = skopeo_command(skopeo, Path(scratch, "cache"), source, target, case.names)
        first, second = run(command), run(command)
    return Pair(runs[0][0], first, runs[0][1]), Pair(runs[1][0], second, runs[1][1])


def main() -> None:
    """Print the table."""
    arguments = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    arguments.add_argument("--repeats", type=int, default=3)
    arguments.add_argument("--gibibytes", type=float, default=2)
    given = arguments.parse_args()
    try:
        registry, skopeo = find_tool("docker-registry"), find_tool("skopeo")
    except Unavailable as reason:
        print(f"bench/copies.py: no Debian packages to compare with: {reason}")
        return
    rows = []
    with tempfile.TemporaryDirectory() as scratch, serve_registry(registry, Path(scratch, "registry")) as source:
        for case in fill(source, Path(scratch), given.gibibytes):
            rounds = [measure(registry, skopeo, source, case) for _ in range(given.repeats)]
            for title, pairs in zip((case.title, "  again, nothing to do"), zip(*rounds, strict=True), strict=True):
                rows.append(row(title, pairs))
    print_table(
        f"Copying between two registries on loopback, medians of {given.repeats} runs by turns",
        ("", "kuik s", "skopeo s", "ratio", "kuik MiB", f"< {MEMORY_LIMIT} MiB and no slower", "start s"),
        rows,
    )


def row(title: str, pairs: Sequence[Pair]) -> tuple[str, ...]:
    """Give a line of the table."""
    kuik, skopeo = [p.kuik for p in pairs], [p.skopeo for p in pairs]
    met = ratio(kuik, skopeo) <= 1 and peak(kuik) < MEMORY_LIMIT
    numbers = (f"{wall(kuik):.2f}", f"{wall(skopeo):.2f}", f"{ratio(kuik, skopeo):.2f}", f"{peak(kuik):.0f}")
    return (title, *numbers, "yes" if met else "NO", f"{median(p.start for p in pairs):.2f}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--copy"]:
        Path(sys.argv[2]).write_text(str(asyncio.run(copy(sys.argv[3], sys.argv[4], sys.argv[5:]))))
    else:
        main()
