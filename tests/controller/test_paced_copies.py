"""Mirrors: nothing is copied before the destination is known, then one image a window, and what is wrong shows."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from tests.controller.conftest import Play
from tests.support.hostile import Hostile, Reply, Seen, hostile
from tests.support.images import image, index, layer
from tests.support.small_registry import SmallRegistry
from tests.support.stage import Stage, condition, mirror, monitor, pod

AB = ("x/a:1", "x/b:1")


@asynccontextmanager
async def destination(stage: Stage, *names: str) -> AsyncIterator[tuple[Hostile, SmallRegistry, SmallRegistry]]:
    """Serve an empty registry to mirror into; the stage's own holds images of these names."""
    source, target = SmallRegistry(), SmallRegistry()
    for seed, name in enumerate(names):
        repository, _, tag = name.partition(":")
        source.put(repository, tag, image([layer(seed)]))
    stage.registry.otherwise = source
    async with hostile({}) as there:
        there.otherwise = target
        yield there, source, target


def copy_of(stage: Stage, name: str) -> str:
    return f"m/{stage.host.replace(':', '_')}/{name}"


def ring(stage: Stage) -> dict[str, object]:
    """Give the one ring of the mirror, as its status has it."""
    if not stage.has_status("ImageMirror/all"):
        return {}
    rings = stage.status("ImageMirror/all")["checks"]["registries"]
    return dict(rings[0]) if rings else {}


@pytest.mark.rule("R8")
def test_nothing_is_copied_before_the_destination_is_known(play: Play) -> None:
    async def act(stage: Stage) -> None:
        async with destination(stage, *AB) as (there, _, target):
            stage.configure(stage.pace("10s", "10s"))
            stage.write(mirror(f"{there.host}/m"), pod("a", *map(stage.image, AB)))
            async with stage.process():
                await stage.leads()
                await asyncio.sleep(59)
                assert ([], []) == (stage.registry.requests, there.requests)
                assert ("False", "DestinationUnknown") == condition(stage.status("ImageMirror/all"), "Ready")
                assert ("Unknown", "NotScannedYet") == condition(stage.status("ImageMirror/all"), "DestinationInSync")
                await asyncio.sleep(12)
                assert {"1"} == target.tags(copy_of(stage, "x/a"))
                assert set() == target.tags(copy_of(stage, "x/b"))
                assert ("False", "CopiesPending") == condition(stage.status("ImageMirror/all"), "DestinationInSync")
                await asyncio.sleep(10)
                assert {"1"} == target.tags(copy_of(stage, "x/b"))
                status = stage.status("ImageMirror/all")
                assert {"desired": 2, "copied": 2, "pending": 0}.items() <= status["images"].items()
                assert ("True", "InSync") == condition(status, "DestinationInSync")
                assert 0 == stage.metric("kuik_copy_pending_images")
                assert 2 == stage.metric("kuik_copy_duration_seconds_count")
                assert (stage.metric("kuik_copy_bytes_total") or 0) > 2000

    play(act)


@pytest.mark.parametrize("stands_still", ["answer", "body", "upload"])
@pytest.mark.parametrize("timeout, after", [("0", 120), ("30s", 30)])
def test_c3_a_copy_that_stands_still_fails_and_leaves_no_tag(
    play: Play, stands_still: str, timeout: str, after: int
) -> None:
    async def act(stage: Stage) -> None:
        async with destination(stage, "x/a:1") as (there, source, target):

            def answer(seen: Seen) -> Reply:
                reply = source(seen)
                if "/blobs/" not in seen.path or stands_still == "upload":
                    return reply
                sent = b"HTTP/1.1 200 " if stands_still == "answer" else reply.encode("GET")[:-5]
                return Reply(raw=sent, hang=True)

            stage.registry.otherwise = answer
            if stands_still == "upload":
                there.otherwise = lambda seen: Reply(raw=b"", hang=True) if seen.method == "PUT" else target(seen)
            config = stage.pace("10s", "10s")
            config["registries"][stage.host]["copy"]["timeout"] = timeout
            stage.configure(config)
            stage.write(mirror(f"{there.host}/m"), pod("a", stage.image("x/a:1")))
            async with stage.process():
                await stage.asked(1)
                began = stage.clock.now
                await stage.until(lambda: bool(stage.status("ImageMirror/all").get("failedImagesCopy")))
                (failed,) = stage.status("ImageMirror/all")["failedImagesCopy"]
                assert ("Timeout", 1) == (failed["reason"], failed["attempts"])
                assert after - 1 < stage.clock.now - began < after + 1
                assert set() == target.tags(copy_of(stage, "x/a"))

    play(act)


