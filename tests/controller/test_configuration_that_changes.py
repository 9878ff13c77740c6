"""Reloading in place: only what differs restarts, and what is wrong is refused whole (H1 to H5)."""

from __future__ import annotations

import asyncio
import json

import pytest

from tests.controller.conftest import Play
from tests.support.stage import Stage, monitor, pod


async def reload(stage: Stage) -> None:
    assert stage.controller is not None
    stage.controller.reload()
    await asyncio.sleep(0.5)


@pytest.mark.rule("H2")
def test_a_changed_check_interval_restarts_the_check_windows_of_that_host_alone(
    play: Play, caplog: pytest.LogCaptureFixture
) -> None:
    async def act(stage: Stage) -> None:
        stage.configure(stage.pace("10s"))
        stage.write(monitor(), pod("a", stage.image("x/a:1"), "localhost:1/y:1"))
        async with stage.process():
            await stage.asked(1)
            await asyncio.sleep(4)
            stage.configure(stage.pace("15s"))
            await reload(stage)
            changed = stage.clock.time()
            await stage.asked(2)
            assert changed + 14 <= stage.clock.time() <= changed + 15.5
            assert 15 == stage.metric("kuik_registry_interval_seconds", registry=stage.host, operation="Check")

    with caplog.at_level("INFO"):
        play(act)
    (restart,) = (r for r in caplog.records if r.getMessage() == "windows restart")
    assert "Check" == vars(restart)["operation"]


@pytest.mark.rule("H1")
def test_a_comment_changes_nothing(play: Play, caplog: pytest.LogCaptureFixture) -> None:
    async def act(stage: Stage) -> None:
        stage.configure(stage.pace("10s"))
        stage.write(monitor(), pod("a", stage.image("x/a:1")))
        async with stage.process():
            await stage.asked(1)
            first = stage.clock.time()
            await asyncio.sleep(4)
            stage.configure("# a comment\n" + json.dumps(stage.pace("10s")))
            await reload(stage)
            await stage.asked(2)
            assert first + 9.5 <= stage.clock.time() <= first + 10.5

    with caplog.at_level("INFO"):
        play(act)
    assert "windows restart" not in caplog.messages


@pytest.mark.rule("H4")
def test_reloading_in_a_loop_asks_less_and_never_more(play: Play) -> None:
    async def act(stage: Stage) -> None:
        stage.write(monitor(), pod("a", stage.image("x/a:1")))
        stage.configure(stage.pace("60s"))
        async with stage.process():
            await stage.leads()
            for turn in range(8):
                await asyncio.sleep(30)
                stage.configure(stage.pace("60s" if turn % 2 else "120s"))
                await reload(stage)
            assert [] == stage.registry.requests

    play(act)


@pytest.mark.rule("H5")
def test_an_invalid_configuration_is_refused_whole_and_told_of_once(
    play: Play, caplog: pytest.LogCaptureFixture
) -> None:
    async def act(stage: Stage) -> None:
        stage.configure(stage.pace("10s"))
        stage.write(monitor(), pod("a", stage.image("x/a:1")))
        async with stage.process():
            await stage.asked(1)
            first = stage.clock.time()
            assert 1 == stage.metric("kuik_config_last_reload_successful")
            good = (stage.folder / "config.yaml").read_text()
            stage.configure(f'registries:\n  "{stage.host}": {{check: {{interval: 1}}}}\n  quay.io: {{}}\n')
            # the look that comes by itself every 30 s, and nobody's request
            await stage.until(lambda: stage.metric("kuik_config_last_reload_successful") == 0)
            await asyncio.sleep(100)
            await stage.asked(9)
            assert first + 80 <= stage.clock.time()
            assert 10 == stage.metric("kuik_registry_interval_seconds", registry=stage.host, operation="Check")
            assert stage.metric("kuik_registry_interval_seconds", registry="quay.io") is None
            # taken back by hand: that is as good as a reload
            stage.configure(good)
            await reload(stage)
            assert 1 == stage.metric("kuik_config_last_reload_successful")

    with caplog.at_level("INFO"):
        play(act)
    (refused,) = (vars(r) for r in caplog.records if r.getMessage() == "configuration refused")
    assert (2, "invalid-duration") == (refused["line"], refused["code"])
    assert refused["file"].endswith("config.yaml")
    assert refused["column"] > 1
    (event,) = (vars(r) for r in caplog.records if r.getMessage() == "event")
    assert "ReloadFailed" == event["reason"]
    assert ":2:" in event["detail"]
    assert "windows restart" not in caplog.messages


@pytest.mark.rule("H5")
def test_a_configuration_that_is_gone_is_no_reason_to_stop(play: Play) -> None:
    async def act(stage: Stage) -> None:
        stage.configure(stage.pace("10s"))
        stage.write(monitor(), pod("a", stage.image("x/a:1")))
        async with stage.process():
            await stage.asked(1)
            (stage.folder / "config.yaml").unlink()
            await reload(stage)
            assert 0 == stage.metric("kuik_config_last_reload_successful")
            await stage.asked(3)

    play(act)


@pytest.mark.rule("H3")
def test_a_changed_credential_applies_from_the_next_image_and_moves_no_window(play: Play) -> None:
    async def act(stage: Stage) -> None:
        stage.configure(stage.pace("10s"))
        secret = {
            "apiVersion": "v1",
            "kind": "Secret",
            "type": "kubernetes.io/dockerconfigjson",
            "metadata": {"name": "hub"},
            "stringData": {
                ".dockerconfigjson": json.dumps({"auths": {stage.host: {"username": "kuik", "password": "sesame"}}})
            },
        }
        stage.write(monitor(), secret, pod("a", stage.image("x/a:1")))
        async with stage.process():
            await stage.asked(1)
            first = stage.clock.time()
            config = stage.pace("10s")
            config["registries"][stage.host]["perPrefixFallbackAuth"] = [{"prefix": "/", "secretRef": {"name": "hub"}}]
            stage.configure(config)
            await reload(stage)
            await stage.asked(2)
            assert first + 9.5 <= stage.clock.time() <= first + 10.5

    play(act)


def test_the_limiters_are_configured_and_configured_anew(play: Play) -> None:
    async def act(stage: Stage) -> None:
        limiter = {"type": "ItemFastSlow", "fast": "1s", "slow": "1m", "attempts": 3}
        stage.configure(stage.pace("10s", controller={"perKind": {"ImageMonitor": limiter}}))
        stage.write(monitor(), pod("a", stage.image("x/a:1")))
        async with stage.process():
            await stage.leads()
            stage.configure(stage.pace("10s", controller={"rateLimiter": limiter}))
            await reload(stage)
            assert 1 == stage.metric("kuik_config_last_reload_successful")
            await stage.asked(1)

    play(act)
