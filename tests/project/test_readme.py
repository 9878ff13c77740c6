"""The session that the README shows is what the commands print."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from runtime.cli.main import main

SHORTENED = "…\n"
CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PROMPT = re.compile(r"^\$ ", re.MULTILINE)


def session(root: Path) -> list[tuple[str, str]]:
    """Give the commands of kuik's own in the README, each with the output that is shown below it."""
    blocks = CONSOLE.findall((root / "README.md").read_text(encoding="utf-8"))
    commands = [part.partition("\n") for block in blocks for part in PROMPT.split(block) if part]
    return [(command, shown) for command, _, shown in commands if command.startswith("kuik ")]


def test_the_readme_shows_what_is_printed(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(root)
    assert len(session(root)) >= 2
    for command, shown in session(root):
        assert main(shlex.split(command)[1:]) == 0
        printed = capsys.readouterr().out
        expected = shown.removesuffix(SHORTENED)
        assert expected == (printed[: len(expected)] if shown.endswith(SHORTENED) else printed)
