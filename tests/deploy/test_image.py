"""The Containerfile, as far as it can be judged without a base image: its form, its user, and what it copies."""

from __future__ import annotations

import fnmatch
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Document = dict[str, Any]


@pytest.fixture(scope="module")
def instructions(root: Path) -> list[tuple[str, str]]:
    """Give the instructions of the Containerfile with their arguments, each on one line."""
    text = re.sub(r"(?m)^\s*#.*\n", "", (root / "Containerfile").read_text(encoding="utf-8")).replace("\\\n", " ")
    return [
        (name, argument.strip()) for name, _, argument in (line.partition(" ") for line in text.splitlines()) if name
    ]


@pytest.fixture(scope="module")
def last_stage(instructions: list[tuple[str, str]]) -> list[tuple[str, str]]:
    start = max(n for n, (name, _) in enumerate(instructions) if name == "FROM")
    return instructions[start:]


def arguments_of(instructions: list[tuple[str, str]], wanted: str) -> list[str]:
    return [argument for name, argument in instructions if name == wanted]


def copied(instructions: list[tuple[str, str]]) -> set[str]:
    """Give what is copied from the checkout."""
    lists = [a.split()[:-1] for a in arguments_of(instructions, "COPY") if not a.startswith("--from")]
    return {source for sources in lists for source in sources}


def test_hadolint_finds_nothing(root: Path) -> None:
    hadolint = Path(sys.executable).with_name("hadolint")
    done = subprocess.run([hadolint, root / "Containerfile"], capture_output=True, text=True)

    assert ("", 0) == (done.stdout, done.returncode)


def test_it_runs_kuik_as_the_user_of_the_deployment(
    last_stage: list[tuple[str, str]], one: Callable[[str, str], Document]
) -> None:
    context = one("Deployment", "kuik")["spec"]["template"]["spec"]["securityContext"]

    assert [f"{context['runAsUser']}:{context['runAsGroup']}"] == arguments_of(last_stage, "USER")
    assert ['["kuik"]'] == arguments_of(last_stage, "ENTRYPOINT")


def test_the_last_stage_takes_nothing_from_the_checkout_and_installs_nothing(
    last_stage: list[tuple[str, str]],
) -> None:
    assert set() == copied(last_stage)
    assert [] == [a for a in arguments_of(last_stage, "RUN") if re.search(r"\binstall\b", a)]


def test_every_package_is_compared_with_the_hashes_of_the_lock(instructions: list[tuple[str, str]]) -> None:
    installs = re.findall(r"install ([^;]+)", " ; ".join(arguments_of(instructions, "RUN")).replace("uninstall", ""))
    from_files = [i for i in installs if "-r requirements" in i]
    others = [i for i in installs if "-r requirements" not in i and "pip" not in i]

    assert 2 == len(from_files)
    assert [] == [i for i in from_files if not {"--require-hashes", "--only-binary"} <= set(i.split())]
    # kuik itself, which was built a line before
    assert [] == [i for i in others if not {"--no-deps", "--no-index"} <= set(i.split())]


def test_everything_that_the_wheel_needs_is_copied(instructions: list[tuple[str, str]], root: Path) -> None:
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    packages = project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    files = [project["project"]["readme"], *project["project"]["license-files"], "pyproject.toml"]
    locks = ["requirements.txt", "requirements-build.txt"]

    assert {*packages, *files, *locks} == copied(instructions)


def test_what_is_copied_is_there_and_nothing_else_is_sent(instructions: list[tuple[str, str]], root: Path) -> None:
    ignored, *rules = [
        line
        for line in (root / ".containerignore").read_text(encoding="utf-8").splitlines()
        if line and not line.startswith("#")
    ]
    sent = {rule.removeprefix("!") for rule in rules if rule.startswith("!")}

    assert "*" == ignored
    assert sent == copied(instructions)
    assert [] == [name for name in sent if not (root / name).exists()]
    assert [] == [name for name in sent for rule in rules if not rule.startswith("!") and fnmatch.fnmatch(name, rule)]


def test_both_stages_start_from_one_image_that_can_be_chosen(instructions: list[tuple[str, str]]) -> None:
    (default,) = arguments_of(instructions, "ARG")

    assert ["${PYTHON} AS build", "${PYTHON}"] == arguments_of(instructions, "FROM")
    assert re.fullmatch(r"PYTHON=docker\.io/library/python:3\.\d+-slim-\w+", default)
