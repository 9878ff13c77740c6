"""``kuik validate``: diagnostics in each form, and nothing but them."""

from __future__ import annotations

import json

import pytest

from tests.cli.conftest import MONITOR, POD, Kuik


@pytest.fixture
def wrong(team: Kuik) -> Kuik:
    """Give a folder with two errors and a warning in three files."""
    (team.folder / "config.yaml").write_text("registries:\n  docker.io:\n    check: {interval: 30}\n")
    (team.folder / "monitor.yaml").write_text(MONITOR + "spec: {suspended: true}\n")
    (team.folder / "pod.yaml").write_text(POD.replace("nginx:1.29", "${IMAGE}"))
    return team


def test_all_mistakes_of_all_files_are_told(wrong: Kuik) -> None:
    done = wrong("validate", "-c", "config.yaml", "-f", ".")

    assert 1 == done.returncode
    told = [line.split(": ")[:2] for line in done.stdout.splitlines() if line.startswith(("./", "config"))]
    assert [
        ["./monitor.yaml:4:8", "error[unknown-field]"],
        ["./pod.yaml:6:26", "warning[invalid-image]"],
        ["config.yaml:3:23", "error[invalid-duration]"],
    ] == told
    assert "2 errors, 1 warning; read 2 files, 0 resources, 1 workload\n" == done.stderr


def test_json_is_for_programs(wrong: Kuik) -> None:
    document = json.loads(wrong("validate", "-c", "config.yaml", "-f", ".", "-o", "json").stdout)

    assert (2, 1) == (document["errors"], document["warnings"])
    assert {
        "severity": "error",
        "code": "invalid-duration",
        "message": "registries.docker.io.check.interval: 30 has no unit",
        "file": "config.yaml",
        "line": 3,
        "column": 23,
        "width": 2,
        "excerpt": "    check: {interval: 30}",
        "help": "write for example 30s or 30m",
    } == document["diagnostics"][2]


def test_github_gets_annotations(wrong: Kuik) -> None:
    lines = wrong("validate", "-c", "config.yaml", "-f", ".", "-o", "github").stdout.splitlines()

    assert ["::error", "::warning", "::error"] == [line.split()[0] for line in lines]
    assert lines[2] == (
        "::error file=config.yaml,line=3,col=23,title=kuik invalid-duration::"
        "registries.docker.io.check.interval: 30 has no unit%0Ahelp: write for example 30s or 30m"
    )


@pytest.mark.parametrize("form", ["text", "json", "github"])
def test_sound_input_gives_nothing_to_complain_of(team: Kuik, form: str) -> None:
    done = team("validate", "-c", "config.yaml", "-f", ".", "-o", form, "--strict")

    assert 0 == done.returncode
    assert "no errors; read 2 files, 1 resource, 1 workload\n" == done.stderr
    assert "" == done.stdout if form != "json" else 0 == json.loads(done.stdout)["errors"]


def test_other_kinds_are_counted(team: Kuik) -> None:
    (team.folder / "service.yaml").write_text("apiVersion: v1\nkind: Service\n---\napiVersion: v1\nkind: Secret\n")

    done = team("validate", "-f", ".")

    assert "; 2 objects of 2 other kinds skipped\n" in done.stderr


@pytest.mark.parametrize("form", ["text", "json", "github"])
def test_no_line_of_a_secret_is_shown(team: Kuik, form: str) -> None:
    data = "stringData:\n  config: [open # sesame\n"
    (team.folder / "secret.yaml").write_text(f"apiVersion: v1\nkind: Secret\nmetadata: {{name: hub}}\n{data}")

    done = team("validate", "-f", ".", "-o", form)

    assert "secret.yaml" in done.stdout
    assert "sesame" not in done.stdout + done.stderr
