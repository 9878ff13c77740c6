"""The controller reads at the pace of the plan, and writes down what it finds."""

from __future__ import annotations

import asyncio
import shutil
from typing import Any

import pytest

from compiler.duration import SECOND
from runtime.registry import Checker
from tests.controller.conftest import Play
from tests.support.hostile import Reply, Seen
from tests.support.images import image, index, layer
from tests.support.small_registry import SmallRegistry
from tests.support.stage import Stage, condition, digest_of, has_everything, monitor, pod, running

THREE = ("x/a:1", "x/b:1", "x/c:1")
A, B, C = (f"/v2/x/{name}/manifests/1" for name in "abc")


def images(stage: Stage, *names: str) -> list[str]:
    return [stage.image(name) for name in names]


@pytest.mark.rule("W2")
def test_the_first_request_goes_out_a_full_interval_after_the_start(play: Play) -> None:
    async def act(stage: Stage) -> None:
        stage.configure(stage.pace("10s"))
        stage.write(monitor(), pod("a", *images(stage, *THREE)))
        async with stage.process():
            await stage.leads()
            start = stage.clock.time()
            await stage.asked(1)
            assert start + 9.5 <= stage.clock.time() <= start + 10.5
            assert [A, B, C, A] == await stage.asked(4)
            assert start + 39.5 <= stage.clock.time() <= start + 40.5
            assert {"HEAD"} == {seen.method for seen in stage.registry.requests}

    play(act)


@pytest.mark.rule("W2")
def test_a_restart_loop_sends_nothing(play: Play) -> None:
    async def act(stage: Stage) -> None:
        stage.configure(stage.pace("60s"))
        stage.write(monitor(), pod("a", *images(stage, *THREE)))
        for _ in range(5):
            async with stage.process():
                await asyncio.sleep(50)
        assert [] == stage.registry.requests

    play(act)


@pytest.mark.rule("R6")
def test_a_restart_resumes_behind_the_cursor_and_the_lap_counts_the_downtime(play: Play) -> None:
    async def act(stage: Stage) -> None:
        stage.configure(stage.pace("10s"))
        stage.write(monitor(), pod("a", *images(stage, *THREE)))
        async with stage.process():
            await stage.asked(2)
            await stage.until(lambda: stage.status("ImageMonitor/all")["checks"]["registries"][0]["checked"] == 2)
            before = stage.status("ImageMonitor/all")["checks"]["registries"][0]
        await asyncio.sleep(3600)
        async with stage.process():
            assert [A, B, C] == await stage.asked(3)
            await stage.until(lambda: "cycleDuration" in stage.status("ImageMonitor/all")["checks"]["registries"][0])
            after = stage.status("ImageMonitor/all")["checks"]["registries"][0]
            assert stage.image("x/b:1") == before["cursor"]
            assert (stage.image("x/c:1"), 0) == (after["cursor"], after["checked"])
            # 20 s, an hour, and the first interval of the second process
            assert after["cycleDuration"].startswith("1h0m30")

    play(act)


@pytest.mark.rule("S1")
def test_two_monitors_of_the_same_images_share_requests(play: Play) -> None:
    async def act(stage: Stage) -> None:
        stage.configure(stage.pace("10s"))
        stage.write(monitor("one"), monitor("two"), pod("a", *images(stage, *THREE)))
        async with stage.process():
            await stage.asked(6)
            await stage.until(lambda: stage.metric("kuik_check_cycle_duration_seconds", name="two") is not None)
            await asyncio.sleep(60)
            for name in ("one", "two"):
                lap = stage.metric("kuik_check_cycle_duration_seconds", name=name)
                assert lap is not None
                assert 20 <= lap <= 40
            reused = [stage.metric("kuik_check_reused_total", name=name) or 0 for name in ("one", "two")]
            assert sum(reused) >= 6
            assert "/v2/x/a/manifests/1" in {seen.path for seen in stage.registry.requests}
            assert 1 == stage.metric("kuik_leader")

    play(act)


def test_an_image_that_goes_is_unavailable_until_it_comes_back(play: Play) -> None:
    async def act(stage: Stage) -> None:
        stage.configure(stage.pace("10s"))
        stage.write(monitor(), pod("a", *images(stage, *THREE)), pod("b", stage.image("x/b:1")))
        gone = [True]
        stage.registry.otherwise = lambda seen: Reply(404) if gone[0] and "/b/" in seen.path else has_everything(seen)
        async with stage.process():
            await stage.asked(4)
            await stage.until(lambda: stage.status("ImageMonitor/all")["images"]["unknown"] == 0)
            status = stage.status("ImageMonitor/all")
            assert {"available": 2, "unavailable": 1, "unknown": 0}.items() <= status["images"].items()
            (entry,) = status["unavailableImages"]
            assert (stage.image("x/b:1"), "NotFound", 2) == (entry["ref"], entry["reason"], entry["referencedBy"])
            assert ("False", "ImagesUnavailable") == condition(status, "AllImagesAvailable")
            await stage.until(lambda: stage.metric("kuik_image_unavailable", image=stage.image("x/b:1")) == 1)
        # a new process knows before it reads
        async with stage.process():
            await stage.until(lambda: stage.metric("kuik_image_unavailable", image=stage.image("x/b:1")) == 1)
            assert entry["since"] == stage.status("ImageMonitor/all")["unavailableImages"][0]["since"]
            gone[0] = False
            await stage.until(lambda: stage.metric("kuik_image_unavailable", image=stage.image("x/b:1")) is None)
            await stage.until(lambda: stage.status("ImageMonitor/all")["unavailableImages"] == [])

    play(act)


