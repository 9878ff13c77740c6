"""A folder as folders are: broken, binary, empty, unreadable, endless. A clear message, no traceback, no hang."""

from __future__ import annotations

import ctypes
import errno
import os
import re
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from compiler.reading import read_config
from compiler.source import Text
from runtime.files import read_files
from tests.cli.conftest import MONITOR, POD, Kuik

HEAD = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: odd}\n"
DEEP = 100_000

NOT_READ = {
    "broken.yaml": ("kind: [Pod\nmetadata: {}\n", r"broken\.yaml:\d:\d+: error\[not-yaml\]: this is not YAML: .+"),
    "template.yaml": (
        "kind: Pod\nmetadata:\n  name: {{ .Release.Name }}\n  {{- with .Values.labels }}\n",
        r"template\.yaml:\d:\d+: error\[unrendered-template\]: .*\n(.*\n)+?help: render it first, .*helm template",
    ),
    "image.yaml": (
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
        r"image\.yaml: error\[not-text\]: this file is not UTF-8: byte 0 is 0x89",
    ),
    "nul.json": ("\0\0\0\0", r"nul\.json: error\[not-text\]: this file is binary: it contains NUL"),
    "wide.yaml": (
        POD.encode("utf-16"),
        r"wide\.yaml: error\[not-text\]: this file is UTF-16 or UTF-32\nhelp: save it as UTF-8",
    ),
    "latin.yaml": (
        f"# caf\N{LATIN SMALL LETTER E WITH ACUTE}\n{POD}".encode("latin-1"),
        r"latin\.yaml: error\[not-text\]: this file is not UTF-8: byte 5 is 0xe9",
    ),
    "bomb.yaml": (
        f"{HEAD}a0: &a0 [x,x,x,x,x,x,x,x,x]\n"
        + "".join(f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 10)),
        r"bomb\.yaml:\d+:\d+: error\[not-yaml\]: .*its aliases stand for more than a million values",
    ),
    "deep-json.json": (
        '{"a":' * DEEP + "1" + "}" * DEEP,
        r"deep-json\.json:1:\d+: error\[not-yaml\]: .* nested too deep",
    ),
    "deep-flow.yaml": (
        f"a: {'[' * DEEP}{']' * DEEP}\n",
        r"deep-flow\.yaml:1:\d+: error\[not-yaml\]: .* nested too deep",
    ),
    "deep-block.yaml": ("- " * DEEP + "a\n", r"deep-block\.yaml:1:\d+: error\[not-yaml\]: .* nested too deep"),
    "deep-keys.yaml": ("? " * DEEP + "a\n", r"deep-keys\.yaml:1:\d+: error\[not-yaml\]: .* nested too deep"),
    "deep-monitor.json": (
        '{"apiVersion":"kuik.enix.io/v1alpha1","kind":"ImageMonitor","metadata":{"name":"a"},"spec":%s}'
        % ('{"a":' * 900 + "1" + "}" * 900),
        r"deep-monitor\.json:1:\d+: error\[invalid-value\]: this is nested deeper than 100 levels",
    ),
    "long-number.yaml": (
        f"{MONITOR}spec: {{unusedImageRetention: {'9' * 5000}}}\n",
        r"long-number\.yaml:4:\d+: error\[invalid-value\]: this number is larger than 64 bits hold",
    ),
}
"""What a folder may hold that can't be read: file, content, what is told of it."""

READ = {
    "pod.yaml": POD,
    "monitor.yaml": MONITOR,
    "empty.yaml": "",
    "blank.yaml": "\n\n",
    "comment.yaml": "# nothing here\n---\n# nor here\n",
    "marked.yaml": "\ufeff" + POD.replace("nginx", "httpd"),
    "windows.yaml": POD.replace("nginx", "redis").replace("\n", "\r\n"),
    "deep.yaml": HEAD + "a:\n" + "".join(f"{'  ' * n}a:\n" for n in range(1, 100)),
    "endless.yaml": f"{HEAD}a: &a [*a]\n",
    "list.json": '[{"op": "replace", "path": "/spec/replicas", "value": 3}]',
}
"""What looks odd and is sound."""


def write(folder: Path, files: Mapping[str, str | bytes]) -> None:
    for name, content in files.items():
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory, environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """Give what is said of one folder with all that can't be read, beside a sound pod and monitor."""
    folder = tmp_path_factory.mktemp("odd")
    write(folder, {name: content for name, (content, _) in NOT_READ.items()} | READ)
    return Kuik(folder, environment)("validate", "-f", ".")


