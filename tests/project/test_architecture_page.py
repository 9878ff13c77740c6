"""The page on the architecture keeps up with the code: it names every part, and no part that is gone."""

from __future__ import annotations

import re
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def page(root: Path) -> str:
    return (root / "docs" / "architecture.md").read_text(encoding="utf-8")


def parts(folder: Path) -> set[str]:
    """Give the modules and packages that lie directly in a package."""
    found = {path.stem for path in folder.glob("*.py")} | {path.parent.name for path in folder.glob("*/__init__.py")}
    return {name for name in found if not name.startswith("_")}


def test_it_names_every_part_of_the_compiler(root: Path, page: str) -> None:
    named = set(re.findall(r"[`*]([a-z_]+)[`*]", page))

    assert set() == parts(root / "compiler") - named


def test_it_names_every_part_of_the_runtime(root: Path, page: str) -> None:
    named = set(re.findall(r"`runtime[/.]([a-z_]+)", page))

    assert set() == parts(root / "runtime") ^ named


def test_every_path_in_it_exists(root: Path, page: str) -> None:
    paths = re.findall(r"`((?:compiler|runtime|schemas)/[\w/.]*)`", page)

    assert [] == [path for path in paths if not (root / path).exists()]
