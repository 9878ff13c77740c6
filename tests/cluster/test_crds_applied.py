"""Our CustomResourceDefinitions in a real API server: accepted, structural, and as strict as page 2 says."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.api_server import ApiServer

API_VERSION = "kuik.enix.io/v1alpha1"
MIRROR = {"destination": {"path": "r.example.com/mirror"}}
pytestmark = pytest.mark.usefixtures("crds")


def resource(kind: str, name: str, spec: dict[str, Any], **others: Any) -> dict[str, Any]:
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": {"name": name}, "spec": spec, **others}


def apply(api_server: ApiServer, document: dict[str, Any], *flags: str) -> tuple[int, str]:
    done = api_server.kubectl("apply", *flags, "-f", "-", stdin=json.dumps(document))
    return done.returncode, done.stdout + done.stderr


def test_definitions_are_structural_and_established(api_server: ApiServer, crds: Path) -> None:
    listed = json.loads(api_server.kubectl("get", "-f", str(crds), "-o", "json").stdout)["items"]

    conditions = {
        crd["metadata"]["name"]: {c["type"]: c["status"] for c in crd["status"]["conditions"]} for crd in listed
    }

    expected = {"NamesAccepted": "True", "Established": "True"}
    assert {f"image{kind}.kuik.enix.io": expected for kind in ("alternatives", "mirrors", "monitors")} == conditions


def test_applying_the_definitions_again_changes_nothing(api_server: ApiServer, crds: Path) -> None:
    done = api_server.kubectl("apply", "-f", str(crds))

    assert {"unchanged"} == {line.rsplit(" ", 1)[-1] for line in done.stdout.splitlines()}


def test_resources_of_the_quickstart_are_accepted(api_server: ApiServer, root: Path) -> None:
    for file in ("monitor.yaml", "mirror.yaml"):
        done = api_server.kubectl("apply", "--dry-run=server", "-f", str(root / "examples" / "quickstart" / file))

        assert (0, "") == (done.returncode, done.stderr)


@pytest.mark.parametrize(
    "kind,spec",
    [
        ("ImageMonitor", {}),
        ("ImageMonitor", {"podSelector": {"matchLabels": {"app.kubernetes.io/name": "web", "empty": ""}}}),
        ("ImageMonitor", {"unusedImageRetention": "1h30m", "driftDetection": False, "suspend": True}),
        ("ImageMonitor", {"excludeImages": ["docker.io/library/**", "*/*:*-debug"], "monitorAlternatives": True}),
        ("ImageMirror", {"destination": {"path": "registry.example.com:5000/mirror"}}),
        (
            "ImageMirror",
            MIRROR | {"platforms": {"mode": "List", "list": ["linux/arm64"]}},
        ),
        ("ImageMirror", MIRROR | {"cleanup": {"enabled": True, "retention": "48h"}}),
        (
            "ImageAlternative",
            {"alternatives": [{"imagePrefix": "docker.io/library/"}, {"imagePrefix": "quay.io/hub/"}]},
        ),
    ],
)
def test_valid_resource_is_accepted(api_server: ApiServer, kind: str, spec: dict[str, Any]) -> None:
    status, output = apply(api_server, resource(kind, "valid", spec), "--dry-run=server")

    assert status == 0, output


@pytest.mark.parametrize(
    "kind,spec,field",
    [
        ("ImageMonitor", {"unusedImageRetention": "1 day"}, "spec.unusedImageRetention"),
        ("ImageMonitor", {"driftDetection": "yes"}, "spec.driftDetection"),
        ("ImageMonitor", {"podSelector": {"matchExpressions": [{"key": "a", "operator": "Is"}]}}, "operator"),
        ("ImageMonitor", {"podSelector": {"matchLabels": {"a": "-"}}}, "spec.podSelector.matchLabels"),
        ("ImageMirror", {}, "spec.destination"),
        ("ImageMirror", {"destination": {}}, "spec.destination.path"),
        ("ImageMirror", MIRROR | {"driftPolicy": "Replace"}, "spec.driftPolicy"),
        (
            "ImageMirror",
            MIRROR | {"platforms": {"mode": "Some"}},
            "spec.platforms.mode",
        ),
        (
            "ImageAlternative",
            {"rewritePolicy": "None", "alternatives": [{"imagePrefix": "a.io/b"}]},
            "spec.rewritePolicy",
        ),
        ("ImageAlternative", {"alternatives": [{"imagePrefix": 5}]}, "imagePrefix"),
    ],
)
def test_invalid_resource_is_refused_by_field(
    api_server: ApiServer, kind: str, spec: dict[str, Any], field: str
) -> None:
    status, output = apply(api_server, resource(kind, "invalid", spec), "--dry-run=server", "--validate=false")

    assert (1, True) == (status, field in output), output


def test_unknown_field_is_refused_by_kubectl_and_pruned_by_the_server(api_server: ApiServer) -> None:
    document = resource("ImageMonitor", "unknown-field", {"podSelectors": {}})

    refused = apply(api_server, document, "--dry-run=server")
    path = "jsonpath={.spec}"
    pruned = apply(api_server, document, "--dry-run=server", "--validate=false", "-o", path)

    assert (1, True) == (refused[0], 'unknown field "podSelectors"' in refused[1]), refused[1]
    assert 0 == pruned[0], pruned[1]
    assert "podSelectors" not in pruned[1]


def test_resources_have_no_namespace_and_one_category(api_server: ApiServer) -> None:
    served = {r["kind"]: (r["namespaced"], r["categories"]) for r in api_server.served(API_VERSION)}

    assert dict.fromkeys(("ImageAlternative", "ImageMirror", "ImageMonitor"), (False, ["kuik"])) == served


def test_status_is_a_subresource(api_server: ApiServer) -> None:
    """What a person applies can't touch the status, which the controller alone writes."""
    document = resource("ImageMonitor", "with-status", {}, status={"images": {"tracked": 7}})

    status, output = apply(api_server, document)
    stored = json.loads(api_server.kubectl("get", "imagemonitor", "with-status", "-o", "json").stdout)

    assert status == 0, output
    assert "status" not in stored


def test_service_account_has_no_rights_but_those_it_is_given(api_server: ApiServer) -> None:
    """Other tests give it what kuik needs; nobody gives it this."""
    done = api_server.kubectl("get", "configmaps", "--namespace", "default", context="kuik")

    assert (1, True) == (done.returncode, "Forbidden" in done.stderr), done.stderr