def test_a_repository_is_recorded_before_anything_is_pushed_into_it(play: Play) -> None:
    async def act(stage: Stage) -> None:
        async with destination(stage, *AB) as (there, _, target):
            recorded: list[bool] = []

            def watch(seen: Seen) -> Reply:
                if seen.method not in {"HEAD", "GET"}:
                    name = seen.path.removeprefix("/v2/").rpartition("/blobs/")[0]
                    name = name or seen.path.removeprefix("/v2/").rpartition("/manifests/")[0]
                    repositories = stage.status("ImageMirror/all")["repositories"]
                    recorded.append(f"{there.host}/{name}" in repositories)
                return target(seen)

            there.otherwise = watch
            stage.configure(stage.pace("10s", "10s"))
            stage.write(mirror(f"{there.host}/m"), pod("a", *map(stage.image, AB)))
            async with stage.process():
                await stage.until(lambda: target.tags(copy_of(stage, "x/b")) == {"1"})
            assert {True} == set(recorded)
            # a later process goes on with the list
            async with stage.process():
                await stage.until(lambda: "destinationScanned" in stage.status("ImageMirror/all"))
                assert 2 == len(stage.status("ImageMirror/all")["repositories"])

    play(act)


@pytest.mark.rule("C2")
def test_a_failed_copy_waits_and_a_restart_does_not_forget_it(play: Play) -> None:
    async def act(stage: Stage) -> None:
        async with destination(stage, "x/b:1") as (there, source, target):
            stage.configure(stage.pace("10s", "10s", mirror={"copyRetry": {"baseDelay": "5m", "maxDelay": "1h"}}))
            stage.write(mirror(f"{there.host}/m"), pod("a", *map(stage.image, AB)))
            async with stage.process():
                await stage.until(lambda: target.tags(copy_of(stage, "x/b")) == {"1"})
                status = stage.status("ImageMirror/all")
                (failed,) = status["failedImagesCopy"]
                assert (stage.image("x/a:1"), "SourceUnavailable", 1) == (
                    failed["ref"], failed["reason"], failed["attempts"]
                )  # fmt: skip
                assert ("False", "CopiesFailed") == condition(status, "DestinationInSync")
                assert 1 == status["images"]["missingSource"]
            source.put("x/a", "1", image([layer(9)]))
            async with stage.process():
                await stage.leads()
                await asyncio.sleep(200)
                assert set() == target.tags(copy_of(stage, "x/a"))
                await stage.until(lambda: target.tags(copy_of(stage, "x/a")) == {"1"})
                await stage.until(lambda: stage.status("ImageMirror/all")["failedImagesCopy"] == [])

    play(act)


@pytest.mark.rule("C1")
def test_with_sync_a_tag_that_moved_is_copied_again(play: Play) -> None:
    async def act(stage: Stage) -> None:
        async with destination(stage, *AB) as (there, source, target):
            stage.configure(stage.pace("10s", "10s"))
            stage.write(mirror(f"{there.host}/m", driftPolicy="Sync"), pod("a", *map(stage.image, AB)))
            async with stage.process():
                await stage.until(lambda: target.tags(copy_of(stage, "x/b")) == {"1"})
                await stage.until(lambda: stage.metric("kuik_check_ring_images", kind="ImageMirror") == 2)
                moved = image([layer(7)])
                source.put("x/a", "1", moved)
                await stage.until(lambda: target.manifests[copy_of(stage, "x/a"), "1"][1] == moved.body)
                await stage.until(lambda: stage.status("ImageMirror/all")["images"]["drifted"] == 0)
                assert ("True", "InSync") == condition(stage.status("ImageMirror/all"), "DestinationInSync")

    play(act)


