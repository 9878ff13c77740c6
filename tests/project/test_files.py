"""What no file of the project may hold: the host of a package index, a path of somebody's machine."""

import re
import subprocess
from pathlib import Path

import pytest

# in pieces, so that this file does not find itself
INDEX_HOSTS = re.compile(
    "|".join((r"pypi\." + "org", r"python" + r"hosted\.org", r"npmjs\." + "(?:com|org)")), re.IGNORECASE
)
INDEX_OPTIONS = re.compile(r"^\s*--(?:" + r"(?:extra-)?index-url|find-links|trusted-host)\b")
HOMES = re.compile(r"(?<![\w.-])/(?:" + r"home/[a-z]\w*|root/[\w.]+|Users/\w+|work/\w+|tmp/exp)\b")


def files_of(root: Path) -> list[Path]:
    done = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip("not a git checkout: the project's files can't be told from others")
    return [root / name for name in done.stdout.split("\0") if name and (root / name).is_file()]


def lines_with(root: Path, pattern: re.Pattern[str], names: str = "*") -> list[str]:
    return [
        f"{path.relative_to(root)}:{number}: {line.strip()}"
        for path in files_of(root)
        if path.match(names)
        for number, line in enumerate(path.read_text("utf-8", errors="replace").split("\n"), 1)
        if pattern.search(line)
    ]


def test_no_file_names_the_host_of_a_package_index(root: Path) -> None:
    assert [] == lines_with(root, INDEX_HOSTS)


def test_no_requirement_sets_an_index(root: Path) -> None:
    assert [] == lines_with(root, INDEX_OPTIONS, "requirements*.txt")


def test_no_file_holds_a_path_of_a_machine(root: Path) -> None:
    assert [] == lines_with(root, HOMES)


def test_every_script_is_executable_and_has_an_interpreter(root: Path) -> None:
    scripts = [path for path in files_of(root) if path.suffix == ".sh" or path.parent.name == ".ci"]

    wrong = [path.name for path in scripts if not (path.stat().st_mode & 0o100 and path.read_bytes().startswith(b"#!"))]

    assert [] == wrong
