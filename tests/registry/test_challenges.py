"""``WWW-Authenticate``, as registries write it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.registry.challenge import Basic, Bearer, Challenge, choose

HUB = 'Bearer realm="https://auth.docker.io/token",service="registry.docker.io",scope="repository:library/nginx:pull"'


@pytest.mark.parametrize(
    "headers, expected",
    [
        ([HUB], Bearer("https://auth.docker.io/token", "registry.docker.io")),
        (['bearer REALM="https://x/t" , Service = y'], Bearer("https://x/t", "y")),
        (["Bearer realm=https://x/t,service=y"], Bearer("https://x/t", "y")),
        (['Bearer realm="https://x/t?a=\\"b\\",c"'], Bearer('https://x/t?a="b",c')),
        (['Bearer realm="https://x/t"'], Bearer("https://x/t")),
        (['Basic realm="a, Bearer realm=\\"b\\""'], Basic()),
        (["Basic"], Basic()),
        (['Basic realm="x"', HUB], Bearer("https://auth.docker.io/token", "registry.docker.io")),
        ([f'Basic realm="x", {HUB}'], Bearer("https://auth.docker.io/token", "registry.docker.io")),
        ([f'{HUB}, Basic realm="x"'], Bearer("https://auth.docker.io/token", "registry.docker.io")),
        (["Negotiate, NTLM"], None),
        (['Negotiate abc==, Basic realm="x"'], Basic()),
        (["Bearer"], None),
        (['Bearer service="x"'], None),
        ([""], None),
        ([], None),
    ],
)
def test_the_challenge_to_meet(headers: list[str], expected: Challenge | None) -> None:
    assert expected == choose(headers)


@given(st.lists(st.text(alphabet='Bearersic ,="\\;\t', max_size=200)))
def test_no_header_is_an_error(headers: list[str]) -> None:
    choose(headers)
