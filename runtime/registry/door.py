"""Getting in: what each host asked for is remembered, so that a check costs at most a token and a HEAD.

A request goes out with what the host's last challenge wants. Where that is refused the door says whether another try is
allowed, and there are few: one without and one with authentication, and one more after a *cached* token was refused.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from compiler.duration import Nanoseconds
from runtime.registry.challenge import Basic, Bearer, Challenge, choose
from runtime.registry.messages import origin
from runtime.registry.places import Repository
from runtime.registry.tokens import TokenRequest, Tokens
from runtime.registry.wire import Answer, Wire

__all__ = ["Door", "Grant"]


@dataclass(frozen=True, slots=True)
class Grant:
    """What a request is sent with.

    Attributes:
        header: the value of ``Authorization``; None sends none.
        challenge: that it meets.
        token: what a cached token was asked with; None for anything that is fresh.
    """

    header: str | None = field(default=None, repr=False)
    challenge: Challenge | None = None
    token: TokenRequest | None = None


class Door:
    """The challenges of all hosts."""

    def __init__(self, wire: Wire, clock: Callable[[], Nanoseconds]) -> None:
        self._tokens = Tokens(wire, clock)
        self._challenges: dict[str, Challenge] = {}

    async def grant(self, repository: Repository, scopes: tuple[str, ...]) -> Grant:
        """Give what the host's last challenge wants, as far as the credential goes.

        Raises:
            RequestFailed: a token was needed and not given.
        """
        registry, credential = repository.registry, repository.credential
        if credential is not None and credential.registry_token:
            return Grant(f"Bearer {credential.registry_token}", Bearer(""))
        match self._challenges.get(registry.host):
            case Basic() as basic if credential is not None:
                return Grant(credential.basic(), basic)
            case Bearer() as bearer:
                request = TokenRequest(bearer.realm, bearer.service, scopes, credential)
                if (kept := self._tokens.kept(request)) is not None:
                    return Grant(f"Bearer {kept}", bearer, request)
                return Grant(f"Bearer {await self._tokens.fetch(request, registry)}", bearer)
            case _:
                return Grant()

    def may_try_again(self, repository: Repository, grant: Grant, answer: Answer, *, first: bool) -> bool:
        """Look at a refusal: remember what it asks for, and say whether that can be met better than ``grant`` did.

        Args:
            repository: that was asked.
            grant: that was refused.
            answer: the refusal.
            first: nothing else was tried before. A registry that changed what it asks for is followed once.
        """
        registry, credential = repository.registry, repository.credential
        if answer.status not in {401, 403} or origin(answer.url) != origin(registry.root):
            return False
        offered = choose(answer.all_headers("www-authenticate"))
        if offered is None:
            # no challenge at all: a credential that nobody has seen yet goes as Basic
            offered = Basic() if credential is not None and grant.header is None else None
        if offered is None:
            return False
        self._challenges[registry.host] = offered
        if grant.token is not None:
            self._tokens.forget(grant.token)
            return True
        if not first or offered == grant.challenge or (credential is not None and credential.registry_token):
            return False
        return isinstance(offered, Bearer) or credential is not None
