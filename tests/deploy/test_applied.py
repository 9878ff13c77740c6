"""deploy/base on a real API server: it applies, and kuik may do with it what it must and nothing else."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from runtime.cluster.kube import open_cluster
from runtime.cluster.port import Report, Severity
from tests.cluster.api_server import ApiServer
from tests.cluster.surroundings import IN_A_HURRY, SHORT, docker_secret, eventually, manifest, pod
from tests.deploy.conftest import only_leader

NAMESPACE = "kuik-system"
KINDS = ("imagealternatives", "imagemirrors", "imagemonitors")

Right = tuple[str, str, str, str]  # verb, group, resource, name

EVERYWHERE: set[Right] = {
    *((verb, "kuik.enix.io", kind, "") for kind in KINDS for verb in ("get", "list", "watch", "patch")),
    *(("patch", "kuik.enix.io", f"{kind}/status", "") for kind in KINDS),
    *((verb, "", resource, "") for resource in ("pods", "namespaces", "nodes") for verb in ("list", "watch")),
}
EVENTS: set[Right] = {("create", "", "events", ""), ("patch", "", "events", "")}
AT_HOME: set[Right] = {
    ("create", "coordination.k8s.io", "leases", ""),
    ("get", "coordination.k8s.io", "leases", "kuik-reconciler"),
    ("update", "coordination.k8s.io", "leases", "kuik-reconciler"),
    ("list", "", "secrets", ""),
    ("watch", "", "secrets", ""),
}
# Kubernetes lets every user ask what it may do
OF_EVERY_USER: set[Right] = {
    ("create", "authorization.k8s.io", "selfsubjectaccessreviews", ""),
    ("create", "authorization.k8s.io", "selfsubjectrulesreviews", ""),
}


def rights_in(server: ApiServer, namespace: str) -> set[Right]:
    """Ask the server, as kuik, for all that kuik may do in a namespace and in the cluster."""
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectRulesReview",
        "metadata": {"name": "kuik"},
        "spec": {"namespace": namespace},
    }
    done = server.kubectl("create", "-f", "-", "-o", "json", stdin=json.dumps(review), context="kuik")
    assert done.returncode == 0, done.stderr
    status = json.loads(done.stdout)["status"]
    assert not status["incomplete"]
    return {
        (verb, group, resource, name)
        for rule in status["resourceRules"]
        for verb in rule["verbs"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for name in rule.get("resourceNames", [""])
    }


@pytest.mark.parametrize(
    "namespace, rights",
    [
        (NAMESPACE, EVERYWHERE | EVENTS | AT_HOME),
        ("default", EVERYWHERE | EVENTS),
        ("kube-system", EVERYWHERE),
    ],
)
def test_kuik_may_do_this_and_nothing_else(deployed: ApiServer, namespace: str, rights: set[Right]) -> None:
    assert rights | OF_EVERY_USER == rights_in(deployed, namespace)


@pytest.mark.parametrize(
    "allowed, question",
    [
        ("yes", ["list", "pods", "--all-namespaces"]),
        ("yes", ["watch", "imagemonitors.kuik.enix.io"]),
        ("yes", ["patch", "imagemirrors.kuik.enix.io", "--subresource=status"]),
        ("yes", ["create", "leases.coordination.k8s.io", "-n", NAMESPACE]),
        ("yes", ["update", "leases.coordination.k8s.io/kuik-reconciler", "-n", NAMESPACE]),
        ("yes", ["list", "secrets", "-n", NAMESPACE]),
        ("yes", ["create", "events", "-n", "default"]),
        ("no", ["get", "pods", "-n", "default"]),
        ("no", ["delete", "pods", "-n", NAMESPACE]),
        ("no", ["create", "imagemonitors.kuik.enix.io"]),
        ("no", ["delete", "imagemirrors.kuik.enix.io"]),
        ("no", ["update", "leases.coordination.k8s.io/another", "-n", NAMESPACE]),
        ("no", ["get", "leases.coordination.k8s.io/kuik-reconciler", "-n", "default"]),
        ("no", ["list", "secrets", "-n", "default"]),
        ("no", ["list", "secrets", "--all-namespaces"]),
        ("no", ["create", "events", "-n", "kube-system"]),
        ("no", ["list", "configmaps", "-n", NAMESPACE]),
    ],
    ids=lambda value: value if isinstance(value, str) else "-".join(value),
)
def test_the_authorizer_says_the_same(deployed: ApiServer, allowed: str, question: list[str]) -> None:
    assert allowed == deployed.kubectl("auth", "can-i", *question, context="kuik").stdout.strip()


def test_everything_is_there(deployed: ApiServer) -> None:
    kinds = "namespaces,serviceaccounts,deployments,services,configmaps,roles,rolebindings"
    done = deployed.kubectl("get", kinds, "-n", NAMESPACE, "-l", "app.kubernetes.io/name=kuik", "-o", "name")

    expected = [
        "configmap/kuik-config",
        "deployment.apps/kuik",
        "namespace/kuik-system",
        "role.rbac.authorization.k8s.io/kuik",
        "rolebinding.rbac.authorization.k8s.io/kuik",
        "service/kuik-metrics",
        "serviceaccount/kuik",
    ]
    assert expected == sorted(done.stdout.split())
    assert set(KINDS) == {resource["name"] for resource in deployed.served("kuik.enix.io/v1alpha1")}


def test_applied_again_it_changes_nothing(deployed: ApiServer, deploy: Path) -> None:
    done = deployed.kubectl("apply", "-k", str(deploy / "base"))

    assert 14 == len(done.stdout.splitlines())
    assert [] == [line for line in done.stdout.splitlines() if not line.endswith(" unchanged")]


def test_kuik_works_with_the_rights_of_the_base(deployed: ApiServer) -> None:
    """Everything that the adapter does, as the account and in the namespace of the manifests."""

    async def scenario() -> None:
        name = "deployed-rights"
        objects: list[dict[str, Any]] = [
            manifest("ImageMonitor", name, spec={"suspend": True}),
            docker_secret("hub", NAMESPACE, "{}"),
            pod("web", "default", "nginx:1"),
        ]
        done = deployed.kubectl(
            "apply", "-f", "-", stdin=json.dumps({"kind": "List", "apiVersion": "v1", "items": objects})
        )
        assert done.returncode == 0, done.stderr
        async with (
            asyncio.timeout(60),
            open_cluster(NAMESPACE, deployed.kubeconfig, "kuik", IN_A_HURRY) as cluster,
            cluster.lead(SHORT) as leadership,
            cluster.observe(frozenset()) as seen,
        ):
            before = leadership.runs_out_at
            await eventually(lambda: leadership.runs_out_at > before)
            assert "{}" == seen.docker_config("hub")
            assert seen.snapshot().sightings
            assert await cluster.write_status(f"ImageMonitor/{name}", {"images": {"tracked": 1}})
            assert await cluster.set_finalizer(f"ImageMonitor/{name}", wanted=True)
            assert await cluster.set_finalizer(f"ImageMonitor/{name}", wanted=False)
            await cluster.report(Report(Severity.WARNING, "ReloadFailed", "no"))
            await cluster.report(Report(Severity.NORMAL, "Copied", "yes", f"ImageMonitor/{name}"))
        events = deployed.kubectl("get", "events", "--all-namespaces", "-o", "jsonpath={.items[*].reason}").stdout
        assert {"ReloadFailed", "Copied"} <= set(events.split())

    with only_leader(deployed):
        asyncio.run(scenario())
