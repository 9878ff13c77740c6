"""Leaders that are killed, stopped, frozen and cut off, one after another: at no time do two of them send.

``KUIK_FAILOVERS`` says how many faults there are; a long run has hundreds.
"""

import asyncio
import os
import random
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest

from tests.cluster.api_server import ApiServer
from tests.cluster.proxy import Proxy, proxied
from tests.cluster.surroundings import Kubernetes, eventually, kubernetes

FAILOVERS = int(os.environ.get("KUIK_FAILOVERS", "4"))
FAULTS = ("kill", "stop", "freeze", "cut off")


@dataclass(slots=True)
class Contender:
    process: subprocess.Popen[bytes]
    proxy: Proxy
    log: Path

    def lines(self) -> list[tuple[str, int]]:
        if not self.log.exists():
            return []
        # the last line may be half written
        whole = self.log.read_text().rpartition("\n")[0]
        return [(word, int(time)) for word, time in map(str.split, whole.splitlines())]

    @property
    def leads(self) -> bool:
        return bool(self.lines()) and self.process.poll() is None


@asynccontextmanager
async def contender(server: ApiServer, place: Kubernetes, log: Path, root: Path) -> AsyncIterator[Contender]:
    async with proxied(server, log.parent) as proxy:
        command = [sys.executable, "-m", "tests.cluster.contender", proxy.kubeconfig, place.name, str(log)]
        with subprocess.Popen(command, cwd=root) as process:  # noqa: ASYNC220  started once, in milliseconds
            try:
                yield Contender(process, proxy, log)
            finally:
                process.kill()


async def strike(fault: str, leader: Contender, others: list[Contender]) -> None:
    """Let a leader fail, and wait until another leads."""
    led = {id(other) for other in others if other.lines()}
    match fault:
        case "kill":
            leader.process.kill()
        case "stop":
            leader.process.terminate()
        case "freeze":
            leader.process.send_signal(signal.SIGSTOP)
        case "cut off":
            leader.proxy.is_mute = True
    await eventually(lambda: any(other.leads and id(other) not in led for other in others), 30)
    if fault == "freeze":
        leader.process.send_signal(signal.SIGCONT)
    status = await asyncio.to_thread(leader.process.wait, 30)
    assert {"kill": -signal.SIGKILL, "stop": 0}.get(fault, 1) == status


@pytest.mark.rule("W9")
def test_w9_no_two_send_at_a_time_whatever_befalls_the_leaders(
    api_server: ApiServer, tmp_path: Path, root: Path
) -> None:
    rng = random.Random(3)
    faults = [FAULTS[n % len(FAULTS)] for n in range(FAILOVERS)]
    rng.shuffle(faults)

    async def scenario() -> list[list[tuple[str, int]]]:
        async with AsyncExitStack() as stack:
            place = await stack.enter_async_context(kubernetes(api_server))
            everybody = list[Contender]()

            async def join() -> None:
                log = tmp_path / f"{len(everybody)}.log"
                everybody.append(await stack.enter_async_context(contender(api_server, place, log, root)))

            await join()
            for fault in faults:
                await join()
                leader = await eventually(lambda: next((c for c in everybody if c.leads), None), 30)
                await asyncio.sleep(rng.uniform(0, 0.3))
                await strike(fault, leader, [c for c in everybody if c is not leader])
            return [c.lines() for c in everybody if c.lines()]

    terms = sorted((lines for lines in asyncio.run(scenario())), key=lambda lines: lines[0][1])

    assert len(terms) > len(faults)
    for old, new in pairwise(terms):
        assert "taken" == new[0][0]
        assert old[-1][1] < new[0][1], "what the old one sent last was before the new one took the lease"
