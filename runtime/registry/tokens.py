"""Tokens: fetched where a challenge says, kept until shortly before they expire, and never twice at once.

A token is known by what it was asked with: endpoint, service, scopes and credential. So nothing obtained with one
credential ever speaks for another.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlencode, urlsplit
from weakref import WeakValueDictionary

from compiler.duration import SECOND, Nanoseconds
from runtime.registry.answers import MAX_DOCUMENT, failure
from runtime.registry.credentials import Credential
from runtime.registry.errors import RequestFailed, unreachable
from runtime.registry.messages import Request, origin
from runtime.registry.places import Registry
from runtime.registry.verdict import Cause, NotFound, Unauthorized
from runtime.registry.wire import Answer, Wire

__all__ = ["TokenRequest", "Tokens"]

# the token specification of distribution: "if omitted, this defaults to 60 seconds"
_DEFAULT_LIFETIME: Final = 60
# a request must still be on its way to the registry when its token expires: a fifth of its life, at most 10 s
_MARGIN: Final = 10 * SECOND
_CLIENT_ID: Final = "kuik"


@dataclass(frozen=True, slots=True)
class TokenRequest:
    """What a token is asked with.

    Attributes:
        scopes: one, but for a mount: it needs the repository that is mounted from too. Some endpoints honour only the
            last, so the one that matters most stands there.
    """

    realm: str
    service: str
    scopes: tuple[str, ...]
    credential: Credential | None


@dataclass(frozen=True, slots=True)
class _Token:
    text: str = field(repr=False)
    until: Nanoseconds


class Tokens:
    """The tokens of all registries."""

    def __init__(self, wire: Wire, clock: Callable[[], Nanoseconds]) -> None:
        self._wire = wire
        self._clock = clock
        self._tokens: dict[TokenRequest, _Token] = {}
        self._underway: WeakValueDictionary[TokenRequest, asyncio.Lock] = WeakValueDictionary()

    def kept(self, request: TokenRequest) -> str | None:
        """Give a token that is still good."""
        token = self._tokens.get(request)
        return token.text if token is not None and self._clock() < token.until else None

    def forget(self, request: TokenRequest) -> None:
        """Drop a token that the registry refused."""
        self._tokens.pop(request, None)

    async def fetch(self, request: TokenRequest, registry: Registry) -> str:
        """Fetch a token; whoever asks for the same one meanwhile gets it too.

        Raises:
            RequestFailed: the endpoint refuses, rations or can't be reached.
        """
        turn = self._underway.setdefault(request, asyncio.Lock())
        async with turn:
            if (token := self.kept(request)) is not None:
                return token
            asked = self._clock()
            async with self._wire.follow(_http_request(request, registry)) as answer:
                fetched, lifetime = await _read(answer, request.credential)
            self._drop_expired(asked)
            self._tokens[request] = _Token(fetched, asked + lifetime - min(_MARGIN, lifetime // 5))
            return fetched

    def _drop_expired(self, now: Nanoseconds) -> None:
        self._tokens = {request: token for request, token in self._tokens.items() if token.until > now}


def _http_request(request: TokenRequest, registry: Registry) -> Request:
    credential = request.credential
    scheme, _, _ = origin(request.realm)
    realm = urlsplit(request.realm)
    if credential is not None and scheme != "https" and not registry.insecure:
        message = f"{registry.host} wants the credential sent to a token endpoint without TLS; it was not"
        raise RequestFailed(Unauthorized(message))
    fields = [("service", request.service)] if request.service else []
    if credential is not None and credential.identity_token:
        return _exchange(request, registry, credential.identity_token, fields)
    fields += [("scope", scope) for scope in request.scopes]
    query = "&".join(part for part in (realm.query, urlencode(fields)) if part)
    headers = {} if credential is None else {"Authorization": credential.basic()}
    return Request("GET", realm._replace(query=query).geturl(), registry, headers)


def _exchange(request: TokenRequest, registry: Registry, refresh: str, fields: list[tuple[str, str]]) -> Request:
    """Ask as OAuth 2 has it, the only way that takes an identity token."""
    form = [*fields, ("grant_type", "refresh_token"), ("client_id", _CLIENT_ID), ("refresh_token", refresh)]
    form.append(("scope", " ".join(request.scopes)))
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    return Request("POST", request.realm, registry, headers, urlencode(form).encode())


async def _read(answer: Answer, credential: Credential | None) -> tuple[str, Nanoseconds]:
    if answer.status != 200:
        failed = await failure(answer, credential, "the token endpoint")
        # an endpoint that isn't there says nothing of the image
        raise unreachable(Cause.STATUS, str(failed)) if isinstance(failed.verdict, NotFound) else failed
    try:
        document = json.loads(await answer.body(MAX_DOCUMENT))
    except (ValueError, RecursionError):
        raise unreachable(Cause.BROKEN, "the token endpoint's answer is not JSON", answer.limits) from None
    token = (document.get("token") or document.get("access_token")) if isinstance(document, dict) else None
    if not isinstance(token, str) or not token.isprintable():
        raise unreachable(Cause.BROKEN, "the token endpoint's answer has no token", answer.limits)
    return token, _lifetime(document.get("expires_in"))


def _lifetime(seconds: Any) -> Nanoseconds:
    usable = isinstance(seconds, int | float) and not isinstance(seconds, bool) and 0 < seconds < 10**9
    return int((seconds if usable else _DEFAULT_LIFETIME) * SECOND)
