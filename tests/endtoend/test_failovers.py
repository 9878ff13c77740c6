"""Two replicas at one registry, whose leaders are killed, stopped, frozen and cut off: what the registry sees of it.

``KUIK_FAILOVERS`` says how many faults there are; `make soak` raises it.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from runtime.cluster.api import Call
from tests.cluster.api_server import ApiServer
from tests.cluster.proxy import Proxy, proxied
from tests.cluster.surroundings import Kubernetes, eventually
from tests.endtoend.scene import SECOND, cluster_of, configure, monitor_of, pod_of, replica, status_when, to_boot
from tests.support.kuik_process import KuikProcess
from tests.support.recording_registry import Asked, RecordingRegistry, recording_registry

FAILOVERS = int(os.environ.get("KUIK_FAILOVERS", "4"))
FAULTS = ("kill", "stop", "freeze", "cut off")
EXITS = {"kill": -signal.SIGKILL, "stop": 0, "freeze": 1, "cut off": 1}

INTERVAL = SECOND
MILLISECOND = SECOND // 1000
STATUS_SPACING_SECONDS = 5
# a machine that is busy with other tests must not lose a lease that nobody has taken away
ELECTION = {"leaseDuration": "4s", "renewDeadline": "3s", "retryPeriod": "250ms"}


# more than the windows of a whole run: the lap of the first leader is still that of the last
IMAGES = 100 + 20 * FAILOVERS
IMAGES_A_POD = 50


@dataclass(slots=True)
class Replica:
    process: KuikProcess
    proxy: Proxy

    @property
    def leads(self) -> bool:
        return bool(self.process.said("leading")) and self.process.returncode is None

    @property
    def status_writes(self) -> list[float]:
        return [r.at for r in self.proxy.requests if r.method == "PATCH" and r.path.endswith("/status")]


@dataclass(frozen=True, slots=True)
class Term:
    """What was known when a leader had taken the lease and not yet opened a window.

    Attributes:
        since: when it asked for the lease, on CLOCK_BOOTTIME.
        anchor: of its grid, a moment later: when it had the lease.
        transitions: of the lease.
        place: where it goes on, by the status.
        after: what ended the term before.
    """

    since: int
    anchor: int
    transitions: int
    place: dict[str, Any]
    after: str


class Group:
    """Replicas of one test, each behind a network of its own."""

    def __init__(self, server: ApiServer, config: Path, folder: Path, stack: AsyncExitStack) -> None:
        self._server, self._config, self._folder, self._stack = server, config, folder, stack
        self.members = list[Replica]()

    async def join(self) -> Replica:
        proxy = await self._stack.enter_async_context(proxied(self._server, self._folder, "kuik"))
        process = self._stack.enter_context(replica(proxy.kubeconfig, self._config, "--grace", "1s"))
        self.members.append(Replica(process, proxy))
        return self.members[-1]

    async def leader(self, *, but: Replica | None = None) -> Replica:
        """Wait until one leads, another than the one that is named."""
        return await eventually(lambda: next((m for m in self.members if m.leads and m is not but), None), 30)


async def begin(place: Kubernetes, leader: Replica, after: str) -> Term:
    """Look at the lease and the status; before the first window both are as the term found them."""
    lease = await place.api.send(Call("/apis/coordination.k8s.io/v1/namespaces/kuik-system/leases/kuik-reconciler"))
    status = await place.status(f"ImageMonitor/{place.name}") or {}
    (at,) = status.get("checks", {}).get("registries") or [{}]
    anchor = to_boot(leader.process.said("leading")[0]["since"])
    return Term(to_boot(lease["spec"]["acquireTime"]), anchor, lease["spec"]["leaseTransitions"], at, after)


def checked_more_than(term: Term) -> Callable[[dict[str, Any]], bool]:
    before = term.place.get("checked", 0)
    return lambda status: any(r["checked"] > before for r in status["checks"]["registries"])


async def strike(fault: str, leader: Replica, group: Group) -> int:
    """Let a leader fail, wait until another leads, and give the exit code of the one that failed."""
    match fault:
        case "kill":
            leader.process.send(signal.SIGKILL)
        case "stop":
            leader.process.send(signal.SIGTERM)
        case "freeze":
            leader.process.send(signal.SIGSTOP)
        case "cut off":
            leader.proxy.is_mute = True
    await group.leader(but=leader)
    writes = leader.status_writes
    if fault == "freeze":
        # until it has a status to write as soon as it goes on
        await eventually(lambda: asyncio.get_running_loop().time() > writes[-1] + STATUS_SPACING_SECONDS)
        leader.process.send(signal.SIGCONT)
    code = await eventually(lambda: leader.process.returncode is not None and (leader.process.returncode,), 30)
    assert writes == leader.status_writes, "what an old leader knew is not written over what the new one knows"
    return int(code[0])


async def run_through(
    faults: list[str], server: ApiServer, folder: Path, registry: RecordingRegistry
) -> tuple[list[Term], list[str]]:
    """Strike one leader after another; give the terms, and the order of the ring."""
    config = configure(folder, {registry.host: "1s"}, controller={"leaderElection": ELECTION})
    images = [f"{registry.host}/team/app-{n:04}:1" for n in range(IMAGES)]
    terms = list[Term]()
    async with AsyncExitStack() as stack:
        place = await stack.enter_async_context(cluster_of(server))
        for n in range(0, IMAGES, IMAGES_A_POD):
            await place.apply(pod_of(place, f"pod-{n}", *images[n : n + IMAGES_A_POD]))
        await place.apply(monitor_of(place))
        group = Group(server, config, folder, stack)
        await group.join()
        leader, after = await group.leader(), ""
        for fault in (*faults, ""):
            terms.append(await begin(place, leader, after))
            count = len(registry.asked)
            await group.join()
            await eventually(lambda count=count: len(registry.asked) >= count + 2, 30)
            if fault not in {"", "stop"}:
                # so that there is something to go on from; a stop writes it by itself
                await status_when(place, f"ImageMonitor/{place.name}", checked_more_than(terms[-1]))
            if fault:
                assert EXITS[fault] == await strike(fault, leader, group)
                leader, after = await group.leader(but=leader), fault
    return terms, [f"/v2/team/app-{n:04}/manifests/1" for n in range(IMAGES)]


@pytest.mark.rule("W2")
@pytest.mark.rule("W9")
@pytest.mark.rule("R3")
def test_the_registry_sees_one_pace_whatever_befalls_the_leaders(stage_server: ApiServer, tmp_path: Path) -> None:
    faults = [FAULTS[n % len(FAULTS)] for n in range(FAILOVERS)]
    random.Random(5).shuffle(faults)

    with recording_registry() as registry:
        terms, ring = asyncio.run(run_through(faults, stage_server, tmp_path, registry))
        asked = registry.asked

    assert len(faults) + 1 == len(terms)
    of_term = [
        [a for a in asked if term.since <= a.at < end]
        for term, end in zip(terms, [*(t.since for t in terms[1:]), asked[-1].at + 1], strict=True)
    ]
    for term, seen in zip(terms, of_term, strict=True):
        assert seen[0].at > term.anchor + INTERVAL - MILLISECOND
        windows = [(a.at - term.since) // INTERVAL for a in seen]
        assert windows[0] >= 1, (
            "nothing goes out in the first interval, neither from the new leader nor from an old one"
        )
        assert sorted(set(windows)) == windows, "no two in one interval of the grid"
    for (old, before), (new, seen) in pairwise(zip(terms, of_term, strict=True)):
        assert old.transitions + 1 == new.transitions
        assert_goes_on(before, new, seen, ring)


def assert_goes_on(before: list[Asked], term: Term, seen: list[Asked], ring: list[str]) -> None:
    """The status says where the term began; what it didn't yet say, at most five seconds' visits, is read again."""
    visited = term.place["checked"]
    last = ring.index(before[-1].path)
    assert ring[visited - 1].split("/")[3] in term.place["cursor"]
    assert [ring[visited + n] for n in range(len(seen))] == [a.path for a in seen]
    assert 0 <= last + 1 - visited <= (0 if term.after == "stop" else 10)