def test_a_mirror_that_goes_while_it_copies_costs_nothing_but_that_copy(play: Play) -> None:
    async def act(stage: Stage) -> None:
        async with destination(stage, *AB) as (there, _, target):

            def slow(seen: Seen) -> Reply:
                reply = target(seen)
                return replace(reply, before=lambda: asyncio.sleep(45)) if seen.method == "POST" else reply

            there.otherwise = slow
            stage.configure(stage.pace("10s", "10s"))
            pods = pod("a", *map(stage.image, AB))
            stage.write(mirror(f"{there.host}/m"), monitor(), pods)
            async with stage.process():
                await stage.until(lambda: any(seen.method == "POST" for seen in there.requests))
                stage.write(monitor(), pods)
                await stage.until(lambda: stage.metric("kuik_copy_pending_images") is None)
                assert not stage.has_status("ImageMirror/all")
                checks = stage.metric("kuik_registry_windows_total", operation="Check", outcome="used") or 0
                await asyncio.sleep(60)
                assert checks + 5 <= (
                    stage.metric("kuik_registry_windows_total", operation="Check", outcome="used") or 0
                )
                assert not stage.has_status("ImageMirror/all")

    play(act)


@pytest.mark.rule("R8")
def test_before_the_first_scan_of_a_process_the_ring_of_a_mirror_stays_as_in_status(play: Play) -> None:
    async def act(stage: Stage) -> None:
        async with destination(stage, *AB) as (there, _, _):
            stage.configure(stage.pace("10s", "10s"))
            stage.write(mirror(f"{there.host}/m", driftPolicy="Sync"), pod("a", *map(stage.image, AB)))
            async with stage.process():
                halfway = {"images": 2, "checked": 1, "cursor": stage.image("x/a:1")}.items()
                await stage.until(lambda: halfway <= ring(stage).items())
                assert 0 == await stage.stop()
            before, asked = ring(stage), len(stage.registry.requests)
            async with stage.process():
                await stage.leads()
                await asyncio.sleep(55)
                assert asked == len(stage.registry.requests)
                assert before == ring(stage)
                # behind the cursor it goes on, once the scan has told what is there
                assert "/v2/x/b/manifests/1" == (await stage.asked(asked + 1))[asked]

    play(act)


def test_with_warn_a_tag_that_moved_is_told_of_and_not_copied(play: Play) -> None:
    async def act(stage: Stage) -> None:
        async with destination(stage, "x/a:1") as (there, source, target):
            stage.configure(stage.pace("10s", "10s"))
            stage.write(mirror(f"{there.host}/m", driftPolicy="Warn"), pod("a", stage.image("x/a:1")))
            async with stage.process():
                await stage.until(lambda: target.tags(copy_of(stage, "x/a")) == {"1"})
                source.put("x/a", "1", image([layer(7)]))
                await stage.until(lambda: stage.metric("kuik_image_drifted", registry=stage.host) == 1)
                assert 1 == stage.status("ImageMirror/all")["images"]["drifted"]
                await asyncio.sleep(60)
                assert image([layer(0)]).body == target.manifests[copy_of(stage, "x/a"), "1"][1]

    play(act)


def node(name: str, architecture: str) -> dict[str, object]:
    info = {"operatingSystem": "linux", "architecture": architecture}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": {"nodeInfo": info}}


def test_a_platform_that_is_wanted_later_counts_as_drift(play: Play) -> None:
    two = index([image([layer(1)], platform="linux/amd64"), image([layer(2)], platform="linux/arm64")])

    def architectures(target: SmallRegistry, stage: Stage) -> list[str]:
        document = json.loads(target.manifests[copy_of(stage, "x/a"), "1"][1])
        return [m["platform"]["architecture"] for m in document["manifests"]]

    async def act(stage: Stage) -> None:
        async with destination(stage) as (there, source, target):
            source.put("x/a", "1", two)
            stage.configure(stage.pace("10s", "10s", mirror={"destinationScan": {"interval": "2m"}}))
            wanted = mirror(f"{there.host}/m", driftPolicy="Sync"), pod("a", stage.image("x/a:1"))
            stage.write(*wanted, node("one", "amd64"))
            async with stage.process():
                await stage.until(lambda: target.tags(copy_of(stage, "x/a")) == {"1"})
                assert ["amd64"] == architectures(target, stage)
            # the source lacks the third: one copy more, and no other
            stage.write(*wanted, node("one", "amd64"), node("two", "arm64"), node("three", "s390x"))
            async with stage.process():
                await stage.until(lambda: architectures(target, stage) == ["amd64", "arm64"])
                copies = stage.metric("kuik_copy_duration_seconds_count")
                await asyncio.sleep(600)
                assert copies == stage.metric("kuik_copy_duration_seconds_count")

    play(act)


