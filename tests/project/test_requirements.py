"""The locked requirements are what pyproject.toml asks for, each with its hashes, and agree with one another."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

FILES = ("requirements.txt", "requirements-build.txt", "requirements-dev.txt")


def locked(path: Path) -> dict[str, tuple[Version, str]]:
    """Give name → version and the text of its hashes."""
    text = re.sub(r"(?m)^\s*#.*\n", "", path.read_text()).replace("\\\n", " ")
    entries = [
        re.fullmatch(r"(\S+)==(\S+)(?: ; [^-]*)?\s+(--hash.*)", line.strip()) for line in text.splitlines() if line
    ]
    return {canonicalize_name(e[1]): (Version(e[2]), e[3]) for e in entries if e}


def wanted(project: dict[str, Any], group: str) -> list[Requirement]:
    entries = project["dependency-groups"][group]
    included = [r for e in entries if isinstance(e, dict) for r in wanted(project, e["include-group"])]
    return included + [Requirement(e) for e in entries if isinstance(e, str)]


@pytest.fixture
def project(root: Path) -> dict[str, Any]:
    return tomllib.loads((root / "pyproject.toml").read_text())


@pytest.mark.parametrize("name", FILES)
def test_every_requirement_is_pinned_and_hashed(root: Path, name: str) -> None:
    text = (root / name).read_text()
    logical = [line for line in text.replace("\\\n", " ").splitlines() if line and not line.lstrip().startswith("#")]

    loose = [line[:60] for line in logical if not re.match(r"\S+==\S+ .*--hash=sha256:[0-9a-f]{64}", line)]

    assert [] == loose


def test_files_agree_on_versions_and_hashes(root: Path) -> None:
    run, build, everything = (locked(root / name) for name in FILES)

    assert {**run, **build} == {name: everything[name] for name in {**run, **build}}


def test_lock_holds_what_the_project_asks_for(root: Path, project: dict[str, Any]) -> None:
    run = [Requirement(text) for text in project["project"]["dependencies"]]
    asked = [(FILES[0], run), (FILES[1], wanted(project, "build")), (FILES[2], run + wanted(project, "dev"))]
    missing = []
    for name, requirements in asked:
        versions = locked(root / name)
        for each in requirements:
            version, _ = versions.get(canonicalize_name(each.name), (None, ""))
            if version is None or version not in each.specifier:
                missing.append(f"{name}: {each} (locked: {version})")

    assert [] == missing
