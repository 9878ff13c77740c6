"""Every metric of the table, by its name and its labels, as a process shows them."""

from __future__ import annotations

from dataclasses import replace

from tests.controller.conftest import Play
from tests.support.hostile import Reply, Seen, hostile
from tests.support.images import image, layer
from tests.support.small_registry import SmallRegistry
from tests.support.stage import Stage, digest_of, mirror, monitor, pod, running

RING, SERIES = {"kind", "name", "registry"}, {"registry", "operation"}
ANOMALY = {"name", "image", "registry", "reason"}

PACE = {
    "kuik_registry_interval_seconds": SERIES,
    "kuik_registry_windows_total": {*SERIES, "outcome"},
    "kuik_registry_requests_total": {*SERIES, "result"},
    "kuik_registry_request_duration_seconds_count": SERIES,
    "kuik_registry_ratelimit_remaining": {"registry"},
    "kuik_registry_ratelimit_limit": {"registry"},
    "kuik_registry_held_until_timestamp_seconds": {"registry"},
    "kuik_check_ring_images": RING,
    "kuik_check_cycle_duration_seconds": RING,
    "kuik_check_cycle_started_timestamp_seconds": RING,
    "kuik_check_reused_total": RING,
    "kuik_copy_pending_images": {"name", "registry"},
    "kuik_copy_bytes_total": {"registry"},
    "kuik_copy_duration_seconds_count": {"registry"},
    "kuik_image_unavailable": ANOMALY,
    "kuik_image_drifted": ANOMALY,
    "kuik_plan_info": {"pace", "plan"},
    "kuik_requeues_total": {"kind", "name"},
    "workqueue_depth": {"name"},
    "workqueue_adds_total": {"name"},
    "workqueue_queue_duration_seconds_count": {"name"},
    "workqueue_work_duration_seconds_count": {"name"},
    "workqueue_retries_total": {"name"},
    "workqueue_unfinished_work_seconds": {"name"},
    "controller_runtime_reconcile_total": {"controller", "result"},
    "controller_runtime_reconcile_time_seconds_count": {"controller"},
}
PROCESS = {
    "kuik_config_last_reload_successful": set[str](),
    "kuik_config_last_reload_success_timestamp_seconds": set[str](),
    "kuik_leader": set[str](),
}


def shown(stage: Stage) -> dict[str, set[str]]:
    """Give the names of samples with their labels; those of buckets and of other samples of a histogram too."""
    stage.metrics.collect()
    found = dict[str, set[str]]()
    for line in stage.metrics.render().decode().splitlines():
        if not line.startswith("#"):
            name, _, labels = line.rpartition(" ")[0].partition("{")
            found[name] = {label.partition("=")[0] for label in labels.rstrip("}").split('",') if label}
    return found


def test_every_metric_is_shown_with_its_labels_and_a_standby_shows_no_pace(play: Play) -> None:
    async def act(stage: Stage) -> None:
        async with hostile({}) as destination:
            destination.otherwise = SmallRegistry()
            await see_everything(stage, destination.host)

    play(act)


async def see_everything(stage: Stage, destination: str) -> None:
    held = SmallRegistry()
    held.put("x/a", "1", image([layer(1)]))

    def rationing(seen: Seen) -> Reply:
        reply = held(seen)
        return replace(reply, headers={**reply.headers, "ratelimit-limit": "9", "ratelimit-remaining": "5"})

    stage.registry.otherwise = rationing
    stage.configure(stage.pace("10s", "10s"))
    workload = pod("a", stage.image("x/a:1"), stage.image("x/b:1"), **running(digest_of("another")))
    stage.write(monitor("one", driftDetection=True), monitor("two"), mirror(f"{destination}/m"), workload)
    # a status that can't be written is tried again
    (stage.state / "status" / "ImageMonitor" / "two.yaml").mkdir(parents=True)
    async with stage.process():
        late = {"kuik_registry_held_until_timestamp_seconds"}
        await stage.until(lambda: PACE.keys() - late <= shown(stage).keys())
        stage.registry.otherwise = lambda _: Reply(429, {"Retry-After": "600"})
        await stage.until(lambda: late <= shown(stage).keys())
        found = shown(stage)
        assert PACE | PROCESS == {name: found[name] for name in PACE | PROCESS}
        stage.metrics.leads(leading=False)
        assert PROCESS == shown(stage)
