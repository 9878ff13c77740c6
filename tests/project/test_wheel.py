"""What travels in the wheel: the three packages with their data, the command, and nothing else."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

PACKAGES = ("compiler", "runtime", "schemas")

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def wheel(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=root, check=True, capture_output=True, stdin=subprocess.DEVNULL)
    (built,) = folder.glob("*.whl")
    return built


def test_wheel_holds_the_packages_whole(root: Path, wheel: Path) -> None:
    expected = {
        path.relative_to(root).as_posix()
        for package in PACKAGES
        for path in (root / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }

    actual = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}

    assert expected == actual


def test_wheel_carries_licence_and_command(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    files = {name.partition(".dist-info/")[2]: name for name in archive.namelist() if ".dist-info/" in name}

    entry_points = archive.read(files["entry_points.txt"]).decode()

    assert "kuik = runtime.cli.main:main" in entry_points.splitlines()
    assert {"METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE"} == set(files)


def test_data_is_found_in_an_installed_package(wheel: Path, tmp_path: Path) -> None:
    zipfile.ZipFile(wheel).extractall(tmp_path)
    code = "import schemas; assert schemas.__file__.startswith(%r); [schemas.load(n) for n in schemas.NAMES]"
    command = [sys.executable, "-c", code % str(tmp_path)]

    done = subprocess.run(command, env={"PYTHONPATH": str(tmp_path)}, cwd=tmp_path, capture_output=True, text=True)

    assert (0, "") == (done.returncode, done.stderr)