@pytest.mark.parametrize("name", NOT_READ)
def test_what_cannot_be_read_is_told_in_words(name: str, told: subprocess.CompletedProcess[str]) -> None:
    assert re.search(NOT_READ[name][1], told.stdout)


def test_each_is_told_once_and_the_rest_of_the_folder_is_read(told: subprocess.CompletedProcess[str]) -> None:
    assert 1 == told.returncode
    assert "Traceback" not in told.stderr
    assert sorted(NOT_READ) == sorted(set(re.findall(r"^\./([\w.-]+):.* error\[", told.stdout, re.MULTILINE)))
    assert f"read {len(READ) + len(NOT_READ) - 4} files, 1 resource, 3 workloads; 2 objects" in told.stderr


def test_what_looks_odd_and_is_sound_is_planned(kuik: Kuik) -> None:
    write(kuik.folder, READ)

    done = kuik("plan", "-f", ".", "-o", "yaml")

    assert (0, 10) == (done.returncode, len(READ))
    assert "read 10 files, 1 resource, 3 workloads; 2 objects of 1 other kind skipped\n" == done.stderr
    assert ["httpd", "nginx", "redis"] == re.findall(r"library/(\w+):1.29", done.stdout)


def test_a_file_that_is_named_and_empty_is_told(kuik: Kuik) -> None:
    write(kuik.folder, {"empty.yaml": "", "blank.yaml": " \n"})

    done = kuik("validate", "-f", "empty.yaml", "-f", "blank.yaml", "-f", ".")

    assert 0 == done.returncode
    assert [
        "blank.yaml: warning[empty-input]: this file is empty",
        "empty.yaml: warning[empty-input]: this file is empty",
    ] == [line for line in done.stdout.splitlines() if line]


@pytest.mark.parametrize(
    "arguments, place",
    [
        (("-f", "missing.yaml"), "missing.yaml"),
        (("-c", "missing.yaml"), "missing.yaml"),
        (("-c", "."), "."),
        (("-f", "monitor.yaml/below"), "monitor.yaml/below"),
        (("-f", "x" * 300), "x" * 300),
    ],
    ids=["no manifest", "no configuration", "a folder", "below a file", "a long name"],
)
def test_what_is_named_and_cannot_be_read_is_told(team: Kuik, arguments: tuple[str, ...], place: str) -> None:
    done = team("plan", *arguments)

    assert (1, "") == (done.returncode, done.stdout)
    assert f"{place}: error[unreadable]: this can't be read: " in done.stderr
    assert "Traceback" not in done.stderr


def test_loops_of_links_end(team: Kuik) -> None:
    (team.folder / "a").mkdir()
    (team.folder / "a" / "up").symlink_to("..")
    (team.folder / "a" / "round.yaml").symlink_to("round.yaml")

    done = team("validate", "-c", "config.yaml", "-f", ".")

    assert 1 == done.returncode
    assert "./a/round.yaml: error[unreadable]: this can't be read: too many levels of symbolic links" in done.stdout
    assert "1 error; read 2 files, 1 resource, 1 workload" in done.stderr


def test_a_link_to_nowhere_is_told_and_a_link_to_a_file_is_read(team: Kuik) -> None:
    (team.folder / "elsewhere").mkdir()
    (team.folder / "manifests").mkdir()
    write(team.folder / "elsewhere", {"data": POD.replace("nginx", "httpd")})
    (team.folder / "manifests" / "linked.yaml").symlink_to("../elsewhere/data")
    (team.folder / "manifests" / "dangling.yaml").symlink_to("gone.yaml")

    done = team("validate", "-f", "manifests")

    assert 1 == done.returncode
    assert "manifests/dangling.yaml: error[unreadable]: this can't be read: there is no such file" in done.stdout
    done = team("validate", "-f", "manifests", "--exclude", "dangling.yaml")
    assert (0, "") == (done.returncode, done.stdout)
    assert "read 1 file, 0 resources, 1 workload" in done.stderr


def test_pipes_and_sockets_in_a_folder_are_left_alone(team: Kuik) -> None:
    os.mkfifo(team.folder / "pipe.yaml")

    done = team("plan", "-c", "config.yaml", "-f", ".")

    assert (0, "read 2 files, 1 resource, 1 workload\n") == (done.returncode, done.stderr)


