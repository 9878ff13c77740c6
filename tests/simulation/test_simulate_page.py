"""docs/simulate.md explains what the command prints for examples/outage, and stays true."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def page(root: Path) -> str:
    return (root / "docs" / "simulate.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def printed(root: Path) -> str:
    folder = root / "examples" / "outage"
    inputs = ["-c", folder / "config.yaml", "-f", folder / "resources.yaml", "--script", folder / "script.yaml"]
    command = [sys.executable, "-m", "runtime.cli.main", "simulate", *map(str, inputs), "--for", "18m", "-o", "jsonl"]
    return subprocess.run(command, capture_output=True, text=True, check=True, cwd=root).stdout


def test_the_page_shows_what_is_printed(page: str, printed: str) -> None:
    assert f"```json\n{printed}```" in page


def test_the_page_shows_the_script_as_it_is(page: str, root: Path) -> None:
    script = (root / "examples" / "outage" / "script.yaml").read_text(encoding="utf-8")
    assert f"```yaml\n{script}```" in page


def test_every_line_is_explained(page: str, printed: str) -> None:
    explained = re.findall(r"^(\d+)\. ", page, re.MULTILINE)
    assert [str(n) for n in range(1, len(printed.splitlines()) + 1)] == explained


@pytest.mark.rule("W4")
@pytest.mark.rule("W10")
@pytest.mark.rule("H2")
def test_the_script_shows_a_busy_window_a_hold_and_a_restart_of_one_series(printed: str) -> None:
    checks = [line for line in map(json.loads, printed.splitlines()) if line["operation"] == "Check"]
    assert [240.0] == [line["t"] for line in checks if line["outcome"] == "busy"]
    assert [360.0] == [line["t"] for line in checks if line["outcome"] == "held"]
    assert [60.0, 630.0, 930.0] == [line["t"] for line in checks if line["window"] == 1]
