"""The schemas of the three kinds: every field is taken, and its usual misspellings are not."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

import schemas

Refused = Callable[[str, Any], list[str]]


def resource(kind: str, spec: Any = None, **more: Any) -> dict[str, Any]:
    given = {} if spec is None else {"spec": spec}
    return {"apiVersion": "kuik.enix.io/v1alpha1", "kind": kind, "metadata": {"name": "all"}, **given, **more}


AUTH = {"secretRef": {"name": "creds"}, "injectPullSecret": True}
SELECTOR = {
    "matchLabels": {"app.kubernetes.io/name": "web", "empty": ""},
    "matchExpressions": [
        {"key": "stage", "operator": "In", "values": ["production"]},
        {"key": "legacy", "operator": "DoesNotExist"},
    ],
}
SELECTORS = {"podSelector": SELECTOR, "namespaceSelector": {}, "suspend": True}
STATUS = {"newerThanThis": [1], "conditions": [], "checks": {"registries": [{"registry": "quay.io", "shards": 2}]}}


@pytest.mark.parametrize(
    "name, value",
    [
        ("imagemonitor", resource("ImageMonitor")),
        ("imagemonitor", resource("ImageMonitor", {}, status=STATUS)),
        ("imagemonitor", resource("ImageMonitor", {**SELECTORS, "unusedImageRetention": 0, "excludeImages": ["**"]})),
        ("imagemirror", resource("ImageMirror", {"destination": {"path": "registry.tld/mirror"}}, status=STATUS)),
        (
            "imagemirror",
            resource(
                "ImageMirror",
                {
                    **SELECTORS,
                    "destination": {
                        "path": "registry.tld/mirror/",
                        "insecure": True,
                        "push": {"auth": AUTH},
                        "pull": {"auth": AUTH},
                    },
                    "driftPolicy": "Sync",
                    "excludeImages": ["quay.io/**"],
                    "rewritePolicy": "Always",
                    "platforms": {"mode": "List", "list": ["linux/amd64", "linux/arm/v7"]},
                    "cleanup": {"enabled": True, "retention": "48h"},
                },
            ),
        ),
        (
            "imagealternative",
            resource(
                "ImageAlternative",
                {
                    **SELECTORS,
                    "rewritePolicy": "Always",
                    "alternatives": [
                        {"imagePrefix": "quay.io/thanos/", "auth": AUTH},
                        {"imagePrefix": "registry.tld/thanos/", "insecure": True, "unavailable": True},
                    ],
                },
                status=STATUS,
            ),
        ),
    ],
)
def test_a_resource_is_accepted(name: str, value: Any, refused: Refused) -> None:
    assert [] == refused(name, value)


@pytest.mark.parametrize(
    "name, spec",
    [
        ("imagemonitor", {"unusedImageRetention": 24}),
        ("imagemonitor", {"driftDetection": "true"}),
        ("imagemonitor", {"excludeImages": "quay.io/**"}),
        ("imagemonitor", {"podSelector": {"matchExpressions": [{"key": "a", "operator": "Equals"}]}}),
        ("imagemonitor", {"podSelector": {"app": "web"}}),
        ("imagemirror", {}),
        ("imagemirror", {"destination": {}}),
        ("imagemirror", {"destination": {"path": "registry.tld/mirror:1.2"}}),
        ("imagemirror", {"destination": {"path": "r/m", "auth": AUTH}}),
        ("imagemirror", {"destination": {"path": "r/m"}, "driftPolicy": "sync"}),
        ("imagemirror", {"destination": {"path": "r/m"}, "platforms": {"mode": "List", "list": ["amd64"]}}),
        ("imagealternative", {"alternatives": []}),
        ("imagealternative", {"alternatives": [{"repository": "quay.io/a"}]}),
        ("imagealternative", {"alternatives": [{"imagePrefix": "quay.io/*"}]}),
        ("imagealternative", {"alternatives": [{"imagePrefix": "https://quay.io/a"}]}),
        ("imagealternative", {"alternatives": [{"imagePrefix": "quay.io/a"}], "rewritePolicy": "None"}),
        (
            "imagealternative",
            {"alternatives": [{"imagePrefix": "quay.io/a", "auth": {**AUTH, "provider": {"aws": {}}}}]},
        ),
    ],
    ids=lambda value: json.dumps(value) if isinstance(value, dict) else value,
)
def test_a_resource_is_refused(name: str, spec: Any, refused: Refused) -> None:
    kind = schemas.load(name)["title"]

    assert refused(name, resource(kind, spec)) != []


def test_one_kind_is_not_another(refused: Refused) -> None:
    assert refused("imagemonitor", resource("ImageMirror")) != []
