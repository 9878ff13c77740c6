"""Help for people: every command has an example, and every option says what it is for."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from runtime.cli.main import _COMMANDS
from tests.cli.conftest import Kuik


@pytest.mark.parametrize("command", [None, *_COMMANDS])
def test_help_has_an_example(kuik: Kuik, command: str | None) -> None:
    done = kuik(*filter(None, [command, "--help"]))

    assert (0, "") == (done.returncode, done.stderr)
    assert re.search(rf"^ *Examples?.*:\n +.*kuik {command or ''}", done.stdout, re.MULTILINE)


@pytest.mark.parametrize("command", list(_COMMANDS))
def test_every_option_says_what_it_is_for(kuik: Kuik, command: str) -> None:
    options = kuik(command, "--help").stdout.partition("Options:")[2]

    for option in re.split(r"\n(?=  -)", options.strip("\n")):
        words = option.split()
        assert len(words) > 3, option


@pytest.mark.parametrize("command", list(_COMMANDS))
def test_the_overview_says_what_a_command_does(kuik: Kuik, command: str) -> None:
    assert re.search(rf"^  {command} +[A-Z].*\.$", kuik("--help").stdout, re.MULTILINE)


def test_the_examples_of_a_command_name_options_that_it_has(kuik: Kuik) -> None:
    for command in _COMMANDS:
        shown = kuik(command, "--help").stdout
        examples, _, options = shown.partition("Options:")
        calls = re.findall(r"kuik [^|\n]*", examples)
        used = {word for call in calls for word in re.findall(r" (--?[a-z][a-z-]*)", call)}
        assert set() == used - set(re.findall(r"--?[a-z][a-z-]*", options)), command


def test_the_version_is_that_of_the_package(kuik: Kuik, root: Path) -> None:
    version = re.search(r'^version = "(.+)"', (root / "pyproject.toml").read_text(), re.MULTILINE)

    assert version is not None
    assert f"kuik {version[1]}\n" == kuik("--version").stdout
