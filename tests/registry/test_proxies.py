"""The way through a proxy, as Go's tools choose it."""

from __future__ import annotations

import pytest

from compiler.duration import SECOND
from runtime.registry import Available, Checker, Registry, RegistryClient, Repository
from runtime.registry.proxies import proxy_for
from tests.support.hostile import Reply, hostile

PROXY = "http://proxy.example:3128"


@pytest.mark.parametrize(
    "no_proxy, host, port, straight",
    [
        ("", "quay.io", 443, False),
        ("*", "quay.io", 443, True),
        ("quay.io", "quay.io", 443, True),
        ("QUAY.io", "quay.io", 443, True),
        ("quay.io", "cdn.quay.io", 443, True),
        (".quay.io", "cdn.quay.io", 443, True),
        (".quay.io", "quay.io", 443, False),
        ("*.quay.io", "cdn.quay.io", 443, True),
        ("quay.io", "notquay.io", 443, False),
        ("quay.io:8443", "quay.io", 443, False),
        ("quay.io:443", "quay.io", 443, True),
        ("a.b, quay.io", "quay.io", 443, True),
        ("10.0.0.0/8", "10.1.2.3", 5000, True),
        ("10.0.0.0/8", "11.1.2.3", 5000, False),
        ("10.0.0.0/8", "ten.example", 5000, False),
        ("10.1.2.3", "10.1.2.3", 5000, True),
        ("10.1.2.3:5000", "10.1.2.3", 5000, True),
        ("10.1.2.3:80", "10.1.2.3", 5000, False),
        ("fd00::/8", "fd00::1", 443, True),
        ("[fd00::1]:443", "fd00::1", 443, True),
        ("nonsense/99", "quay.io", 443, False),
        ("", "localhost", 5000, True),
        ("", "127.0.0.1", 5000, True),
        ("", "::1", 5000, True),
    ],
)
def test_no_proxy(no_proxy: str, host: str, port: int, straight: bool) -> None:
    environ = {"HTTPS_PROXY": PROXY, "NO_PROXY": no_proxy}
    assert (None if straight else PROXY) == proxy_for("https", host, port, environ)


@pytest.mark.parametrize(
    "environ, scheme, expected",
    [
        ({}, "https", None),
        ({"https_proxy": PROXY}, "https", PROXY),
        ({"HTTP_PROXY": PROXY}, "https", None),
        ({"HTTP_PROXY": PROXY}, "http", PROXY),
        ({"HTTPS_PROXY": "proxy.example:3128"}, "https", PROXY),
        ({"HTTPS_PROXY": " "}, "https", None),
    ],
)
def test_which_variable_counts(environ: dict[str, str], scheme: str, expected: str | None) -> None:
    assert expected == proxy_for(scheme, "quay.io", 443, environ)


@pytest.mark.anyio
async def test_a_request_goes_through_the_proxy() -> None:
    found = Reply(200, {"Docker-Content-Digest": f"sha256:{'0' * 64}"})
    async with hostile({}) as proxy:
        proxy.otherwise = lambda _: found
        environ = {"HTTP_PROXY": f"http://user:word@{proxy.host}"}
        repository = Repository(Registry("registry.example", insecure=True), "team/app")
        async with RegistryClient(environ=environ) as client:
            report = await Checker(client).check(repository, "1", within=10 * SECOND)
        assert isinstance(report.verdict, Available)
        assert ["HEAD http://registry.example/v2/team/app/manifests/1"] == proxy.asked()
        assert "Basic dXNlcjp3b3Jk" == proxy.requests[0].headers["proxy-authorization"]