def test_a_tag_that_moved_is_drifted_and_a_platform_of_its_index_is_not(play: Play) -> None:
    two = index([image([layer(1)], platform="linux/amd64"), image([layer(2)], platform="linux/arm64")])
    amd64 = two.needs[0].digest

    async def act(stage: Stage) -> None:
        stage.configure(stage.pace("10s"))
        registry = SmallRegistry()
        registry.put("x/a", "1", two)
        registry.put("x/b", "1", image([layer(3)]))
        stage.registry.otherwise = registry
        old = digest_of("what was there before")
        stage.write(monitor("one"), monitor("two"), pod("a", *images(stage, "x/a:1", "x/b:1"), **running(amd64, old)))
        async with stage.process():
            await stage.until(lambda: stage.has_status("ImageMonitor/two"))
            for name in ("ImageMonitor/one", "ImageMonitor/two"):
                await stage.until(lambda name=name: stage.status(name)["images"]["unknown"] == 0)  # type: ignore[misc]
                (drift,) = stage.status(name)["driftedImages"]
                assert (stage.image("x/b:1"), old) == (drift["ref"], drift["runningDigest"])
                assert registry.manifests["x/b", "1"][1] == image([layer(3)]).body
                assert ("False", "ImagesDrifted") == condition(stage.status(name), "NoImageDrift")
            await stage.until(lambda: stage.metric("kuik_image_drifted", image=stage.image("x/b:1")) == 1)
        async with stage.process():
            await stage.until(lambda: stage.metric("kuik_image_drifted", image=stage.image("x/b:1")) == 1)

    play(act)


@pytest.mark.rule("W10")
def test_a_host_that_asks_to_be_left_alone_is(play: Play) -> None:
    async def act(stage: Stage) -> None:
        stage.configure(stage.pace("10s"))
        stage.write(monitor(), pod("a", *images(stage, *THREE)))
        refuses = [True]
        refusal = Reply(429, {"Retry-After": "65"})
        stage.registry.otherwise = lambda seen: refusal if refuses[0] else has_everything(seen)
        async with stage.process():
            await stage.asked(1)
            first = stage.clock.time()
            await stage.until(lambda: stage.metric("kuik_registry_held_until_timestamp_seconds") is not None)
            refuses[0] = False
            await stage.asked(2)
            # the window at 60 s is still held, that at 70 s is not
            assert first + 69 <= stage.clock.time() <= first + 71
            assert 6 == stage.metric("kuik_registry_windows_total", operation="Check", outcome="held")
            assert 1 == stage.metric("kuik_registry_requests_total", result="QuotaExceeded")
            await stage.until(lambda: stage.metric("kuik_registry_held_until_timestamp_seconds") is None)

    play(act)


@pytest.mark.rule("W10")
def test_an_index_that_may_not_be_read_holds_the_host_and_is_no_drift(play: Play) -> None:
    two = index([image([layer(1)], platform="linux/amd64"), image([layer(2)], platform="linux/arm64")])
    refusal = Reply(429, {"Retry-After": "65"})

    async def act(stage: Stage) -> None:
        stage.configure(stage.pace("10s"))
        registry = SmallRegistry()
        registry.put("x/a", "1", two)
        refuses = [True]
        stage.registry.otherwise = lambda seen: refusal if refuses[0] and seen.method == "GET" else registry(seen)
        stage.write(monitor(), pod("a", stage.image("x/a:1"), **running(two.needs[0].digest)))
        async with stage.process():
            await stage.asked(2)
            first = stage.clock.time()
            await stage.until(lambda: stage.metric("kuik_registry_held_until_timestamp_seconds") is not None)
            await stage.until(lambda: stage.status("ImageMonitor/all")["images"]["available"] == 1)
            assert [] == stage.status("ImageMonitor/all")["driftedImages"]
            refuses[0] = False
            await stage.asked(4)
            assert first + 69 <= stage.clock.time() <= first + 71
            assert [] == stage.status("ImageMonitor/all")["driftedImages"]

    play(act)


