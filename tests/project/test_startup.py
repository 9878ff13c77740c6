"""A start without work imports nothing heavy: the command line is used in editors, hooks and shell loops."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = {"aiohttp", "asyncio", "httpx", "kubernetes", "pydantic", "requests", "urllib3"}
RUN = """
import json, sys
sys.argv = ["kuik", *sys.argv[1:]]
from runtime.cli.main import main
try:
    sys.exit(main())
finally:
    print(json.dumps(sorted({name.partition(".")[0] for name in sys.modules})), file=sys.stderr)
"""


def modules_after(root: Path, *arguments: str) -> tuple[int, set[str]]:
    command = [sys.executable, "-c", RUN, *arguments]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60)
    return done.returncode, set(json.loads(done.stderr.splitlines()[-1]))


@pytest.mark.parametrize(
    "arguments",
    [
        ("--help",),
        ("--version",),
        ("plan", "--help"),
        ("validate", "--help"),
        ("crds",),
        ("status", "--state", "examples"),
        ("validate", "-c", "examples/quickstart/config.yaml", "-f", "examples/quickstart"),
        ("plan", "-c", "examples/quickstart/config.yaml", "-f", "examples/quickstart"),
    ],
    ids=" ".join,
)
def test_nothing_heavy_is_imported(root: Path, arguments: tuple[str, ...]) -> None:
    status, modules = modules_after(root, *arguments)

    assert (0, set()) == (status, modules & HEAVY)


def test_help_imports_no_parser(root: Path) -> None:
    _, modules = modules_after(root, "--help")

    assert set() == modules & {"jsonschema", "ruamel", "yaml_rs"}
