#!/usr/bin/env python3
"""What the controller costs while it waits, and how late it is when fifty hosts open in the same instant.

Three runs of ``kuik run`` as a process of its own: ten thousand hosts with nothing to read; fifty registries on
loopback, served by this process, whose windows all open at once each second; the same while two thousand pods change.
A window's lateness is taken where the engine has decided, a request's where the registry has read it, both from the
opening of the window.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import ClassVar, Final

from measure import ROOT, print_table

sys.path.insert(0, str(ROOT))

from runtime.clock import boot_clock

HOSTS: Final = 10_000
AT_ONCE: Final = 50
PODS: Final = 2_000
ONE_GRID: Final = 1_000_000_000
# the names are those of the table; milliseconds and a share of a core
LIMITS: Final = {"idle": 0.05, "decided": 20.0, "on the wire": 150.0}
ANSWER: Final = (
    b"HTTP/1.1 200 OK\r\nContent-Type: application/vnd.oci.image.manifest.v1+json\r\nContent-Length: 0\r\n"
    b"Docker-Content-Digest: sha256:" + b"0" * 64 + b"\r\n\r\n"
)
# runs kuik, and notes when the engine has opened a window, from the opening on
CHILD: Final = """
import atexit, json, sys
from runtime.clock import boot_clock
from runtime.controller.term import Term
late, opened = [], Term.opened
def noting(self, window):
    late.append(boot_clock() - window.opens)
    opened(self, window)
Term.opened = noting
atexit.register(lambda: json.dump(late, open("late.json", "w")))
from runtime.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


@contextmanager
def kuik(folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run the controller on a folder; it has ended cleanly when the context has."""
    arguments = ["run", "-c", "config.json", "-f", "manifests", "--state", "state", "--listen", "127.0.0.1:0"]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-c", CHILD, *arguments],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(ROOT), "NO_PROXY": "*"},
            stderr=log,
        )
        try:
            yield process
            process.send_signal(signal.SIGTERM)
            process.wait(30)
        finally:
            process.kill()


def cpu_of(process: subprocess.Popen[bytes]) -> float:
    """Read the CPU time that a process has had so far, in seconds, from /proc (Linux)."""
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def idle(folder: Path, seconds: float) -> tuple[float, float]:
    """Give the share of a core that ten thousand hosts cost with nothing to read, and the memory in MiB."""
    registries = {f"r{n}.example": {"check": {"interval": "30s"}, "copy": {"interval": "30s"}} for n in range(HOSTS)}
    write(folder, {"registries": registries}, [])
    with kuik(folder) as process:
        wait_for(folder / "state" / "pace.json")
        time.sleep(3)
        before, began = cpu_of(process), time.monotonic()
        time.sleep(seconds)
        share = (cpu_of(process) - before) / (time.monotonic() - began)
        status = Path(f"/proc/{process.pid}/status").read_text()
    return share, int(status.partition("VmRSS:")[2].split()[0]) / 1024


class Registry(asyncio.Protocol):
    """Answers whatever comes with one image, and notes when: a request is one segment on loopback."""

    arrived: ClassVar[list[int]] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Remember whom to answer."""
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        """Note the moment and answer."""
        self.arrived.append(boot_clock())
        assert isinstance(self.transport, asyncio.WriteTransport)
        self.transport.write(ANSWER * data.count(b"\r\n\r\n"))


async def crowd(folder: Path, seconds: float, *, pods: int = 0) -> tuple[list[float], list[float], float]:
    """Give how late windows were decided, and requests were read by the registries, each sorted, in milliseconds.

    And the share of a core that it took.

    Args:
        folder: an empty one.
        seconds: how long.
        pods: so many run images of these registries; every two seconds the file with them is another one.
    """
    Registry.arrived.clear()
    loop = asyncio.get_running_loop()
    servers = [await loop.create_server(Registry, "127.0.0.1", 0) for _ in range(AT_ONCE)]
    hosts = [f"127.0.0.1:{server.sockets[0].getsockname()[1]}" for server in servers]
    paced = {h: {"insecure": True, "check": {"interval": "1s"}, "copy": {"interval": "1h"}} for h in hosts}
    write(folder, {"registries": paced}, [f"{host}/x/{name}:1" for host in hosts for name in "abcd"])
    with kuik(folder) as process:
        await asyncio.to_thread(wait_for, folder / "state" / "pace.json")
        before, until = cpu_of(process), time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            if pods:
                await asyncio.to_thread(write_pods, folder, hosts, pods, round(left))
            await asyncio.sleep(min(left, 2))
        share = (cpu_of(process) - before) / seconds
    for server in servers:
        server.close()
    decided = [late / 1e6 for late in json.loads((folder / "late.json").read_text())]
    first = first_opening(folder)
    wire = [((moment - first) % ONE_GRID) / 1e6 for moment in Registry.arrived]
    return sorted(decided), sorted(wire), share


def first_opening(folder: Path) -> int:
    """Give the anchor of the windows on the boot clock, to the microsecond that its file has."""
    pace = json.loads((folder / "state" / "pace.json").read_text())
    anchor = datetime.fromisoformat(pace["hosts"][0]["check"]["anchor"]).timestamp()
    return round(anchor * 1e9) - (time.time_ns() - boot_clock())


def write(folder: Path, config: object, images: list[str]) -> None:
    """Write a configuration, and a pod that runs the images."""
    (folder / "manifests").mkdir()
    (folder / "config.json").write_text(json.dumps(config))
    containers = [{"name": f"c{n}", "image": image} for n, image in enumerate(images)]
    monitor = {"apiVersion": "kuik.enix.io/v1alpha1", "kind": "ImageMonitor", "metadata": {"name": "all"}}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": containers}}
    (folder / "manifests" / "all.yaml").write_text("\n---\n".join(map(json.dumps, (monitor, pod))))


def write_pods(folder: Path, hosts: list[str], pods: int, turn: int) -> None:
    """Write pods of three containers each; one of them runs something else each turn."""
    items = []
    for n in range(pods):
        images = (f"{hosts[(n + i) % len(hosts)]}/y/{n % 500}-{i}:{0 if n else turn}" for i in range(3))
        containers = [{"name": f"c{i}", "image": image} for i, image in enumerate(images)]
        items.append(
            {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"p{n}"}, "spec": {"containers": containers}}
        )
    temporary = folder / "pods.new"
    temporary.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    temporary.replace(folder / "manifests" / "pods.json")


