"""``WWW-Authenticate``: what a registry wants to see before it answers.

The grammar is RFC 9110's (several challenges in one header, several headers, quoted strings with escapes, commas inside
quotes). Registries ask for Bearer or Basic; whatever else is offered is passed over.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

__all__ = ["Basic", "Bearer", "Challenge", "choose"]

_WORD: Final = r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"
_PARAMETER: Final = re.compile(rf'\s*({_WORD})\s*=\s*(?:"((?:[^"\\]|\\.)*)"|({_WORD}[^\s,"]*))\s*(?:,|$)')
# what Negotiate and NTLM have in place of parameters
_TOKEN68: Final = re.compile(r"\s+[A-Za-z0-9\-._~+/]+=*\s*(?:,|$)")
_SCHEME: Final = re.compile(rf"[\s,]*({_WORD})(?=\s|,|$)")


@dataclass(frozen=True, slots=True)
class Basic:
    """User name and password with every request."""


@dataclass(frozen=True, slots=True)
class Bearer:
    """A token from an endpoint.

    Attributes:
        realm: the endpoint's URL.
        service: what the endpoint calls the registry; empty if the challenge doesn't say.
    """

    realm: str
    service: str = ""


Challenge: TypeAlias = Basic | Bearer


def choose(headers: Iterable[str]) -> Challenge | None:
    """Choose the challenge to meet: Bearer before Basic, since a token tells less than a password.

    Args:
        headers: every ``WWW-Authenticate`` of the answer.

    Returns:
        None where neither is offered, or a Bearer has no realm.
    """
    offers = [offer for header in headers for offer in _parse(header)]
    for scheme, parameters in offers:
        if scheme == "bearer" and parameters.get("realm"):
            return Bearer(parameters["realm"], parameters.get("service", ""))
    return Basic() if any(scheme == "basic" for scheme, _ in offers) else None


def _parse(header: str) -> Iterator[tuple[str, dict[str, str]]]:
    position = 0
    while match := _SCHEME.match(header, position):
        position = match.end()
        parameters: dict[str, str] = {}
        while pair := _PARAMETER.match(header, position):
            position = pair.end()
            quoted = pair[2]
            parameters[pair[1].lower()] = pair[3] if quoted is None else re.sub(r"\\(.)", r"\1", quoted)
        if not parameters and (opaque := _TOKEN68.match(header, position)):
            position = opaque.end()
        yield match[1].lower(), parameters
