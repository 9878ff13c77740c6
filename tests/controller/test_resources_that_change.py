"""Resources and pods come, change, go and are wrong: one mistake stops nobody else, and nothing is forgotten by it."""

from __future__ import annotations

import asyncio

import pytest

from tests.controller.conftest import Play
from tests.support.stage import Stage, condition, digest_of, monitor, pod

A, B = "x/a:1", "x/b:1"


def cursor(stage: Stage, owner: str = "ImageMonitor/all") -> str:
    return str(stage.status(owner)["checks"]["registries"][0]["cursor"])


def test_a_resource_that_becomes_wrong_goes_on_as_it_was(play: Play, caplog: pytest.LogCaptureFixture) -> None:
    async def act(stage: Stage) -> None:
        stage.configure(stage.pace("10s"))
        pods = pod("a", stage.image(A)), pod("b", stage.image(B), labels={"team": "b"})
        stage.write(monitor("other"), *pods)
        stage.write(monitor(podSelector={"matchLabels": {"team": "b"}}), name="mine")
        async with stage.process():
            await stage.asked(2)
            stage.write(monitor(podSelector={"matchLabel": {"team": "a"}}), name="mine")
            await stage.until(lambda: condition(stage.status("ImageMonitor/all"), "Ready")[1] == "InvalidSpec")
            assert 1 == stage.metric("kuik_check_ring_images", name="all")
            assert 2 == stage.metric("kuik_check_ring_images", name="other")
            assert stage.image(B) == cursor(stage)
            stage.write(monitor(), name="mine")
            await stage.until(lambda: condition(stage.status("ImageMonitor/all"), "Ready")[1] == "Reconciled")
            await stage.until(lambda: stage.metric("kuik_check_ring_images", name="all") == 2)

    play(act)
    (told,) = (r for r in caplog.records if r.getMessage() == "input is wrong")
    assert ("unknown-field", 1) == (vars(told)["code"], vars(told)["line"])


@pytest.mark.rule("R6")
def test_a_resource_that_is_wrong_at_the_start_keeps_its_cursor_until_it_is_mended(play: Play) -> None:
    async def act(stage: Stage) -> None:
        stage.configure(stage.pace("10s"))
        stage.write(pod("a", stage.image(A), stage.image(B)))
        stage.write(monitor(), name="mine")
        async with stage.process():
            await stage.asked(1)
            await stage.until(lambda: "cursor" in stage.status("ImageMonitor/all")["checks"]["registries"][0])
        started = stage.status("ImageMonitor/all")["checks"]["registries"][0]["cycleStarted"]
        stage.write(monitor(podSelector={"matchLabel": {}}), name="mine")
        async with stage.process():
            await stage.until(lambda: condition(stage.status("ImageMonitor/all"), "Ready")[1] == "InvalidSpec")
            assert stage.image(A) == cursor(stage)
            (wrong,) = stage.status("ImageMonitor/all")["conditions"]
            # what others change says nothing new of it
            stage.write(pod("a", stage.image(A), stage.image(B)), monitor("other", suspend=True))
            await stage.until(lambda: stage.has_status("ImageMonitor/other"))
            await asyncio.sleep(30)
            assert [wrong] == stage.status("ImageMonitor/all")["conditions"]
            assert 1 == len(stage.registry.requests)
            stage.write(monitor(), name="mine")
            assert "/v2/x/b/manifests/1" == (await stage.asked(2))[1]
            await stage.until(lambda: "cycleDuration" in stage.status("ImageMonitor/all")["checks"]["registries"][0])
            assert started < stage.status("ImageMonitor/all")["checks"]["registries"][0]["cycleStarted"]

    play(act)


@pytest.mark.rule("T4")
def test_a_suspended_resource_keeps_its_ring_and_takes_no_turn(play: Play) -> None:
    async def act(stage: Stage) -> None:
        stage.configure(stage.pace("10s"))
        stage.write(monitor(suspend=True), pod("a", stage.image(A)))
        async with stage.process():
            await stage.until(lambda: stage.has_status("ImageMonitor/all"))
            assert ("False", "Suspended") == condition(stage.status("ImageMonitor/all"), "Ready")
            await asyncio.sleep(60)
            assert [] == stage.registry.requests
            assert 1 == stage.metric("kuik_check_ring_images")

    play(act)


