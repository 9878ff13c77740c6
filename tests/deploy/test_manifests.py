"""The manifests by themselves: they fit Kubernetes' schemas, one another, and the rest of the project."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

import schemas
from compiler.reading import read_config
from compiler.render.yaml import dump
from compiler.source import Text
from runtime.cluster.lease import LEASE_NAME
from schemas.names import NAMES

Document = dict[str, Any]
Find = Callable[[str, str], Document]

# of the Prometheus operator, and its CustomResourceDefinitions are no part of Kubernetes
FOREIGN = {"monitoring.coreos.com/v1"}
# the first version of Kubernetes that serves what an addition needs
SERVED_SINCE = {"flowcontrol.apiserver.k8s.io/v1": (1, 29)}
VERSIONS = kubernetes_validate.utils.all_versions()
# the oldest and the newest there is, and the first that serves everything; those between them in `make test`
QUICK = {VERSIONS[0], *(v for v in VERSIONS if v.startswith("1.29.")), VERSIONS[-1]}
NAMESPACE = "kuik-system"


def version_of(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".")[:2])


@pytest.mark.parametrize("version", [pytest.param(v, marks=() if v in QUICK else pytest.mark.slow) for v in VERSIONS])
def test_every_object_fits_the_schemas_of_kubernetes(documents: list[Document], version: str) -> None:
    served = [d for d in documents if version_of(version) >= SERVED_SINCE.get(d["apiVersion"], (0, 0))]
    for document in served:
        if document["apiVersion"] not in FOREIGN:
            kubernetes_validate.validate(document, version, strict=True)


def test_the_versions_include_those_that_the_additions_need() -> None:
    assert 3 == len(QUICK)


def test_the_definitions_are_those_of_the_schemas(deploy: Path) -> None:
    folder = deploy / "base" / "crds"
    expected = {f"kuik.enix.io_{crd['spec']['names']['plural']}.yaml": dump(crd) for crd in schemas.crds()}
    if os.environ.get("KUIK_GOLDEN") == "rewrite":
        for name, text in expected.items():
            (folder / name).write_text(text, encoding="utf-8")

    found = {p.name: p.read_text(encoding="utf-8") for p in folder.iterdir() if p.name != "kustomization.yaml"}
    assert expected == found


def test_every_file_is_named_by_a_kustomization(deploy: Path) -> None:
    named = set[Path]()
    for path in deploy.rglob("kustomization.yaml"):
        kustomization = yaml.safe_load(path.read_text(encoding="utf-8"))
        generated = [name for entry in kustomization.get("configMapGenerator", []) for name in entry["files"]]
        named |= {path, *((path.parent / name).resolve() for name in (*kustomization["resources"], *generated))}

    assert [] == sorted(path for path in deploy.rglob("*") if path.is_file() and path not in named)


def test_complete_is_the_base_and_every_addition(deploy: Path) -> None:
    kustomization = yaml.safe_load((deploy / "overlays" / "complete" / "kustomization.yaml").read_text())
    additions = sorted(f"../{p.name}" for p in (deploy / "overlays").iterdir() if p.name != "complete")

    assert ["../../base", *additions] == kustomization["resources"]


def test_every_object_carries_the_name_of_the_application(documents: list[Document]) -> None:
    others = [d for d in documents if d["kind"] != "CustomResourceDefinition"]

    assert [] == [d["metadata"] for d in others if d["metadata"]["labels"]["app.kubernetes.io/name"] != "kuik"]


def test_whatever_selects_the_pods_selects_those_of_the_deployment(documents: list[Document], one: Find) -> None:
    labels = one("Deployment", "kuik")["spec"]["template"]["metadata"]["labels"]
    monitored = one("ServiceMonitor", "kuik")["spec"]["selector"]["matchLabels"]
    selectors = list(selectors_in([d for d in documents if d["kind"] != "ServiceMonitor"]))

    assert 5 == len(selectors)
    assert [labels] * len(selectors) == selectors
    assert monitored == one("Service", "kuik-metrics")["metadata"]["labels"]


def selectors_in(value: Any) -> Iterator[Any]:
    if isinstance(value, list):
        for item in value:
            yield from selectors_in(item)
    elif isinstance(value, dict):
        for key, child in value.items():
            if key == "matchLabels" or (key == "selector" and "matchLabels" not in child):
                yield child
            elif key != "openAPIV3Schema":
                yield from selectors_in(child)


def test_every_subject_is_the_service_account(documents: list[Document], one: Find) -> None:
    account = one("ServiceAccount", "kuik")["metadata"]
    subjects = [s for d in documents if d["kind"].endswith("Binding") for s in d["subjects"]]
    flows = [
        s["serviceAccount"] | {"kind": "ServiceAccount"}
        for d in documents
        if d["kind"] == "FlowSchema"
        for rule in d["spec"]["rules"]
        for s in rule["subjects"]
    ]

    expected = {"kind": "ServiceAccount", "name": account["name"], "namespace": account["namespace"]}
    assert [expected] * 5 == [*subjects, *flows]


def test_every_role_that_is_bound_exists(documents: list[Document]) -> None:
    roles = {(d["kind"], d["metadata"]["name"], d["metadata"].get("namespace")) for d in documents if "rules" in d}
    bound = {
        (d["roleRef"]["kind"], d["roleRef"]["name"], d["metadata"].get("namespace"))
        for d in documents
        if "roleRef" in d
    }

    assert roles == bound


def test_no_role_holds_a_wildcard(documents: list[Document]) -> None:
    rules = [rule for d in documents if d["kind"] in {"Role", "ClusterRole"} for rule in d["rules"]]

    assert [] == [rule for rule in rules if "*" in str(rule)]


def test_the_roles_name_the_kinds_and_the_lease_of_the_code(one: Find) -> None:
    kinds = one("ClusterRole", "kuik")["rules"][0]["resources"]
    named = [rule["resourceNames"] for rule in one("Role", "kuik")["rules"] if "resourceNames" in rule]

    assert sorted(names.plural for names in NAMES.values()) == kinds
    assert [[LEASE_NAME]] == named


# the pod


def test_the_pods_pass_the_restricted_standard(one: Find) -> None:
    pod = one("Deployment", "kuik")["spec"]["template"]["spec"]
    (container,) = pod["containers"]

    assert pod["securityContext"]["runAsNonRoot"]
    assert {"type": "RuntimeDefault"} == pod["securityContext"]["seccompProfile"]
    expected = {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}
    assert expected == container["securityContext"]
    assert {"configMap"} == {key for volume in pod["volumes"] for key in volume if key != "name"}
    assert "restricted" == one("Namespace", NAMESPACE)["metadata"]["labels"]["pod-security.kubernetes.io/enforce"]


def test_the_image_is_of_this_version(one: Find, root: Path) -> None:
    version = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]

    assert f"kuik:{version}" == one("Deployment", "kuik")["spec"]["template"]["spec"]["containers"][0]["image"]


def test_a_stop_has_time_enough_to_write_status(one: Find) -> None:
    from runtime.cli.run import command

    grace = next(p for p in command.params if p.name == "grace").default

    assert "20s" == grace
    assert 20 + 10 < one("Deployment", "kuik")["spec"]["template"]["spec"]["terminationGracePeriodSeconds"]


def test_every_argument_is_one_that_run_takes(one: Find) -> None:
    from runtime.cli.run import command

    (container,) = one("Deployment", "kuik")["spec"]["template"]["spec"]["containers"]
    name, *arguments = container["args"]
    options = {option for parameter in command.params for option in parameter.opts}

    assert command.name == name
    assert set() == {a.partition("=")[0] for a in arguments if a.startswith("-")} - options


def test_ports_are_named_where_they_are_used(one: Find) -> None:
    (container,) = one("Deployment", "kuik")["spec"]["template"]["spec"]["containers"]
    (port,) = container["ports"]
    probes = [container[f"{kind}Probe"]["httpGet"] for kind in ("readiness", "liveness")]

    assert [("/readyz", "http"), ("/healthz", "http")] == [(p["path"], p["port"]) for p in probes]
    assert [f"--listen=:{port['containerPort']}"] == [a for a in container["args"] if a.startswith("--listen")]
    (served,) = one("Service", "kuik-metrics")["spec"]["ports"]
    assert (port["name"], port["containerPort"]) == (served["targetPort"], served["port"])
    assert [served["name"]] == [e["port"] for e in one("ServiceMonitor", "kuik")["spec"]["endpoints"]]


# the configuration


def test_the_configuration_is_mounted_where_it_is_read(one: Find, deploy: Path) -> None:
    pod = one("Deployment", "kuik")["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    ((generator,),) = [yaml.safe_load((deploy / "base" / "kustomization.yaml").read_text())["configMapGenerator"]]
    (mount,) = container["volumeMounts"]

    assert generator["name"] == pod["volumes"][0]["configMap"]["name"]
    assert f"{mount['mountPath']}/{generator['files'][0]}" == container["args"][2]
    assert "subPath" not in mount


def test_the_configuration_is_valid_and_changes_nothing(deploy: Path) -> None:
    config, found = read_config(Text("config.yaml", (deploy / "base" / "config.yaml").read_text(encoding="utf-8")))
    defaults, _ = read_config(Text("empty", ""))

    assert [] == found
    assert config is not None
    assert defaults is not None
    for shown, default in ((config.check, defaults.check), (config.copy, defaults.copy)):
        assert (default.interval, default.timeout) == (shown.interval, shown.timeout)
    assert (defaults.cluster_id, defaults.hosts) == (config.cluster_id, config.hosts)


def test_what_the_comments_of_the_configuration_show_is_valid(deploy: Path) -> None:
    text = (deploy / "base" / "config.yaml").read_text(encoding="utf-8")
    shown = re.sub(r"(?m)^( *)# ( *(?:- )?[\w./:-]+:( .*)?)$", r"\1\2", text)

    config, found = read_config(Text("config.yaml", shown))
    assert [] == found
    assert config is not None
    assert "cluster-a" in str(config)
    assert "registry.example.com:5000" in str(config)
