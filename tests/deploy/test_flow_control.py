"""Which FlowSchema the API server takes kuik's requests for, with those of the addition."""

from __future__ import annotations

import json
import ssl
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.api_server import ApiServer, wait_until
from tests.cluster.binaries import exclusive

Document = dict[str, Any]

GROUP = "flowcontrol.apiserver.k8s.io"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kuik-system/leases"


@pytest.fixture(scope="session")
def flow_control(deployed: ApiServer, documents: list[Document]) -> ApiServer:
    """The server with the addition, in the version of the API that it has."""
    objects = [as_1_20_has_it(d) for d in documents if d["apiVersion"].startswith(GROUP)]
    text = json.dumps({"kind": "List", "apiVersion": "v1", "items": objects})
    with exclusive(Path(deployed.folder, "flow-control.lock")):
        done = deployed.kubectl("apply", "-f", "-", stdin=text)
    assert done.returncode == 0, done.stderr
    # the server takes notice a moment later
    wait_until(lambda: schema_of(deployed, "GET", "/api/v1/pods?limit=1") == "kuik")
    return deployed


def as_1_20_has_it(document: Document) -> Document:
    """Give an object in v1beta1, which differs in a name and lacks what is lent and borrowed."""
    changed: Document = json.loads(json.dumps({**document, "apiVersion": f"{GROUP}/v1beta1"}))
    if limited := changed["spec"].get("limited"):
        limited["assuredConcurrencyShares"] = limited.pop("nominalConcurrencyShares")
        for newer in ("lendablePercent", "borrowingLimitPercent"):
            del limited[newer]
    return changed


def schema_of(server: ApiServer, method: str, path: str) -> str:
    """Make a request as kuik, whatever the answer, and give the name of the FlowSchema that it was taken for."""
    request = urllib.request.Request(server.url + path, b"{}" if method != "GET" else None, method=method)
    request.add_header("Authorization", f"Bearer {server.kuik_token}")
    request.add_header("Content-Type", "application/json")
    unverified = ssl.create_default_context()
    unverified.check_hostname, unverified.verify_mode = False, ssl.CERT_NONE
    try:
        with urllib.request.urlopen(request, context=unverified, timeout=30) as answer:
            uid = answer.headers["X-Kubernetes-PF-FlowSchema-UID"]
    except urllib.error.HTTPError as refused:
        with refused:
            uid = refused.headers["X-Kubernetes-PF-FlowSchema-UID"]
    schemas = json.loads(server.kubectl("get", "flowschemas", "-o", "json").stdout)["items"]
    (name,) = (s["metadata"]["name"] for s in schemas if s["metadata"]["uid"] == uid)
    return str(name)


@pytest.mark.parametrize(
    "method, path",
    [("GET", f"{LEASES}/kuik-reconciler"), ("PUT", f"{LEASES}/kuik-reconciler"), ("POST", LEASES)],
)
def test_the_lease_goes_before_other_requests(flow_control: ApiServer, method: str, path: str) -> None:
    assert "kuik-leader-election" == schema_of(flow_control, method, path)


@pytest.mark.parametrize(
    "method, path",
    [
        ("GET", "/api/v1/nodes?limit=1"),
        ("GET", "/api/v1/namespaces/kuik-system/secrets"),
        ("GET", "/apis/kuik.enix.io/v1alpha1/imagemonitors"),
        ("PATCH", "/apis/kuik.enix.io/v1alpha1/imagemonitors/none/status"),
        ("POST", "/api/v1/namespaces/default/events"),
        ("GET", "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-scheduler"),
    ],
)
def test_everything_else_shares_the_level_of_kuik(flow_control: ApiServer, method: str, path: str) -> None:
    assert "kuik" == schema_of(flow_control, method, path)


def test_the_level_of_the_leases_is_there(flow_control: ApiServer) -> None:
    dangling = "jsonpath={.items[*].status.conditions[?(@.type=='Dangling')].status}"
    kuiks = flow_control.kubectl("get", "flowschemas", "-l", "app.kubernetes.io/name=kuik", "-o", dangling)

    assert "False False" == kuiks.stdout
