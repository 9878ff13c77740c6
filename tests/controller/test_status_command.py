"""``kuik status`` tells from files alone when windows open, where rings stand, and what is wrong."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from compiler.source import Text, read_documents
from runtime.cli.main import main
from runtime.overview import overview
from runtime.pace import is_led, read_pace
from tests.controller.conftest import Play
from tests.support.hostile import Reply
from tests.support.stage import NOON, Stage, has_everything, monitor, pod

ANCHOR = datetime(2026, 1, 2, 13, 32, tzinfo=UTC)


def series(**more: Any) -> dict[str, Any]:
    return {"anchor": "2026-01-02T13:32:00Z", "interval": "5m0s", **more}


def shown(now: datetime, *, is_led: bool = True, **more: Any) -> dict[str, Any]:
    pace = {"hosts": [{"registry": "docker.io", "check": series(**more)}]}
    found: dict[str, Any] = overview(pace, {}, now, is_led=is_led)["hosts"][0]
    return found


@pytest.mark.rule("W2")
@pytest.mark.parametrize(
    "after, first",
    [(0, "13:37:00"), (299, "13:37:00"), (300, "13:42:00"), (301, "13:42:00"), (-5, "13:37:00"), (-3600, "13:37:00")],
)
def test_the_next_window_is_the_first_of_the_grid_that_is_still_to_come(after: int, first: str) -> None:
    found = shown(ANCHOR + timedelta(seconds=after))

    assert f"2026-01-02T{first}Z" == found["next"][0]
    assert 3 == len(found["next"])


def test_where_nothing_runs_no_window_is_told() -> None:
    assert [] == shown(ANCHOR, is_led=False)["next"]


def test_a_hold_is_told_while_it_lasts() -> None:
    held = "2026-01-02T14:00:00Z"

    assert held == shown(ANCHOR, heldUntil=held)["heldUntil"]
    assert "heldUntil" not in shown(ANCHOR + timedelta(hours=1), heldUntil=held)


@pytest.mark.parametrize("content", ["", "{", "[]", '{"hosts": 3}', '{"hosts": [{"check": {"interval": "soon"}}]}'])
def test_a_file_that_is_no_pace_is_as_good_as_none(content: str, tmp_path: Path) -> None:
    (tmp_path / "pace.json").write_text(content)

    assert [] == overview(read_pace(tmp_path), {}, ANCHOR, is_led=True)["hosts"]


def test_it_tells_what_a_process_does(play: Play, capsys: pytest.CaptureFixture[str]) -> None:
    async def act(stage: Stage) -> None:
        stage.configure(stage.pace("10s", "1h"))
        stage.registry.otherwise = lambda seen: Reply(404) if "/b/" in seen.path else has_everything(seen)
        stage.write(monitor(), pod("a", stage.image("x/a:1"), stage.image("x/b:1"), stage.image("x/c:1")))
        async with stage.process():
            await stage.until(lambda: stage.has_status("ImageMonitor/all"))
            await stage.until(lambda: bool(stage.status("ImageMonitor/all")["unavailableImages"]))
            assert is_led(stage.state)
            assert 0 == main(["status", "--state", str(stage.state), "-o", "json"])
            found = json.loads(capsys.readouterr().out)
            assert (True, 2) == (found["running"], len(found["hosts"]))
            assert {"registry": stage.host, "operation": "Check", "interval": "10s"}.items() <= found["hosts"][
                0
            ].items()
            anchor = datetime.fromisoformat(found["hosts"][0]["anchor"])
            assert abs(anchor.timestamp() - NOON / 1e9 - 1000) < 1
            assert {"owner": "ImageMonitor/all", "checked": 2, "images": 3}.items() <= found["rings"][0].items()
            (wrong,) = found["anomalies"]
            assert ("Unavailable", stage.image("x/b:1"), "NotFound") == (wrong["kind"], wrong["image"], wrong["reason"])
            assert 0 == main(["status", "--state", str(stage.state), "-o", "yaml"])
            again: Any = read_documents(Text("status", capsys.readouterr().out))[0][0].value
            assert found["rings"] == again["rings"]
        assert not is_led(stage.state)
        assert 0 == main(["status", "--state", str(stage.state)])
        table = capsys.readouterr().out
        assert table.startswith("No process runs on this state folder.")
        assert "2/3" in table

    play(act)


def test_a_pace_that_can_not_be_put_down_costs_no_window_and_is_put_down_later(
    play: Play, caplog: pytest.LogCaptureFixture
) -> None:
    async def act(stage: Stage) -> None:
        stage.configure(stage.pace("10s"))
        stage.write(monitor(), pod("a", stage.image("x/a:1")))
        # a rename onto a folder fails for root too, as every write does on a full disk
        (stage.state / "pace.json").mkdir(parents=True)
        async with stage.process():
            await stage.asked(3)
            assert 1 == len([r for r in caplog.records if r.message == "pace not published"])
            assert [] == [*stage.state.glob(".being-written-*")]
            (stage.state / "pace.json").rmdir()
            await stage.until(lambda: read_pace(stage.state) is not None)

    play(act)


def test_a_folder_that_is_not_there_is_a_mistake(capsys: pytest.CaptureFixture[str]) -> None:
    assert 1 == main(["status", "--state", os.devnull + "/nothing"])
    assert "does not exist" in capsys.readouterr().err
