"""``kuik plan``: what it reads, what it compares, and how a stale plan is mended."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.cli.conftest import CONFIG, MONITOR, POD, Kuik


@pytest.fixture(scope="module")
def committed(tmp_path_factory: pytest.TempPathFactory, environment: Mapping[str, str]) -> Path:
    """Give a folder in which a plan was committed, beside a folder of manifests."""
    folder = tmp_path_factory.mktemp("committed")
    (folder / "manifests").mkdir()
    for name, content in (("config.yaml", CONFIG), ("manifests/monitor.yaml", MONITOR), ("manifests/pod.yaml", POD)):
        (folder / name).write_text(content)
    done = Kuik(folder, environment)("plan", "-c", "config.yaml", "-f", "manifests", "-o", "yaml")
    (folder / "plan.yaml").write_text(done.stdout)
    return folder


@pytest.fixture
def planned(kuik: Kuik, committed: Path) -> Kuik:
    """Give a copy of that folder."""
    shutil.copytree(committed, kuik.folder, dirs_exist_ok=True)
    return kuik


def change(kuik: Kuik, name: str, before: str, after: str) -> None:
    path = kuik.folder / name
    path.write_text(path.read_text().replace(before, after))


def test_against_an_equal_plan_nothing_changes(planned: Kuik) -> None:
    done = planned("plan", "-c", "config.yaml", "-f", "manifests", "--against", "plan.yaml", "--detailed-exitcode")

    assert (0, True) == (done.returncode, done.stdout.endswith("Nothing changes.\n"))


def test_against_another_plan_it_says_what_changes_and_where_that_was_written(planned: Kuik) -> None:
    change(planned, "config.yaml", "1m", "30s")
    change(planned, "manifests/pod.yaml", "nginx:1.29", "nginx:1.30")

    done = planned("plan", "-c", "config.yaml", "-f", "manifests", "--against", "plan.yaml")

    assert 0 == done.returncode
    below = done.stdout.partition("Against plan.yaml\n")[2]
    assert "~ docker.io Check  1m0s → 30s: its windows restart, the first 30s after the reload" in below
    assert "config.yaml:3\n" in below
    assert "manifests/monitor.yaml:1\n    + docker.io/library/nginx:1.30\n    - docker.io/library/nginx:1.29\n" in below


@pytest.mark.parametrize("form", ["table", "yaml", "json", "markdown"])
def test_a_difference_exits_with_2_when_asked_for_in_every_form(planned: Kuik, form: str) -> None:
    change(planned, "config.yaml", "1m", "30s")
    arguments = ("plan", "-c", "config.yaml", "-f", "manifests", "--against", "plan.yaml", "-o", form)

    assert 0 == planned(*arguments).returncode
    assert 2 == planned(*arguments, "--detailed-exitcode").returncode


def test_an_error_is_no_difference(planned: Kuik) -> None:
    change(planned, "config.yaml", "1m", "1")

    done = planned("plan", "-c", "config.yaml", "-f", "manifests", "--against", "plan.yaml", "--detailed-exitcode")

    assert (1, "") == (done.returncode, done.stdout)


def test_a_plan_in_json_is_as_good_to_compare_with(planned: Kuik) -> None:
    plan = planned("plan", "-c", "config.yaml", "-f", "manifests", "-o", "json").stdout
    (planned.folder / "plan.json").write_text(plan)

    done = planned("plan", "-c", "config.yaml", "-f", "manifests", "--against", "plan.json", "--detailed-exitcode")

    assert 0 == done.returncode


@pytest.mark.parametrize("option", ["--against", "--check"])
@pytest.mark.parametrize(
    "content, message",
    [
        (CONFIG, "plan.yaml:1:1: error"),
        ("hosts: [", "plan.yaml:1:8: error[not-yaml]"),
        ("", "a plan is one document; here are 0"),
        (None, "plan.yaml: error[unreadable]: this can't be read: there is no such file or folder"),
    ],
    ids=["a configuration", "no YAML", "nothing", "missing"],
)
def test_what_is_no_plan_is_told_and_how_to_make_one(
    planned: Kuik, option: str, content: str | None, message: str
) -> None:
    (planned.folder / "plan.yaml").unlink()
    if content is not None:
        (planned.folder / "plan.yaml").write_text(content)

    done = planned("plan", "-c", "config.yaml", "-f", "manifests", option, "plan.yaml")

    assert (1, "") == (done.returncode, done.stdout)
    assert message in done.stderr
    assert "plan.yaml is no plan; make one with:\n  kuik plan" in done.stderr


def test_a_fresh_plan_passes_the_check(planned: Kuik) -> None:
    done = planned("plan", "-c", "config.yaml", "-f", "manifests", "--check", "plan.yaml")

    assert 0 == done.returncode
    assert "stale" not in done.stderr


def test_a_stale_plan_fails_and_the_printed_command_mends_it(planned: Kuik) -> None:
    (planned.folder / "manifests" / "team b").mkdir()
    (planned.folder / "manifests" / "team b" / "it's.yaml").write_text(POD.replace("nginx", "redis"))
    (planned.folder / "manifests" / "not-this.yaml").write_text(POD.replace("nginx", "httpd"))
    arguments = ("plan", "-c", "config.yaml", "-f", "manifests/team b/it's.yaml", "-f", "manifests")
    arguments = (*arguments, "--exclude", "not-*", "--check", "plan.yaml")

    stale = planned(*arguments)
    assert 1 == stale.returncode
    assert "plan.yaml is stale; mend it with:\n" in stale.stderr

    mended = planned.shell(stale.stderr.splitlines()[-1])
    assert 0 == mended.returncode
    assert 0 == planned(*arguments).returncode
    assert "redis:1.29" in (planned.folder / "plan.yaml").read_text()
    assert "httpd" not in (planned.folder / "plan.yaml").read_text()


def test_a_plan_with_the_marks_of_a_conflict_is_mended_by_the_printed_command(planned: Kuik) -> None:
    change(planned, "plan.yaml", "hosts:", "<<<<<<< ours\nhosts:\n=======\nhosts: []\n>>>>>>> theirs")
    arguments = ("plan", "-c", "config.yaml", "-f", "manifests", "--check", "plan.yaml")

    broken = planned(*arguments)
    planned.shell(broken.stderr.splitlines()[-1])

    assert (1, 0) == (broken.returncode, planned(*arguments).returncode)


def test_a_stale_plan_in_json_is_mended_in_json(planned: Kuik) -> None:
    (planned.folder / "plan.json").write_text(planned("plan", "-f", "manifests", "-o", "json").stdout)

    stale = planned("plan", "-c", "config.yaml", "-f", "manifests", "--check", "plan.json")
    planned.shell(stale.stderr.splitlines()[-1])

    assert (1, 0) == (
        stale.returncode,
        planned("plan", "-c", "config.yaml", "-f", "manifests", "--check", "plan.json").returncode,
    )
    assert "WindowPlan" == json.loads((planned.folder / "plan.json").read_text())["kind"]


def test_a_stale_plan_of_standard_input_says_that_something_goes_in_front(planned: Kuik) -> None:
    done = planned("plan", "-f", "-", "--check", "plan.yaml", stdin=POD)

    assert "  … | kuik plan -f - -o yaml > plan.yaml\n" in done.stderr


def test_a_plan_is_the_same_whatever_comes_first(planned: Kuik) -> None:
    one = planned("plan", "-f", "manifests/pod.yaml", "-f", "manifests/monitor.yaml", "-o", "yaml")
    other = planned("plan", "-f", "manifests/monitor.yaml", "-f", "manifests/pod.yaml", "-o", "yaml")

    assert one.stdout == other.stdout


def test_a_file_is_read_once_however_it_is_reached(team: Kuik) -> None:
    (team.folder / "link.yaml").symlink_to("monitor.yaml")

    done = team("plan", "-f", "monitor.yaml", "-f", ".", "-f", "monitor.yaml", "-f", "./pod.yaml")

    assert 0 == done.returncode
    assert "read 3 files, 1 resource, 1 workload" in done.stderr


@pytest.mark.parametrize("config", ["config.yaml", "./config.yaml", "kuik.yaml"])
def test_a_configuration_in_the_folder_of_the_manifests_is_no_manifest(team: Kuik, config: str) -> None:
    (team.folder / "kuik.yaml").symlink_to("config.yaml")

    done = team("plan", "-c", config, "-f", ".")

    assert (0, True) == (done.returncode, "docker.io  Check      1m0s" in done.stdout)
    assert "skipped" not in done.stderr


def test_a_committed_plan_in_the_folder_of_the_manifests_is_no_manifest(team: Kuik) -> None:
    plan = team("plan", "-c", "config.yaml", "-f", ".", "-o", "yaml").stdout
    (team.folder / "plan.yaml").write_text(plan)

    done = team("plan", "-c", "config.yaml", "-f", ".", "--check", "plan.yaml", "-o", "yaml")

    assert (0, plan) == (done.returncode, done.stdout)


@pytest.mark.parametrize(
    "glob, left_out",
    [
        ("charts/*", True),
        ("charts", True),
        ("manifests/charts", True),
        ("deployment.yaml", True),
        ("*.yaml", True),
        ("**/deployment.yaml", True),
        ("chart", False),
        ("*.yml", False),
        ("CHARTS", False),
    ],
)
def test_exclude_leaves_out_files_and_folders(kuik: Kuik, glob: str, *, left_out: bool) -> None:
    chart = kuik.folder / "manifests" / "charts" / "web"
    chart.mkdir(parents=True)
    (chart / "deployment.yaml").write_text("kind: Deployment\nmetadata: {name: {{ .Release.Name }}}\n")

    done = kuik("plan", "-f", "manifests", "--exclude", glob)

    assert (0 if left_out else 1) == done.returncode
    assert left_out is ("unrendered-template" not in done.stderr)


def test_only_yaml_and_json_of_a_folder_are_read_and_what_is_hidden_is_not(team: Kuik) -> None:
    for name in ("README.md", "values.yaml.bak", ".hidden.yaml", "run.sh", ".git/config.yaml", "deep/.cache/x.json"):
        path = team.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{ this is: [ no YAML")
    for name, image in (("a.yml", "httpd"), ("b.json", "redis"), ("deep/er/c.yaml", "nats")):
        path = team.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(POD.replace("nginx", image))

    done = team("plan", "-c", "config.yaml", "-f", ".", "-o", "json")

    images = json.loads(done.stdout)["hosts"][0]["check"]["rings"][0]["images"]
    assert [f"docker.io/library/{name}:1.29" for name in ("httpd", "nats", "nginx", "redis")] == images


def test_the_quickstart_is_planned(kuik: Kuik, root: Path) -> None:
    folder = root / "examples" / "quickstart"

    done = kuik("plan", "-c", str(folder / "config.yaml"), "-f", str(folder))

    assert (0, "read 3 files, 2 resources, 6 workloads\n") == (done.returncode, done.stderr)
    assert ["docker.io", "quay.io", "registry.k8s.io"] == [
        line.split()[0] for line in done.stdout.splitlines() if " Check " in line
    ]


def test_the_markdown_fits_into_a_comment_whatever_the_size(team: Kuik) -> None:
    (team.folder / "many.yaml").write_text(
        "---\n".join(POD.replace("nginx:1.29", f"registry-{n % 50}.tld/team/application-{n}:1.0") for n in range(2000))
    )

    done = team("plan", "-f", ".", "-o", "markdown")

    assert 0 == done.returncode
    assert len(done.stdout.encode()) < 60_000
