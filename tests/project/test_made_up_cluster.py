"""The cluster that benchmarks read: the same every time, and the same in every form."""

import io
import json
from typing import Any

import pytest
import yaml

from bench.make_cluster import Cluster, make_pods, write

SMALL = Cluster(pods=40, images=30, hosts=3, namespaces=4)


def written(form: str, cluster: Cluster = SMALL) -> str:
    file = io.StringIO()
    write(cluster, form, file)
    return file.getvalue()


def read(form: str) -> list[dict[str, Any]]:
    if form == "docs":
        return list(yaml.safe_load_all(written(form)))
    return (json.loads if form == "json" else yaml.safe_load)(written(form))["items"]


@pytest.mark.parametrize("form", ["json", "yaml", "docs"])
def test_every_form_holds_the_same_pods(form: str) -> None:
    # what the API server prints as a string, YAML 1.1 must not take for a date
    assert list(make_pods(SMALL)) == read(form)


@pytest.mark.parametrize("form", ["json", "yaml", "docs"])
def test_same_arguments_give_the_same_bytes(form: str) -> None:
    assert written(form) == written(form)


def test_larger_cluster_begins_with_the_smaller() -> None:
    larger = Cluster(pods=60, images=30, hosts=3, namespaces=4)

    assert written("docs", larger).startswith(written("docs"))


def test_pods_read_from_every_host() -> None:
    hosts = {c["image"].partition("/")[0] for pod in make_pods(SMALL) for c in pod["spec"]["containers"]}

    assert {"docker.io", "registry-01.example.com", "registry-02.example.com"} == hosts
