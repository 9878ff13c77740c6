"""The lease against a real API server: one leads, whatever happens to the network and to the processes (W8, W9)."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from compiler.duration import MILLISECOND, SECOND
from runtime.clock import boot_clock, timestamp
from runtime.cluster.api import Call
from runtime.cluster.kube import open_cluster
from runtime.cluster.leadership import Leadership, LeaseTimes
from tests.cluster.api_server import ApiServer
from tests.cluster.proxy import Answer, Proxy, Request, proxied
from tests.cluster.surroundings import IN_A_HURRY, SHORT, Kubernetes, eventually, kubernetes

LEASES = "/apis/coordination.k8s.io/v1/namespaces/{}/leases"


@asynccontextmanager
async def scene(server: ApiServer, folder: Path) -> AsyncIterator[tuple[Kubernetes, Proxy]]:
    async with asyncio.timeout(60), kubernetes(server) as place, proxied(server, folder) as proxy:
        yield place, proxy


@asynccontextmanager
async def leading(place: Kubernetes, kubeconfig: str, times: LeaseTimes = SHORT) -> AsyncIterator[Leadership]:
    async with open_cluster(place.name, kubeconfig, None, IN_A_HURRY) as cluster, cluster.lead(times) as leadership:
        yield leadership


async def lease_of(place: Kubernetes) -> dict[str, Any]:
    lease = await place.api.send(Call(f"{LEASES.format(place.name)}/kuik-reconciler"))
    return dict(lease["spec"])


def is_lease(request: Request) -> bool:
    return "/leases" in request.path


def test_lease_says_who_holds_it_since_when_and_for_how_long(api_server: ApiServer, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with scene(api_server, tmp_path) as (place, _):
            before = timestamp()
            async with leading(place, api_server.kubeconfig):
                held = await lease_of(place)
            released = await lease_of(place)

            assert held["holderIdentity"].startswith(os.uname().nodename)
            assert before <= held["acquireTime"] <= timestamp()
            assert before <= held["renewTime"] <= timestamp()
            assert (1, 0) == (held["leaseDurationSeconds"], held["leaseTransitions"])
            assert ("", 1) == (released.get("holderIdentity", ""), released["leaseDurationSeconds"])

    asyncio.run(scenario())


@pytest.mark.rule("W9")
def test_w9_leader_that_is_cut_off_stops_before_another_begins(api_server: ApiServer, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with scene(api_server, tmp_path) as (place, proxy), leading(place, proxy.kubeconfig) as old:
            proxy.is_mute = True
            async with leading(place, api_server.kubeconfig) as new:
                assert old.runs_out_at < new.taken_at
                assert not old.may_send(boot_clock())
                assert new.may_send(boot_clock())
                assert "the lease could not be renewed in time" == await old.lost()
                assert old.transitions + 1 == new.transitions

    asyncio.run(scenario())


@pytest.mark.rule("W9")
def test_w9_may_send_counts_from_the_start_of_a_renewal(api_server: ApiServer, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with scene(api_server, tmp_path) as (place, proxy), leading(place, proxy.kubeconfig) as leadership:
            # nothing arrives any more, but what was asked may have been done
            proxy.is_mute = True
            muted_at = boot_clock()
            await leadership.lost()

            assert leadership.runs_out_at <= muted_at + SHORT.renew_deadline
            assert not leadership.may_send(leadership.runs_out_at - 1), "lost is lost"

    asyncio.run(scenario())


def test_failed_renewals_are_made_good_within_the_deadline(api_server: ApiServer, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with scene(api_server, tmp_path) as (place, proxy), leading(place, proxy.kubeconfig) as leadership:
            failures = iter([(500, {}), (429, {"Retry-After": "1"})])

            def fail(request: Request) -> Answer | None:
                return next(failures, None) if is_lease(request) else None

            proxy.answer = fail
            before = leadership.runs_out_at
            await eventually(lambda: next(failures, "none left") == "none left" and leadership.runs_out_at > before)

            assert not leadership.is_lost

    asyncio.run(scenario())


@pytest.mark.rule("W9")
def test_w9_lease_taken_by_another_is_lost_at_the_next_renewal(api_server: ApiServer, tmp_path: Path) -> None:
    async def scenario() -> str:
        async with scene(api_server, tmp_path) as (place, _), leading(place, api_server.kubeconfig) as leadership:
            path = f"{LEASES.format(place.name)}/kuik-reconciler"
            body = {"spec": {"holderIdentity": "somebody-else"}}
            await place.api.send(Call(path, "PATCH", body=body, content_type="application/merge-patch+json"))
            return await leadership.lost()

    assert "the lease is held by somebody-else" == asyncio.run(scenario())


@pytest.mark.rule("W9")
def test_w9_deleted_lease_is_lost(api_server: ApiServer, tmp_path: Path) -> None:
    async def scenario() -> str:
        async with scene(api_server, tmp_path) as (place, _), leading(place, api_server.kubeconfig) as leadership:
            await place.api.send(Call(f"{LEASES.format(place.name)}/kuik-reconciler", "DELETE"))
            return await leadership.lost()

    assert "the lease was deleted" == asyncio.run(scenario())


def test_somebody_who_only_annotates_the_lease_costs_nothing(api_server: ApiServer, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with scene(api_server, tmp_path) as (place, _), leading(place, api_server.kubeconfig) as leadership:
            path = f"{LEASES.format(place.name)}/kuik-reconciler"
            for n in range(5):
                body = {"metadata": {"annotations": {"seen": str(n)}}}
                await place.api.send(Call(path, "PATCH", body=body, content_type="application/merge-patch+json"))
                before = leadership.runs_out_at
                await eventually(lambda before=before: leadership.runs_out_at > before)

            assert not leadership.is_lost

    asyncio.run(scenario())


@pytest.mark.rule("W8")
def test_w8_times_in_the_lease_do_not_count(api_server: ApiServer, tmp_path: Path) -> None:
    """A holder whose wall clock is years behind or ahead holds it for as long as we have seen it do so."""

    async def scenario(renewed: str) -> tuple[int, int]:
        async with scene(api_server, tmp_path) as (place, _):
            spec = {"holderIdentity": "a", "leaseDurationSeconds": 2, "renewTime": renewed, "leaseTransitions": 7}
            body = {"metadata": {"name": "kuik-reconciler"}, "spec": spec}
            await place.api.send(Call(LEASES.format(place.name), "POST", body=body))
            start = boot_clock()
            async with leading(place, api_server.kubeconfig) as leadership:
                return leadership.taken_at - start, leadership.transitions

    for renewed in ("2001-01-01T00:00:00.000000Z", "2099-01-01T00:00:00.000000Z"):
        took, transitions = asyncio.run(scenario(renewed))

        assert 2 * SECOND <= took < 3 * SECOND
        assert 8 == transitions


def test_renewals_are_as_many_as_the_retry_period_says(api_server: ApiServer, tmp_path: Path) -> None:
    async def scenario() -> int:
        async with scene(api_server, tmp_path) as (place, proxy), leading(place, proxy.kubeconfig):
            before = len(proxy.requests)
            await asyncio.sleep(1)
            return len(proxy.requests) - before

    assert 5 <= asyncio.run(scenario()) <= 10


FROZEN = """
import asyncio, json, sys
from compiler.duration import MILLISECOND, SECOND
from runtime.clock import boot_clock
from runtime.cluster.kube import open_cluster
from runtime.cluster.leadership import LeaseTimes

