"""The schema of the configuration: page 2's example, its defaults, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

import schemas
from compiler.config import Config, Host
from compiler.duration import parse_duration

Refused = Callable[[str, Any], list[str]]

EXAMPLE: dict[str, Any] = {
    "clusterID": "cluster-a",
    "registries": {
        "default": {"check": {"interval": "30s", "timeout": "10s"}, "copy": {"interval": "3m", "timeout": 0}},
        "docker.io": {
            "check": {"interval": "1m"},
            "copy": {"interval": "10m"},
            "clusters": 1,
            "suspend": False,
            "insecure": False,
            "caFile": "/etc/kuik/ca.pem",
            "perPrefixFallbackAuth": [{"prefix": "/", "secretRef": {"name": "dockerhub-creds"}}],
        },
    },
    "mirror": {"destinationScan": {"interval": "1h"}, "copyRetry": {"baseDelay": "1m", "maxDelay": "1h"}},
    "webhook": {
        "availabilityCheck": {
            "timeout": "2s",
            "activeCheckCache": {"ttl": "10s"},
            "skipHints": {"enabled": True, "maxAge": "30m"},
        }
    },
}


@pytest.mark.parametrize("value", [EXAMPLE, {}, {"registries": {}}, {"registries": {"quay.io": {}}}])
def test_a_configuration_is_accepted(value: Any, refused: Refused) -> None:
    assert [] == refused("config", value)


@pytest.mark.parametrize(
    "value",
    [
        {"registry": {}},
        {"clusterID": ""},
        {"clusterID": "a" * 33},
        {"clusterID": "a_b"},
        {"registries": {"default": {"clusters": 2}}},
        {"registries": {"docker.io/library": {}}},
        {"registries": {"quay.io": {"clusters": 0}}},
        {"registries": {"quay.io": {"clusters": True}}},
        {"registries": {"quay.io": {"check": {"interval": 30}}}},
        {"registries": {"quay.io": {"check": {"interval": "1 min"}}}},
        {"registries": {"quay.io": {"perPrefixFallbackAuth": [{"prefix": "/"}]}}},
        {"registries": {"quay.io": {"perPrefixFallbackAuth": [{"prefix": "a:b", "secretRef": {"name": "s"}}]}}},
        {"mirror": {"destinationScan": {"timeout": "1h"}}},
        {"webhook": {"availabilityCheck": {"skipHints": {"enabled": "yes"}}}},
    ],
    ids=json.dumps,
)
def test_a_configuration_is_refused(value: Any, refused: Refused) -> None:
    assert refused("config", value) != []


@pytest.mark.parametrize("key", ["jobs", "flowControl"])
def test_a_key_of_a_page_that_is_not_built_is_refused_and_says_which(key: str, refused: Refused) -> None:
    node = schemas.load("config")["properties"][key]

    assert "(page " in node["x-not-built"]
    assert refused("config", {key: {}}) != []


def test_the_defaults_are_those_of_the_compiler() -> None:
    root = schemas.load("config")["properties"]

    def default(*path: str) -> Any:
        node: Any = {"properties": root}
        for step in path:
            node = node["properties"][step]
        return node["default"]

    def duration(*path: str) -> int:
        return parse_duration(str(default(*path)))

    check = "webhook", "availabilityCheck"
    built_in = Config()
    assert built_in.check.interval == duration("registries", "default", "check", "interval")
    assert built_in.check.timeout == duration("registries", "default", "check", "timeout")
    assert built_in.copy.interval == duration("registries", "default", "copy", "interval")
    assert built_in.copy.timeout == duration("registries", "default", "copy", "timeout")
    assert built_in.mirroring.scan_interval == duration("mirror", "destinationScan", "interval")
    assert built_in.mirroring.retry_base == duration("mirror", "copyRetry", "baseDelay")
    assert built_in.mirroring.retry_max == duration("mirror", "copyRetry", "maxDelay")
    assert built_in.webhook.timeout == duration(*check, "timeout")
    assert built_in.webhook.cache_ttl == duration(*check, "activeCheckCache", "ttl")
    assert built_in.webhook.skip_hints == default(*check, "skipHints", "enabled")
    assert built_in.webhook.skip_hints_max_age == duration(*check, "skipHints", "maxAge")


def test_the_defaults_of_a_host_are_those_of_the_compiler() -> None:
    properties = schemas.load("config")["$defs"]["registry"]["properties"]
    host = Host("quay.io", Config().check, Config().copy)

    assert (host.clusters, host.suspended, host.insecure) == tuple(
        properties[key]["default"] for key in ("clusters", "suspend", "insecure")
    )
