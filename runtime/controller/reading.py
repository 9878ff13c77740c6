"""Carries out what the engine decided: one image, read once, its answer told in the engine's words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from compiler.plan import HostPlan
from compiler.reference import Reference, parse_reference, split_host
from compiler.resources import ImageMirror
from runtime.pacing import Read, Response, Verdict
from runtime.registry import (
    Available,
    Checker,
    Copier,
    CopyFailed,
    Credential,
    DockerConfig,
    InvalidDockerConfig,
    Limits,
    Registry,
    RegistryClient,
    Repository,
    Transfer,
    parse_platform,
    read_docker_config,
)
from runtime.registry import Verdict as RegistryVerdict

__all__ = ["Answer", "Credentials", "Reader", "SecretUnusable", "platforms_of"]


class SecretUnusable(Exception):
    """A secret that is named is not there, or holds no credential for the place; the message says which."""


class Credentials:
    """Finds credentials in the secrets of kuik's own namespace; a changed secret applies from the next image.

    Args:
        docker_config: gives the text of the config.json in a secret; None when there is no such secret.
    """

    def __init__(self, docker_config: Callable[[str], str | None]) -> None:
        self._docker_config = docker_config
        self._read = dict[str, tuple[str, DockerConfig]]()

    def find(self, secret: str | None, host: str, repository: str) -> Credential | None:
        """Give the credential for a repository; None is anonymous.

        Raises:
            SecretUnusable: reading without it would spend a quota that nobody planned for.
        """
        if secret is None:
            return None
        credential = self._config(secret).credential_for(host, repository)
        if credential is None:
            raise SecretUnusable(f"the secret {secret} has no credential for {host}/{repository}")
        return credential

    def problem(self, secret: str) -> str | None:
        """Say why a secret can't be used at all; None when it can."""
        try:
            self._config(secret)
        except SecretUnusable as reason:
            return str(reason)
        return None

    def _config(self, secret: str) -> DockerConfig:
        text = self._docker_config(secret)
        if text is None:
            raise SecretUnusable(f"there is no secret {secret}")
        known = self._read.get(secret)
        if known is None or known[0] != text:
            try:
                known = self._read[secret] = (text, read_docker_config(text))
            except InvalidDockerConfig as error:
                raise SecretUnusable(f"the secret {secret} can't be used: {error}") from None
        return known[1]


@dataclass(frozen=True, slots=True)
class Answer:
    """How a read ended.

    Attributes:
        response: for the engine.
        result: for the metrics: the verdict, or why a copy failed.
        limits: what the registry said of its quota; None when it was not asked.
    """

    response: Response
    result: str
    limits: Limits | None = None


class Reader:
    """Reads images from registries.

    Args:
        client: for everything.
        credentials: what the secrets hold.
        moved: told of the bytes of copies as they come, with the source's host.
    """

    def __init__(self, client: RegistryClient, credentials: Credentials, moved: Callable[[str, int], None]) -> None:
        self._checker = Checker(client)
        self._copier = Copier(client, moved=moved)
        self._credentials = credentials

    async def check(self, read: Read, host: HostPlan, running: frozenset[str] | None) -> Answer:
        """Check an image.

        Args:
            read: what the engine decided.
            host: how the registry is reached.
            running: the digests that run, to look for drift; None doesn't look.
        """
        image = _parse(read)
        try:
            repository = self._source(image, read, host)
        except SecretUnusable as error:
            return _unasked(str(error))
        report = await self._checker.check(repository, _asked(image), within=read.timeout, running=running)
        response = _response(report.verdict, report.limits)
        return Answer(response, response.verdict.value, report.limits)

    async def copy(self, read: Read, host: HostPlan, mirror: ImageMirror, platforms: frozenset[str]) -> Answer:
        """Copy an image.

        Args:
            read: what the engine decided.
            host: how the source is reached.
            mirror: whose copy it is.
            platforms: those of the cluster's nodes.
        """
        if read.copy is None:
            raise ValueError(f"{read.image} has no destination")
        image = _parse(read)
        to, _, tag = read.copy.to.rpartition(":")
        try:
            source, target = self._source(image, read, host), self.destination(mirror, to)
        except SecretUnusable as error:
            return _unasked(str(error), failure="AuthFailed")
        tags = (read.copy.anchor, tag) if read.copy.anchor else (tag,)
        wanted = platforms_of(mirror, platforms)
        selected = None if wanted is None else tuple(parse_platform(p) for p in sorted(wanted))
        transfer = Transfer(source, _asked(image), target, tags, selected, timeout=read.timeout)
        try:
            copied = await self._copier.copy(transfer)
        except CopyFailed as failed:
            # of a source that nobody blames, nothing is known but that it answered
            response = _response(failed.verdict or Available(""), failed.limits)
            reason = failed.reason.value
            return Answer(response._replace(digest=None, failure=reason, detail=str(failed)), reason, failed.limits)
        return Answer(_response(Available(copied.source_digest), copied.limits), "Copied", copied.limits)

    def destination(self, mirror: ImageMirror, name: str, *, actions: str = "pull,push") -> Repository:
        """Give a repository of a mirror's destination.

        Raises:
            SecretUnusable: there is no credential for it where one is wanted.
        """
        host, path = split_host(name)
        # whoever may write may read, and both see the same repository
        credential = self._credentials.find(mirror.push_secret or mirror.pull_secret, host, path)
        return Repository(Registry(host, mirror.insecure), path, credential, actions)

    def _source(self, image: Reference, read: Read, host: HostPlan) -> Repository:
        registry = Registry(image.host, read.insecure, host.ca_file)
        return Repository(registry, image.repository, self._credentials.find(read.secret, image.host, image.repository))


def platforms_of(mirror: ImageMirror, of_nodes: frozenset[str]) -> frozenset[str] | None:
    """Give the platforms that a mirror copies; None is all of them, as where no node has told its own."""
    if mirror.platforms is None:
        return None
    return frozenset(mirror.platforms) or of_nodes or None


def _parse(read: Read) -> Reference:
    return parse_reference(read.image, frozenset({read.host} if read.insecure else ()))


def _asked(image: Reference) -> str:
    return image.digest or image.tag or "latest"


def _unasked(message: str, failure: str | None = None) -> Answer:
    """Answer for a registry that was not asked, because the credential for it is missing."""
    response = Response(Verdict.UNAUTHORIZED, failure=failure, detail=message)
    return Answer(response, failure or response.verdict.value)


def _response(verdict: RegistryVerdict, limits: Limits) -> Response:
    return Response(
        verdict=Verdict(verdict.reason),
        digest=verdict.digest if isinstance(verdict, Available) else None,
        retry_after=limits.retry_after,
        quota_reset=limits.reset if limits.remaining == 0 else None,
        detail=verdict.message,
        platforms=verdict.platforms if isinstance(verdict, Available) else None,
    )