@pytest.mark.rule("R1")
def test_an_image_that_no_pod_uses_any_more_is_retained_for_its_time(play: Play) -> None:
    async def act(stage: Stage) -> None:
        stage.configure(stage.pace("10s"))
        stage.write(monitor(unusedImageRetention="3m"), pod("a", stage.image(A), stage.image(B)))
        async with stage.process():
            await stage.asked(2)
            await asyncio.sleep(1)
            stage.write(monitor(unusedImageRetention="3m"), pod("a", stage.image(A)))
            await stage.until(lambda: stage.status("ImageMonitor/all")["images"]["retained"] == 1)
            (kept,) = stage.status("ImageMonitor/all")["retainedImages"]
            assert (stage.image(B), digest_of("/v2/x/b/manifests/1")) == (kept["ref"], kept["digest"])
            assert 2 == stage.metric("kuik_check_ring_images")
        async with stage.process():
            await stage.leads()
            assert 2 == stage.metric("kuik_check_ring_images")
            # nothing changes in the files: the time itself ends it
            await stage.until(lambda: stage.metric("kuik_check_ring_images") == 1)
            await stage.until(lambda: stage.status("ImageMonitor/all")["retainedImages"] == [])
            assert {"tracked": 1, "inUse": 1, "retained": 0}.items() <= stage.status("ImageMonitor/all")[
                "images"
            ].items()

    play(act)


def test_an_image_that_a_monitor_excludes_is_not_retained(play: Play) -> None:
    async def act(stage: Stage) -> None:
        stage.configure(stage.pace("10s"))
        stage.write(monitor(), pod("a", stage.image(A), stage.image(B)))
        async with stage.process():
            await stage.until(lambda: stage.metric("kuik_check_ring_images") == 2)
            stage.write(monitor(excludeImages=["**/x/b"]), pod("a", stage.image(A), stage.image(B)))
            await stage.until(lambda: stage.metric("kuik_check_ring_images") == 1)
            await stage.until(lambda: stage.status("ImageMonitor/all")["images"]["tracked"] == 1)

    play(act)


@pytest.mark.rule("R5")
def test_what_is_deleted_leaves_no_status_and_no_metric(play: Play) -> None:
    async def act(stage: Stage) -> None:
        stage.configure(stage.pace("10s"))
        stage.write(monitor("one"), monitor("two"), pod("a", stage.image(A), stage.image(B)))
        async with stage.process():
            await stage.asked(3)
            stage.write(monitor("one"), pod("a", stage.image(A)))
            await stage.until(lambda: not stage.has_status("ImageMonitor/two"))
            await stage.until(lambda: stage.metric("kuik_check_ring_images", name="two") is None)
            assert stage.metric("kuik_check_cycle_started_timestamp_seconds", name="two") is None
            await stage.until(lambda: stage.metric("kuik_check_ring_images", name="one") is not None)

    play(act)


def test_a_status_that_can_not_be_removed_is_tried_again_and_files_are_still_watched(
    play: Play, caplog: pytest.LogCaptureFixture
) -> None:
    async def act(stage: Stage) -> None:
        stage.configure(stage.pace("10s"))
        stage.write(monitor("one"), monitor("two"), pod("a", stage.image(A)))
        async with stage.process():
            await stage.until(lambda: stage.has_status("ImageMonitor/two"))
            file = stage.state / "status" / "ImageMonitor" / "two.yaml"
            file.unlink()
            file.mkdir()
            stage.write(monitor("one"), pod("a", stage.image(A)))
            await stage.until(lambda: any(r.message == "status not removed" for r in caplog.records))
            stage.write(monitor("one"), pod("a", stage.image(B)))
            await stage.until(lambda: stage.registry.asked()[-1].endswith("/v2/x/b/manifests/1"))
            file.rmdir()
            file.touch()
            stage.write(monitor("one"), pod("a", stage.image(A)))
            await stage.until(lambda: not file.exists())

    play(act)


@pytest.mark.rule("T1")
def test_alternatives_are_counted_and_read_where_they_are(play: Play) -> None:
    async def act(stage: Stage) -> None:
        stage.configure(stage.pace("10s"))
        entries = [{"imagePrefix": f"{stage.host}/x/"}, {"imagePrefix": f"{stage.host}/y/"}]
        alternative = {
            "apiVersion": "kuik.enix.io/v1alpha1",
            "kind": "ImageAlternative",
            "metadata": {"name": "copies"},
            "spec": {"alternatives": entries},
        }
        stage.write(alternative, monitor(monitorAlternatives=True), pod("a", stage.image(A)))
        async with stage.process():
            assert ["/v2/x/a/manifests/1", "/v2/y/a/manifests/1"] == await stage.asked(2)
            await stage.until(lambda: stage.status("ImageMonitor/all")["alternatives"]["tracked"] == 1)
            assert 1 == stage.status("ImageMonitor/all")["images"]["tracked"]
            assert not stage.has_status("ImageAlternative/copies")

    play(act)