def without_the_powers_of_root() -> None:
    """Let the permissions of files hold for root too: drop CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH from what a program
    that is started gets (capabilities(7))."""
    drop_from_bounding_set = 24
    libc = ctypes.CDLL(None, use_errno=True)
    for capability in (1, 2):
        if os.geteuid() == 0 and libc.prctl(drop_from_bounding_set, capability, 0, 0, 0) != 0:
            os._exit(errno.EPERM)


@pytest.mark.skipif(os.name != "posix", reason="permissions are POSIX's")
def test_a_file_or_folder_without_permission_is_told(team: Kuik) -> None:
    (team.folder / "locked").mkdir()
    (team.folder / "secret.yaml").write_text(POD)
    (team.folder / "secret.yaml").chmod(0)
    (team.folder / "locked").chmod(0)
    prepare: Callable[[], None] = without_the_powers_of_root

    done = team("validate", "-c", "config.yaml", "-f", ".", prepare=prepare)
    (team.folder / "locked").chmod(0o755)
    if done.returncode == errno.EPERM and not done.stderr and not done.stdout:
        pytest.skip("root can't give up its powers here")

    assert 1 == done.returncode
    assert "./secret.yaml: error[unreadable]: this can't be read: it may not be read by this user" in done.stdout
    assert "./locked: error[unreadable]: this can't be read: it may not be read by this user" in done.stdout
    assert "2 errors; read 2 files, 1 resource, 1 workload" in done.stderr


def test_a_name_that_is_no_text_is_shown_as_an_escape(team: Kuik) -> None:
    name = b"caf\xe9\x1b[31m.yaml"
    try:
        (team.folder / os.fsdecode(name)).write_text("kind: [\n")
    except (OSError, UnicodeError):
        pytest.skip("this file system takes no such name")

    done = team("validate", "-f", ".")

    assert 1 == done.returncode
    assert r"./caf\udce9\x1b[31m.yaml:1:" in done.stdout


@pytest.mark.parametrize("arguments", ["-f manifests", "-f - < manifests/dump.yaml"])
def test_a_file_of_more_than_a_gigabyte_is_refused_unread(kuik: Kuik, arguments: str) -> None:
    (kuik.folder / "manifests").mkdir()
    with (kuik.folder / "manifests" / "dump.yaml").open("wb") as file:
        file.truncate((1 << 30) + 1)  # sparse: it takes no space, and would take as much memory

    done = kuik.shell(f"kuik validate {arguments}")

    assert 1 == done.returncode
    assert ": error[too-large]: this file is larger than 1 GiB\n" in done.stdout


@pytest.fixture(scope="module")
def documented(root: Path) -> str:
    return (root / "docs" / "diagnostics.md").read_text(encoding="utf-8")


def test_the_page_on_diagnostics_shows_what_is_printed(kuik: Kuik, documented: str) -> None:
    (kuik.folder / "manifests").mkdir()
    (kuik.folder / "manifests" / "logo.yaml").write_bytes(b"\x89PNG\r\n")
    with (kuik.folder / "manifests" / "dump.yaml").open("wb") as file:
        file.truncate((1 << 30) + 1)

    done = kuik("validate", "-f", "manifests", "-f", "manifests/missing.yaml", "-f", "-")

    assert 4 == len(done.stdout.split("\n\n"))
    for diagnostic in done.stdout.rstrip("\n").split("\n\n"):
        assert f"```text\n{diagnostic}\n```" in documented


def test_a_folder_above_the_one_that_was_named_excludes_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "test" / "manifests"
    (folder / "charts").mkdir(parents=True)
    (folder / "pod.yaml").write_text("apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: []}\n")
    (folder / "charts" / "odd.yaml").write_text("a: [\n")

    files = read_files([str(folder)], exclude=["test", "charts"])

    assert [] == files.diagnostics
    assert [str(folder / "pod.yaml")] == [text.name for text in files.texts]


def test_a_manifest_in_place_of_a_configuration_is_named_for_what_it_is(tmp_path: Path) -> None:
    pod = tmp_path / "pod.yaml"
    pod.write_text("apiVersion: v1\nkind: Pod\nmetadata: {name: p}\n")

    config, found = read_config(Text("pod.yaml", pod.read_text()))

    assert config is None
    assert ["this is a manifest (Pod), not a configuration"] == [d.message for d in found]