async def main(kubeconfig, namespace):
    times = LeaseTimes(SECOND, 700 * MILLISECOND, 100 * MILLISECOND)
    async with open_cluster(namespace, kubeconfig, None) as cluster, cluster.lead(times) as leadership:
        print(json.dumps({"taken": leadership.taken_at}), flush=True)
        sent = boot_clock()
        while not leadership.is_lost:
            # as the pacing does before each request, in the same breath
            now = boot_clock()
            if leadership.may_send(now):
                sent = now
            await asyncio.sleep(0.001)
        print(json.dumps({"sent": sent, "lost": boot_clock()}), flush=True)

asyncio.run(main(*sys.argv[1:]))
"""


@pytest.mark.rule("W9")
def test_w9_frozen_leader_sends_nothing_when_it_is_continued(api_server: ApiServer, tmp_path: Path, root: Path) -> None:
    async def scenario() -> None:
        async with scene(api_server, tmp_path) as (place, _):
            with frozen_later(root, api_server.kubeconfig, place.name) as leader:
                await asyncio.to_thread(leader.stdout.readline)
                await asyncio.sleep(0.5)
                leader.send_signal(signal.SIGSTOP)
                async with leading(place, api_server.kubeconfig) as new:
                    leader.send_signal(signal.SIGCONT)
                    said = json.loads(await asyncio.to_thread(leader.stdout.readline))

                    assert said["sent"] < new.taken_at
                    assert said["lost"] > new.taken_at
                    assert not new.is_lost

    asyncio.run(scenario())


@contextmanager
def frozen_later(root: Path, kubeconfig: str, namespace: str) -> Iterator[Any]:
    command = [sys.executable, "-c", FROZEN, kubeconfig, namespace]
    with subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize(
    "lease,deadline,retry", [(10, 10, 2), (15, 2, 2), (15, 10, 0), (9, 10, 2), (15, 10, 9)], ids=str
)
def test_times_with_which_two_could_lead_are_refused(lease: int, deadline: int, retry: int) -> None:
    with pytest.raises(ValueError, match="lease duration > renew deadline"):
        LeaseTimes(lease * SECOND, deadline * SECOND, retry * SECOND)


@pytest.mark.rule("W8")
@pytest.mark.skipif(not hasattr(time, "CLOCK_BOOTTIME"), reason="this system has no such clock")
def test_w8_clock_goes_on_while_the_machine_is_suspended() -> None:
    before = time.clock_gettime_ns(time.CLOCK_BOOTTIME)

    assert before <= boot_clock() <= time.clock_gettime_ns(time.CLOCK_BOOTTIME)


def test_default_times_are_those_of_every_controller() -> None:
    assert LeaseTimes(15 * SECOND, 10 * SECOND, 2000 * MILLISECOND) == LeaseTimes()