def wait_for(path: Path) -> None:
    """Wait until a file is there."""
    until = time.monotonic() + 60
    while not path.exists():
        if time.monotonic() > until:
            raise SystemExit(f"{path.name} was not written; see {path.parent.parent / 'log'}")
        time.sleep(0.05)


def at(share: float, values: list[float]) -> float:
    """Give a quantile of sorted values."""
    return values[min(int(share * len(values)), len(values) - 1)]


def main() -> None:
    """Print the tables."""
    arguments = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    arguments.add_argument("--seconds", type=float, default=60)
    seconds = arguments.parse_args().seconds
    with tempfile.TemporaryDirectory() as folder:
        share, memory = idle(Path(folder), seconds)
    met = "yes" if share < LIMITS["idle"] else "NO"
    rows = [(f"{HOSTS} hosts, idle", f"{share:.1%}", f"{memory:.0f} MiB", f"{LIMITS['idle']:.0%}", met)]
    print_table(f"waiting, over {seconds:.0f} s", ("what", "of a core", "memory", "limit", "met"), rows)
    for pods in (0, PODS):
        with tempfile.TemporaryDirectory() as folder:
            print_lateness(asyncio.run(crowd(Path(folder), seconds, pods=pods)), seconds, pods)


def print_lateness(measured: tuple[list[float], list[float], float], seconds: float, pods: int) -> None:
    """Print a table of what ``crowd`` gave."""
    decided, wire, share = measured
    rows = []
    for name, late in (("decided", decided), ("on the wire", wire)):
        shown = [f"{at(q, late):.1f} ms" for q in (0.5, 0.99, 1.0)]
        met = "yes" if at(0.99, late) < LIMITS[name] else "NO"
        rows.append((name, *shown, f"{LIMITS[name]:.0f} ms", met))
    header = ("late", "median", "p99", "worst", "limit at p99", "met")
    what = f"{AT_ONCE} hosts in the same instant each second"
    besides = f", while {pods} pods change" if pods else ""
    print_table(f"{what}{besides}, over {seconds:.0f} s, {share:.0%} of a core", header, rows)


if __name__ == "__main__":
    main()
