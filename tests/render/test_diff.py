"""What differs between two plans, and what a reviewer is told of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from compiler.changes import (
    AccessChanges,
    Change,
    HostAppears,
    HostGoes,
    ImagesChange,
    LapChanges,
    OrderChanges,
    OriginMoves,
    OwnerJoins,
    OwnerLeaves,
    OwnerSuspends,
    Pace,
    SeriesRestarts,
    Setting,
    SupersetChanges,
    TimeoutChanges,
    WindowsChange,
)
from compiler.diff import Diff, diff
from compiler.duration import HOUR, MINUTE, SECOND
from compiler.plan import (
    CheckForecast,
    CheckSeries,
    Copy,
    CopyForecast,
    CopySeries,
    FallbackAuth,
    HostPlan,
    LapForecast,
    Operation,
    Plan,
    Queue,
    Ring,
)

HOST = "docker.io"
A, B, C = (f"docker.io/library/{name}:1" for name in "abc")


def host(
    *,
    check: int = MINUTE,
    copy: int = 10 * MINUTE,
    origin: str = "registries.docker.io",
    rings: Sequence[Ring] = (),
    queues: Sequence[Queue] = (),
    **fields: Any,
) -> HostPlan:
    return HostPlan(
        HOST,
        CheckSeries(check, 10 * SECOND, f"{origin}.check.interval", tuple(rings)),
        CopySeries(copy, 0, f"{origin}.copy.interval", tuple(queues)),
        **fields,
    )


def compare(old: HostPlan, new: HostPlan) -> Diff:
    return diff(Plan((old,)), Plan((new,)))


def texts(changes: Iterable[Change]) -> list[str]:
    return [f"{c.subject} {c.text}".strip() for c in changes]


class TestRegistries:
    @pytest.mark.rule("H2")
    def test_h2_a_changed_interval_restarts_that_series_alone(self) -> None:
        found = compare(host(check=MINUTE), host(check=30 * SECOND))
        origin = "registries.docker.io.check.interval"
        assert found.registries == (
            SeriesRestarts(HOST, Operation.CHECK, Pace(MINUTE, origin), Pace(30 * SECOND, origin)),
        )
        assert found.registries[0].text == "1m0s → 30s: its windows restart, the first 30s after the reload"
        assert found.registries[0].causes == (origin,)
        assert found.unchanged == ((HOST, Operation.COPY),)

    @pytest.mark.rule("H2")
    def test_h2_a_restart_says_that_another_key_decides_now(self) -> None:
        found = compare(host(check=30 * SECOND, origin="registries.default"), host(copy=HOUR))
        assert texts(found.registries) == [
            f"{was} → {now} (now from registries.docker.io.{key}.interval): its windows restart, the first {now} after"
            " the reload"
            for was, now, key in (("30s", "1m0s", "check"), ("10m0s", "1h0m0s", "copy"))
        ]

    @pytest.mark.rule("N1")
    def test_n1_clusters_restart_both_series_and_are_named_as_the_cause(self) -> None:
        found = compare(host(), host(check=2 * MINUTE, copy=20 * MINUTE, clusters=2))
        assert texts(found.registries) == [
            "1m0s → 2m0s (clusters 1 → 2): its windows restart, the first 2m0s after the reload",
            "10m0s → 20m0s (clusters 1 → 2): its windows restart, the first 20m0s after the reload",
        ]
        assert found.registries[0].causes[0] == "registries.docker.io.clusters"

    @pytest.mark.rule("H1")
    def test_h1_clusters_that_leave_the_effective_intervals_restart_nothing(self) -> None:
        found = compare(host(), host(clusters=2))
        assert texts(found.registries) == ["clusters 1 → 2, the effective intervals stay; no window moves"]

    @pytest.mark.rule("H1")
    def test_h1_an_override_equal_to_the_default_moves_no_window(self) -> None:
        found = compare(host(origin="registries.default"), host())
        assert [type(c) for c in found.registries] == [OriginMoves, OriginMoves]
        assert found.registries[0].text == (
            "the same interval, now from registries.docker.io.check.interval (was registries.default.check.interval);"
            " no window moves"
        )

    @pytest.mark.rule("H3")
    def test_h3_a_timeout_moves_no_window(self) -> None:
        old = host()
        new = replace(old, copy=replace(old.copy, timeout=5 * MINUTE))
        found = compare(old, new)
        assert found.registries == (TimeoutChanges(HOST, Operation.COPY, 0, 5 * MINUTE),)
        assert found.registries[0].text == "timeout none → 5m0s, from the next image on; no window moves"
        assert found.registries[0].causes == ("registries.docker.io.copy.timeout", "registries.default.copy.timeout")

    @pytest.mark.parametrize(
        "fields, setting, text",
        [
            ({"suspended": True}, Setting.SUSPEND, "suspended: its windows are lost until it is resumed, none moves"),
            (
                {"insecure": True},
                Setting.INSECURE,
                "plain HTTP instead of HTTPS, from the next image on; no window moves",
            ),
            ({"ca_file": "/a"}, Setting.CA_FILE, "caFile none → /a, from the next image on; no window moves"),
            (
                {"auth": (FallbackAuth("/", "creds"), FallbackAuth("/team", "other"))},
                Setting.AUTH,
                "perPrefixFallbackAuth none → / creds, /team other, from the next image on; no window moves",
            ),
        ],
    )
    @pytest.mark.rule("H3")
    @pytest.mark.rule("T4")
    def test_h3_t4_another_setting_moves_no_window(self, fields: dict[str, Any], setting: Setting, text: str) -> None:
        found = compare(host(), host(**fields))
        assert [c.setting for c in found.registries] == [setting]
        assert texts(found.registries) == [text]
        assert found.unchanged == ()

    @pytest.mark.rule("T4")
    def test_t4_a_resumed_registry_takes_its_windows_again(self) -> None:
        found = compare(host(suspended=True), host())
        assert texts(found.registries) == ["resumed: its windows are taken again, none has moved"]

    def test_hosts_appear_with_their_owners_and_go_with_them(self) -> None:
        new = host(rings=[Ring("ImageMonitor/all", (A, B))])
        appears = diff(Plan(), Plan((new,)))
        assert appears.registries == (HostAppears(HOST, MINUTE, 10 * MINUTE),)
        assert appears.resources == (OwnerJoins(HOST, Operation.CHECK, "ImageMonitor/all", (A, B)),)
        assert appears.summary() == "1 registry appears, 1 ring joins; at most 1440 windows a day on docker.io (was 0)."
        goes = diff(Plan((new,)), Plan())
        assert goes.registries == (HostGoes(HOST),)
        assert goes.resources == (OwnerLeaves(HOST, Operation.CHECK, "ImageMonitor/all", (A, B)),)
        assert goes.summary() == "1 registry goes, 1 ring leaves."

    def test_a_plan_made_of_templates_says_so(self) -> None:
        assert diff(Plan(), Plan(superset=True)).registries == (SupersetChanges("", superset=True),)


class TestResources:
    @pytest.mark.rule("H6")
    def test_h6_a_ring_that_joins_restarts_nothing(self) -> None:
        old = host(rings=[Ring("ImageMonitor/all", (A, B))])
        found = compare(old, host(rings=[*old.check.rings, Ring("ImageMonitor/b", (B, C))]))
        assert found.registries == ()
        assert found.resources == (OwnerJoins(HOST, Operation.CHECK, "ImageMonitor/b", (B, C), shared=1),)
        assert found.resources[0].text == "joins with 2 images, 1 of them shared"
        assert found.resources[0].causes == ("ImageMonitor/b",)

    @pytest.mark.rule("S3")
    def test_s3_of_two_rings_that_join_the_second_shares_with_the_first(self) -> None:
        found = compare(host(), host(rings=[Ring("ImageMonitor/a", (A, B)), Ring("ImageMonitor/b", (A, B))]))
        assert texts(found.resources) == [
            "ImageMonitor/a joins with 2 images",
            "ImageMonitor/b joins with 2 images, all of them shared",
        ]

    @pytest.mark.rule("S5")
    def test_s5_another_credential_shares_nothing_and_the_hosts_own_by_name_does(self) -> None:
        old = host(rings=[Ring("ImageMonitor/all", (A,))], auth=(FallbackAuth("/", "creds"),))
        for secret, shared in (("other", 0), ("creds", 1)):
            joining = Ring("ImageMonitor/b", (A,), auth=((A, secret),))
            found = compare(old, replace(old, check=replace(old.check, rings=(*old.check.rings, joining))))
            assert [c.shared for c in found.resources] == [shared]

    @pytest.mark.rule("S1")
    def test_s1_a_digest_is_shared_whatever_tag_stands_beside_it(self) -> None:
        digest = f"sha256:{'0' * 64}"
        old = host(rings=[Ring("ImageMonitor/all", (f"localhost:5000/a@{digest}",))])
        joining = Ring("ImageMonitor/b", (f"localhost:5000/a:1@{digest}",))
        assert [c.shared for c in compare(old, host(rings=[*old.check.rings, joining])).resources] == [1]

    @pytest.mark.rule("T4")
    def test_t4_nothing_is_shared_with_a_suspended_ring(self) -> None:
        old = host(rings=[Ring("ImageMonitor/all", (A,), suspended=True)])
        found = compare(old, host(rings=[*old.check.rings, Ring("ImageMonitor/b", (A,))]))
        assert [c.shared for c in found.resources] == [0]

    def test_a_queue_joins_with_images_to_copy(self) -> None:
        found = compare(host(), host(queues=[Queue("ImageMirror/m", (Copy(A, "r/a:1"),), suspended=True)]))
        assert texts(found.resources) == ["ImageMirror/m joins with 1 image to copy, suspended"]
        assert found.summary() == "1 queue joins."

    def test_a_ring_gains_and_loses_images_by_name(self) -> None:
        found = compare(host(rings=[Ring("ImageMonitor/a", (A, B))]), host(rings=[Ring("ImageMonitor/a", (B, C))]))
        assert found.resources == (ImagesChange(HOST, Operation.CHECK, "ImageMonitor/a", (C,), (A,), (), 2, 2),)
        assert found.resources[0].text == "gains 1 image, loses 1 image (still 2)"

    def test_a_queue_that_writes_to_another_place_loses_nothing(self) -> None:
        old, new = (host(queues=[Queue("ImageMirror/m", (Copy(A, to), Copy(B, "r/b")))]) for to in ("r/a", "s/a"))
        found = compare(old, new)
        assert found.resources == (ImagesChange(HOST, Operation.COPY, "ImageMirror/m", (), (), (A,), 2, 2),)
        assert found.resources[0].text == "writes 1 image to another place (still 2)"

    @pytest.mark.rule("C1")
    def test_c1_another_order_of_a_queue_is_a_change(self) -> None:
        old, new = (
            host(queues=[Queue("ImageMirror/m", tuple(Copy(i, i) for i in order))]) for order in ((A, B), (B, A))
        )
        found = compare(old, new)
        assert found.resources == (OrderChanges(HOST, Operation.COPY, "ImageMirror/m"),)
        assert found.resources[0].text == "takes the images of its queue in another order"

    @pytest.mark.rule("T4")
    def test_t4_a_suspended_owner_keeps_its_ring_and_its_cursor(self) -> None:
        old, new = (host(rings=[Ring("ImageMonitor/a", (A,), suspended=s)]) for s in (False, True))
        assert compare(old, new).resources == (OwnerSuspends(HOST, Operation.CHECK, "ImageMonitor/a", suspended=True),)
        assert texts(compare(old, new).resources) == [
            "ImageMonitor/a is suspended: keeps its ring and its cursor, takes no turn"
        ]
        assert texts(compare(new, old).resources) == ["ImageMonitor/a is resumed: takes turns again, behind its cursor"]

    @pytest.mark.rule("H3")
    def test_h3_another_credential_moves_no_cursor(self) -> None:
        old = host(rings=[Ring("ImageMonitor/a", (A, B))])
        new = host(rings=[Ring("ImageMonitor/a", (A, B), auth=((A, "creds"),), insecure=(B,))])
        found = compare(old, new)
        assert found.resources == (AccessChanges(HOST, Operation.CHECK, "ImageMonitor/a", (A,), (B,)),)
        assert found.resources[0].text == (
            "reads 1 image with another credential and 1 image over another scheme,"
            " from the next one on; no cursor moves"
        )


class TestCosts:
    def with_forecasts(self, lap: int, best: int, drain: int | None) -> HostPlan:
        plan = host(rings=[Ring("ImageMonitor/a", (A,))], queues=[Queue("ImageMirror/m", (Copy(A, A),))])
        forecast = CheckForecast(1440, 1, (LapForecast("ImageMonitor/a", best, lap),))
        check = replace(plan.check, forecast=forecast)
        return replace(plan, check=check, copy=replace(plan.copy, forecast=CopyForecast(drain)))

    def test_laps_and_drains_are_compared_where_both_are_known(self) -> None:
        found = compare(self.with_forecasts(HOUR, HOUR, None), self.with_forecasts(MINUTE, HOUR, HOUR))
        assert [c.text for c in found.costs] == ["lap 1h0m0s → 1m0s", "drain never → 1h0m0s"]
        assert found.summary() == "1 lap gets shorter, 1 drain changes."
        assert found.is_empty
        assert compare(host(), self.with_forecasts(MINUTE, HOUR, HOUR)).costs == ()

    def test_a_better_best_case_alone_says_that_the_lap_stays(self) -> None:
        found = compare(self.with_forecasts(HOUR, HOUR, 0), self.with_forecasts(HOUR, MINUTE, 0))
        assert [c.text for c in found.costs] == ["lap 1h0m0s as before, at best 1h0m0s → 1m0s"]

    def test_the_ceiling_is_known_without_a_forecast(self) -> None:
        found = compare(host(check=7 * SECOND), host(check=MINUTE))
        # a day begun is a window more: the ceiling is never too low
        assert found.costs == (WindowsChange(HOST, 12343, 1440),)

    def test_a_suspended_registry_is_asked_nothing(self) -> None:
        assert compare(host(), host(suspended=True)).costs == (WindowsChange(HOST, 1440, 0),)

    def test_costs_come_from_no_place_in_the_input(self) -> None:
        lap = LapForecast("ImageMonitor/a", 1, 1)
        assert LapChanges(HOST, lap, lap).causes == ()

    def test_a_summary_names_three_ceilings_and_counts_the_others(self) -> None:
        old, new = (
            Plan(tuple(replace(host(check=every), host=f"{name}.io") for name in "abcde")) for every in (MINUTE, HOUR)
        )
        assert diff(old, new).summary() == (
            "5 series restart; at most 24 windows a day on a.io (was 1440), 24 windows a day on b.io (was 1440),"
            " 24 windows a day on c.io (was 1440), and other numbers on 2 more."
        )


class TestDocument:
    def test_the_example_as_plain_values(self, before: Plan, after: Plan) -> None:
        document = diff(before, after).to_document()
        assert list(document) == ["apiVersion", "kind", "summary", "registries", "resources", "costs", "unchanged"]
        assert document["registries"] == [
            {
                "change": "series-restarts",
                "host": "docker.io",
                "operation": "Check",
                "before": {"interval": "1m0s", "from": "registries.docker.io.check.interval"},
                "after": {"interval": "30s", "from": "registries.docker.io.check.interval"},
                "reason": "1m0s → 30s: its windows restart, the first 30s after the reload",
            }
        ]
        assert document["resources"][0]["owner"] == "ImageMonitor/team-b"
        assert document["resources"][0]["shared"] == 30
        assert document["unchanged"] == [
            {"host": "docker.io", "operation": "Copy"},
            {"host": "quay.io", "operation": "Check"},
            {"host": "quay.io", "operation": "Copy"},
        ]

    def test_the_summary_of_the_example(self, before: Plan, after: Plan) -> None:
        assert diff(before, after).summary() == (
            "1 series restarts, 1 ring joins, 1 lap gets shorter; at most 2880 windows a day on docker.io (was 1440)."
        )
