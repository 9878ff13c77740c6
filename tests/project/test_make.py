"""The first minutes on a machine: which Python is taken, and what is said when none will do."""

import re
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.fixture
def bin_folder(tmp_path: Path) -> Path:
    """A PATH with nothing on it but a shell."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "sh").symlink_to("/bin/sh")
    return folder


def add_python(folder: Path, name: str, *, version: tuple[int, int] = (3, 12), venv: bool = True) -> None:
    """Put a Python on the PATH that claims a version and, if told, lacks the modules for virtual environments."""
    claims = f"import sys; sys.version_info = {(*version, 0)!r}; sys.executable = {str(folder / name)!r}\n"
    if not venv:
        claims += "sys.modules['ensurepip'] = None\n"
    (folder / f"{name}.py").write_text(claims + "exec(sys.argv[2])\n")
    (folder / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" "{folder / name}.py" "$@"\n')
    (folder / name).chmod(0o755)


def find_python(root: Path, folder: Path, *argument: str) -> tuple[int, str, str]:
    command = ["/bin/sh", str(root / "hack/find-python.sh"), *argument]
    done = subprocess.run(command, env={"PATH": str(folder)}, capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout.strip(), done.stderr.strip()


def test_python_that_is_too_old_is_passed_over(root: Path, bin_folder: Path) -> None:
    add_python(bin_folder, "python3", version=(3, 10))
    add_python(bin_folder, "python3.13", version=(3, 13))

    assert (0, str(bin_folder / "python3.13"), "") == find_python(root, bin_folder)


def test_python_without_venv_gives_way_to_one_with_it(root: Path, bin_folder: Path) -> None:
    add_python(bin_folder, "python3", venv=False)
    add_python(bin_folder, "python3.11")

    assert (0, str(bin_folder / "python3.11"), "") == find_python(root, bin_folder)


def test_missing_venv_names_the_package(root: Path, bin_folder: Path) -> None:
    add_python(bin_folder, "python3", version=(3, 12), venv=False)

    status, _, message = find_python(root, bin_folder)

    assert status == 1
    assert message.endswith("On Debian and Ubuntu: apt-get install python3.12-venv")


def test_no_python_says_how_to_name_one(root: Path, bin_folder: Path) -> None:
    status, _, message = find_python(root, bin_folder)

    assert (1, True) == (status, "make PYTHON=" in message)


def test_named_python_is_not_replaced_by_another(root: Path, bin_folder: Path) -> None:
    add_python(bin_folder, "python3")
    add_python(bin_folder, "old", version=(3, 9))

    assert (1, "", "PYTHON=old is no Python 3.11 or newer.") == find_python(root, bin_folder, "old")


def test_help_lists_every_target(root: Path) -> None:
    makefile = (root / "Makefile").read_text()
    (phony,) = re.findall(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)

    explained = re.findall(r"^([a-z-]+):.*## ", makefile, re.MULTILINE)

    assert sorted(phony.split()) == sorted(explained)