@pytest.mark.rule("W4")
def test_a_read_that_outlasts_its_interval_costs_windows_and_moves_none(
    play: Play, caplog: pytest.LogCaptureFixture
) -> None:
    async def act(stage: Stage) -> None:
        config = stage.pace("10s")
        config["registries"][stage.host]["check"]["timeout"] = "1m"
        stage.configure(config)
        stage.write(monitor(), pod("a", *images(stage, *THREE)))
        slow = {A: 25.0}

        def answer(seen: Seen) -> Reply:
            delay = slow.pop(seen.path, 0)
            reply = has_everything(seen)
            return Reply(200, reply.headers, before=lambda: asyncio.sleep(delay))

        stage.registry.otherwise = answer
        async with stage.process():
            await stage.asked(1)
            first = stage.clock.time()
            await stage.asked(2)
            assert first + 29.5 <= stage.clock.time() <= first + 30.5
            assert 2 == stage.metric("kuik_registry_windows_total", operation="Check", outcome="busy")

    with caplog.at_level("INFO"):
        play(act)
    lost = [r for r in caplog.records if r.getMessage().startswith("window lost")]
    assert 1 == len(lost)
    assert [2] == [vars(r)["lost"] for r in caplog.records if vars(r).get("lost")]


@pytest.mark.rule("W6")
def test_windows_that_a_frozen_process_slept_through_are_missed_and_told_of_once(
    play: Play, caplog: pytest.LogCaptureFixture
) -> None:
    async def act(stage: Stage) -> None:
        stage.configure(stage.pace("10s"))
        stage.write(monitor(), pod("a", *images(stage, *THREE)))
        async with stage.process():
            await stage.asked(1)
            stage.clock.now += 44.0
            await asyncio.sleep(0.01)
            assert 1 == len(stage.registry.requests)
            await stage.asked(2)
            assert 4 == stage.metric("kuik_registry_windows_total", operation="Check", outcome="missed")

    with caplog.at_level("INFO"):
        play(act)
    (told,) = (r for r in caplog.records if r.getMessage() == "windows missed")
    assert 2 == vars(told)["series"]


@pytest.mark.rule("W9")
def test_who_lost_the_lease_asks_nothing_more_and_ends_with_1(play: Play) -> None:
    async def act(stage: Stage) -> None:
        stage.configure(stage.pace("10s"))
        stage.write(monitor(), pod("a", *images(stage, *THREE)))
        async with stage.process():
            await stage.asked(1)
            shutil.rmtree(stage.state)
            assert stage.running is not None
            assert 1 == await stage.running
            assert stage.metric("kuik_registry_interval_seconds") is None
            assert 0 == stage.metric("kuik_leader")
            await asyncio.sleep(60)
            assert 1 == len(stage.registry.requests)

    play(act)


def test_a_clean_stop_lets_the_read_in_flight_end_and_writes_what_it_found(play: Play) -> None:
    async def act(stage: Stage) -> None:
        stage.configure(stage.pace("10s"))
        stage.write(monitor(), pod("a", *images(stage, *THREE)))
        stage.registry.otherwise = lambda seen: Reply(
            200, has_everything(seen).headers, before=lambda: asyncio.sleep(5)
        )
        async with stage.process():
            await stage.asked(1)
            assert 0 == await stage.stop()
            assert stage.image("x/a:1") == stage.status("ImageMonitor/all")["checks"]["registries"][0]["cursor"]
            await asyncio.sleep(60)
            assert 1 == len(stage.registry.requests)

    play(act)


@pytest.mark.rule("R3")
def test_a_read_that_the_grace_cuts_off_is_done_again(play: Play) -> None:
    async def act(stage: Stage) -> None:
        stage.configure(stage.pace("10s"))
        stage.write(monitor(), pod("a", *images(stage, *THREE)))
        hangs = [True]
        stage.registry.otherwise = lambda seen: Reply(raw=b"", hang=True) if hangs[0] else has_everything(seen)
        async with stage.process(grace=2 * SECOND):
            await stage.asked(1)
            assert 0 == await stage.stop()
        hangs[0] = False
        async with stage.process():
            assert [A, A, B] == await stage.asked(3)

    play(act)


def test_a_mistake_of_ours_about_one_image_stops_neither_the_series_nor_the_process(
    play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    check = Checker.check

    async def failing(self: Checker, repository: Any, *more: Any, **options: Any) -> Any:
        if repository.name == "x/a":
            raise RuntimeError("a mistake")
        return await check(self, repository, *more, **options)

    monkeypatch.setattr(Checker, "check", failing)

    async def act(stage: Stage) -> None:
        stage.configure(stage.pace("10s"))
        stage.write(monitor(), pod("a", *images(stage, *THREE)))
        async with stage.process():
            assert [B, C, B] == await stage.asked(3)
            assert "Unreachable" == stage.status("ImageMonitor/all")["unavailableImages"][0]["reason"]

    play(act)


def test_without_its_secret_an_image_is_not_read_at_all(play: Play) -> None:
    async def act(stage: Stage) -> None:
        config = stage.pace("10s")
        auth = [{"prefix": "/x/b", "secretRef": {"name": "missing"}}]
        config["registries"][stage.host]["perPrefixFallbackAuth"] = auth
        stage.configure(config)
        stage.write(monitor(), pod("a", *images(stage, *THREE)))
        async with stage.process():
            assert [A, C, A] == await stage.asked(3)
            (entry,) = stage.status("ImageMonitor/all")["unavailableImages"]
            assert (stage.image("x/b:1"), "Unauthorized") == (entry["ref"], entry["reason"])

    play(act)