def docker_config(name: str, host: str) -> dict[str, object]:
    auth = {"auths": {host: {"auth": base64.b64encode(b"kuik:sesame").decode()}}}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "kubernetes.io/dockerconfigjson",
        "metadata": {"name": name},
        "stringData": {".dockerconfigjson": json.dumps(auth)},
    }


def test_a_secret_that_is_missing_shows_and_is_used_as_soon_as_it_is_there(play: Play) -> None:
    async def act(stage: Stage) -> None:
        async with destination(stage, "x/a:1") as (there, _, target):

            def guarded(seen: Seen) -> Reply:
                if "authorization" not in seen.headers:
                    return Reply(401, {"WWW-Authenticate": 'Basic realm="tests"'})
                return target(seen)

            there.otherwise = guarded
            stage.configure(stage.pace("10s", "10s"))
            push = {"auth": {"secretRef": {"name": "push"}}}
            wanted = mirror(f"{there.host}/m"), pod("a", stage.image("x/a:1"))
            wanted[0]["spec"]["destination"]["push"] = push
            stage.write(*wanted)
            async with stage.process():
                await stage.leads()
                await stage.until(lambda: stage.has_status("ImageMirror/all"))
                assert ("False", "SecretUnusable") == condition(stage.status("ImageMirror/all"), "Ready")
                await asyncio.sleep(70)
                assert [] == there.requests
            stage.write(*wanted, docker_config("push", there.host))
            async with stage.process():
                await stage.until(lambda: target.tags(copy_of(stage, "x/a")) == {"1"})
                await stage.until(lambda: condition(stage.status("ImageMirror/all"), "Ready") == ("True", "Reconciled"))

    play(act)


@pytest.mark.rule("C1")
def test_a_copy_that_vanished_is_made_again_first(play: Play) -> None:
    async def act(stage: Stage) -> None:
        names = ("x/a:1", "x/b:1", "x/c:1")
        async with destination(stage, *names) as (there, _, target):
            stage.configure(stage.pace("10s", "10s", mirror={"destinationScan": {"interval": "5m"}}))
            stage.write(mirror(f"{there.host}/m"), pod("a", *map(stage.image, names)))
            async with stage.process():
                await stage.until(lambda: target.tags(copy_of(stage, "x/c")) == {"1"})
                target.manifests = {
                    key: found for key, found in target.manifests.items() if key[0] != copy_of(stage, "x/b")
                }
                await stage.until(lambda: stage.metric("kuik_copy_pending_images") == 1)
                await stage.until(lambda: target.tags(copy_of(stage, "x/b")) == {"1"})

    play(act)


def test_a_destination_that_does_not_answer_is_looked_at_again_soon(
    play: Play, caplog: pytest.LogCaptureFixture
) -> None:
    async def act(stage: Stage) -> None:
        async with destination(stage, "x/a:1") as (there, _, target):
            ill = [True]
            there.otherwise = lambda seen: Reply(503) if ill[0] else target(seen)
            stage.configure(stage.pace("10s", "10s"))
            stage.write(mirror(f"{there.host}/m"), pod("a", stage.image("x/a:1")))
            async with stage.process():
                await stage.until(lambda: len(there.requests) > 0)
                await asyncio.sleep(30)
                assert [] == stage.registry.requests
                ill[0] = False
                await stage.until(lambda: target.tags(copy_of(stage, "x/a")) == {"1"})

    play(act)
    assert "destination not scanned whole" in caplog.messages
