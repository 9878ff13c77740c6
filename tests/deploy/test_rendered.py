"""What kustomize makes of the folders is what is written there, with an old kubectl and with a new one."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.deploy.conftest import manifests, render

Document = dict[str, Any]
FOLDERS = ["base", "base/crds", "overlays/flowcontrol", "overlays/monitoring", "overlays/pdb"]


def by_name(documents: list[Document]) -> dict[tuple[str, str], Document]:
    return {(d["kind"], d["metadata"]["name"]): d for d in documents}


@pytest.fixture(scope="session")
def new_kubectl() -> str:
    """The user's kubectl: folders among the resources are known since 1.21."""
    path = shutil.which("kubectl")
    if path is None:
        pytest.skip("no kubectl in PATH")
    told = subprocess.run([path, "version", "--client", "-o", "json"], capture_output=True, text=True).stdout
    version = json.loads(told)["clientVersion"]["gitVersion"]
    if (minor := re.match(r"v1\.(\d+)\.", version)) is None or int(minor[1]) < 21:
        pytest.skip(f"kubectl in PATH is {version}")
    return path


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_object_comes_through_as_it_is_written(kubectl: Path, deploy: Path, folder: str) -> None:
    written = [d for path in manifests(deploy / folder) for d in yaml.safe_load_all(path.read_text(encoding="utf-8"))]
    rendered = by_name(render(kubectl, deploy / folder))

    assert by_name(written) == {key: d for key, d in rendered.items() if key[0] != "ConfigMap"}


@pytest.mark.parametrize(
    "folder, name, file",
    [("base", "kuik-config", "config.yaml"), ("overlays/monitoring", "kuik-dashboard", "kuik.json")],
)
def test_a_file_comes_through_under_a_name_that_stays(
    kubectl: Path, deploy: Path, folder: str, name: str, file: str
) -> None:
    found = by_name(render(kubectl, deploy / folder))["ConfigMap", name]

    assert {file: (deploy / folder / file).read_text(encoding="utf-8")} == found["data"]
    assert "kuik-system" == found["metadata"]["namespace"]


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_new_kubectl_makes_the_same_of_it(kubectl: Path, new_kubectl: str, deploy: Path, folder: str) -> None:
    assert by_name(render(kubectl, deploy / folder)) == by_name(render(new_kubectl, deploy / folder))


@pytest.mark.slow
def test_complete_has_the_objects_of_all_folders(new_kubectl: str, deploy: Path) -> None:
    parts = [d for folder in FOLDERS if folder != "base/crds" for d in render(new_kubectl, deploy / folder)]

    assert by_name(parts) == by_name(render(new_kubectl, deploy / "overlays" / "complete"))


@pytest.mark.slow
def test_an_operators_own_kustomization_works_as_the_page_says(
    new_kubectl: str, root: Path, deploy: Path, tmp_path: Path
) -> None:
    page = (root / "docs" / "installing.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"```yaml\n(# kustomization\.yaml\n.*?)```", page, re.DOTALL)
    shutil.copytree(deploy, tmp_path / "kuik" / "deploy")
    (tmp_path / "kustomization.yaml").write_text(shown, encoding="utf-8")
    (tmp_path / "config.yaml").write_text("registries: {}\n", encoding="utf-8")

    found = by_name(render(new_kubectl, tmp_path))

    assert {"config.yaml": "registries: {}\n"} == found["ConfigMap", "kuik-config"]["data"]
    (container,) = found["Deployment", "kuik"]["spec"]["template"]["spec"]["containers"]
    assert "registry.example.com/team/kuik:0.1.0" == container["image"]
    assert ("PodDisruptionBudget", "kuik") in found
