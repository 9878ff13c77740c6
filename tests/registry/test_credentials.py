"""Credentials and the config.json that carries them: matched canonically, never shown."""

from __future__ import annotations

import base64
import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.registry import Credential, InvalidDockerConfig, read_docker_config


def encoded(username: str, password: str) -> dict[str, str]:
    return {"auth": base64.b64encode(f"{username}:{password}".encode()).decode()}


def config(**auths: Any) -> str:
    return json.dumps({"auths": auths})


def user_for(key: str, host: str, repository: str = "library/nginx") -> str | None:
    found = read_docker_config(config(**{key: encoded("me", "secret")})).credential_for(host, repository)
    return found and found.username


@pytest.mark.parametrize(
    "key",
    [
        "https://index.docker.io/v1/",
        "https://index.docker.io/v2/",
        "https://index.docker.io/v1/access-token",
        "index.docker.io",
        "docker.io",
        "registry-1.docker.io",
        "https://registry-1.docker.io",
        "https://docker.io/",
    ],
)
def test_every_name_of_docker_hub(key: str) -> None:
    assert user_for(key, "docker.io") == "me"


@pytest.mark.parametrize(
    "key, host, expected",
    [
        ("quay.io", "quay.io", "me"),
        ("Quay.io", "quay.io", "me"),
        ("https://quay.io", "quay.io", "me"),
        ("https://quay.io/v2/", "quay.io", "me"),
        ("quay.io:443", "quay.io", "me"),
        ("quay.io", "docker.io", None),
        ("registry.local:5000", "registry.local:5000", "me"),
        ("registry.local:5000", "registry.local", None),
        ("http://registry.local:80", "registry.local", "me"),
        ("[::1]:5000", "[::1]:5000", "me"),
        ("*.azurecr.io", "mine.azurecr.io", "me"),
        ("*.azurecr.io", "a.b.azurecr.io", None),
        ("*.azurecr.io", "azurecr.io", None),
    ],
)
def test_keys_are_canonical(key: str, host: str, expected: str | None) -> None:
    assert expected == user_for(key, host)


@pytest.mark.parametrize(
    "key, repository, expected",
    [
        ("quay.io/team", "team/app", "me"),
        ("quay.io/team/", "team/app", "me"),
        ("quay.io/team", "team", "me"),
        ("quay.io/team", "teams/app", None),
        ("quay.io/team/app", "team/other", None),
    ],
)
def test_a_path_covers_what_is_under_it(key: str, repository: str, expected: str | None) -> None:
    assert expected == user_for(key, "quay.io", repository)


def test_the_longest_path_wins_then_the_host_over_a_pattern_then_the_first() -> None:
    found = read_docker_config(
        config(
            **{
                "*.io": encoded("pattern", "x"),
                "quay.io": encoded("host", "x"),
                "https://quay.io": encoded("second", "x"),
                "quay.io/team": encoded("team", "x"),
            }
        )
    )
    assert [("team", "team/app"), ("host", "other/app")] == [
        (c.username, r) for r in ("team/app", "other/app") if (c := found.credential_for("quay.io", r))
    ]


def test_all_forms_of_an_entry() -> None:
    found = read_docker_config(
        config(
            a={"username": "u", "password": "p"},
            b=encoded("u", "p:with:colons"),
            c={"identitytoken": "t"},
            d={"registrytoken": "t"},
            e={},
            f={"email": "me@example.org"},
        )
    )
    by_host = {host: credential for host, _, credential in found.entries}
    assert {
        "A": Credential("u", "p"),
        "B": Credential("u", "p:with:colons"),
        "C": Credential(identity_token="t"),
        "D": Credential(registry_token="t"),
    } == by_host


def test_a_credential_beside_helpers_is_used_and_helpers_are_not() -> None:
    text = json.dumps({"auths": {"quay.io": encoded("me", "x"), "ghcr.io": {}}, "credsStore": "desktop"})
    assert ["quay.io"] == [host for host, _, _ in read_docker_config(text).entries]


@pytest.mark.parametrize(
    "text, message",
    [
        ("", "not JSON"),
        ("{", "not JSON"),
        ("[]", '"auths"'),
        ('{"auths": []}', '"auths"'),
        ('{"auths": {"quay.io": "x"}}', "not a mapping"),
        ('{"auths": {"quay.io": {"auth": "***"}}}', "base64"),
        ('{"auths": {"quay.io": {"auth": "c2VjcmV0"}}}', "base64"),
        ('{"auths": {"quay.io": {"auth": 7}}}', "not text"),
        ('{"auths": {"quay .io": {"auth": "YTpi"}}}', "key"),
    ],
)
def test_what_cannot_be_read_is_named_without_its_content(text: str, message: str) -> None:
    with pytest.raises(InvalidDockerConfig, match=message) as refused:
        read_docker_config(text)
    assert "c2VjcmV0" not in str(refused.value)
    assert refused.value.__cause__ is None


def test_an_empty_config_has_nothing() -> None:
    assert read_docker_config("{}").credential_for("docker.io", "library/nginx") is None


def test_a_secret_does_not_show() -> None:
    shown = repr(Credential("me", "password-1", "identity-1", "registry-1"))
    assert "Credential(username='me')" == shown


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(), lambda c: st.lists(c) | st.dictionaries(st.text(), c)
    )
)
def test_whatever_the_document_it_is_read_or_refused(document: Any) -> None:
    for text in (json.dumps(document), json.dumps({"auths": document})):
        with suppress(InvalidDockerConfig):
            read_docker_config(text)
