"""Carries out what the engine decided: one image, read once, its answer told in the engine's words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from compiler.plan import HostPlan
from compiler.reference import Reference, parse_reference, split_host
from compiler.resources import ImageMirror
from runtime.pacing.values import Read, Response, Verdict
from runtime.registry import (
    Available,
    Checker,
    Copier,
    CopyFailed,
    Credential,
    DockerConfig,
    InvalidDockerConfig,
    Limits,
    QuotaExceeded,
    Registry,
    RegistryClient,
    Repository,
    Transfer,
    parse_platform,
    read_docker_config,
)
from runtime.registry import Verdict as RegistryVerdict

__all__ = ["Answer", "Credentials", "MissingSecret", "Reader"]


class MissingSecret(Exception):
    """A secret that is named is not there, or holds no Docker config.json; the message says which."""


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
            MissingSecret: the secret can't be used. Reading without it would spend a quota that nobody planned for.
        """
        if secret is None:
            return None
        text = self._docker_config(secret)
        if text is None:
            raise MissingSecret(f"there is no secret {secret}")
        known = self._read.get(secret)
        if known is None or known[0] != text:
            try:
                known = self._read[secret] = (text, read_docker_config(text))
            except InvalidDockerConfig as error:
                raise MissingSecret(f"the secret {secret} can't be used: {error}") from None
        credential = known[1].credential_for(host, repository)
        if credential is None:
            raise MissingSecret(f"the secret {secret} has no credential for {host}/{repository}")
        return credential


@dataclass(frozen=True, slots=True)
class Answer:
    """How a read ended.

    Attributes:
        response: for the engine.
        result: for the metrics: the verdict, or why a copy failed.
        limits: what the registry said of its quota; None when it was not asked.
        platforms: of the index that was found, where its platforms were looked at.
        transferred: bytes that a copy read.
    """

    response: Response
    result: str
    limits: Limits | None = None
    platforms: frozenset[str] | None = None
    transferred: int = 0


class Reader:
    """Reads images from registries.

    Args:
        client: for everything.
        moved: told of the bytes of copies as they come, with the source's host.
    """

    def __init__(
        self, client: RegistryClient, credentials: Credentials, moved: Callable[[str, int], None] = lambda _h, _n: None
    ) -> None:
        self._checker = Checker(client)
        self._copier = Copier(client, moved=moved)
        self._credentials = credentials

    async def check(self, read: Read, host: HostPlan, running: frozenset[str] | None) -> Answer:
        """Check an image.

        Args:
            host: how it is reached.
            running: the digests that run, to look for drift; None doesn't look.
        """
        image = _parse(read.image, host)
        try:
            repository = self._source(image, read, host)
        except MissingSecret as error:
            return _unasked(str(error))
        report = await self._checker.check(
            repository, image.digest or image.tag or "latest", within=read.timeout, running=running
        )
        response = _response(report.verdict, report.limits)
        platforms = report.verdict.platforms if isinstance(report.verdict, Available) else None
        return Answer(response, response.verdict.value, report.limits, platforms)

    async def copy(self, read: Read, host: HostPlan, mirror: ImageMirror, platforms: frozenset[str]) -> Answer:
        """Copy an image.

        Args:
            host: how the source is reached.
            mirror: whose copy it is.
            platforms: those of the cluster's nodes.
        """
        if read.copy is None:
            raise ValueError(f"{read.image} has no destination")
        image = _parse(read.image, host)
        to, _, tag = read.copy.to.rpartition(":")
        try:
            source = self._source(image, read, host)
            target = self.destination(mirror, to)
        except MissingSecret as error:
            return _unasked(str(error), failure="AuthFailed")
        anchor = (read.copy.anchor,) if read.copy.anchor else ()
        wanted = mirror.platforms or tuple(sorted(platforms))
        selected = None if mirror.platforms is None or not wanted else tuple(parse_platform(p) for p in wanted)
        transfer = Transfer(
            source, image.digest or image.tag or "latest", target, (*anchor, tag), selected, timeout=read.timeout
        )
        try:
            copied = await self._copier.copy(transfer)
        except CopyFailed as failed:
            verdict = Available("") if failed.verdict is None else failed.verdict
            response = _response(verdict, failed.limits)._replace(failure=failed.reason.value, detail=str(failed))
            return Answer(response._replace(digest=None), failed.reason.value, failed.limits)
        response = _response(Available(copied.source_digest), copied.limits)
        return Answer(response, "Copied", copied.limits, transferred=copied.bytes)

    def destination(self, mirror: ImageMirror, name: str, *, actions: str = "pull,push") -> Repository:
        """Give a repository of a mirror's destination.

        Raises:
            MissingSecret: its secret can't be used.
        """
        host, path = split_host(name)
        secret = mirror.push_secret or mirror.pull_secret
        credential = self._credentials.find(secret, host, path)
        return Repository(Registry(host, mirror.insecure), path, credential, actions)

    def _source(self, image: Reference, read: Read, host: HostPlan) -> Repository:
        registry = Registry(image.host, read.insecure, host.ca_file)
        return Repository(registry, image.repository, self._credentials.find(read.secret, image.host, image.repository))


def _parse(image: str, host: HostPlan) -> Reference:
    return parse_reference(image, frozenset({host.host} if host.insecure else ()))


def _unasked(message: str, failure: str | None = None) -> Answer:
    """Answer for a registry that was not asked, because the credential for it is missing."""
    response = Response(Verdict.UNAUTHORIZED, failure=failure, detail=message)
    return Answer(response, failure or response.verdict.value)


def _response(verdict: RegistryVerdict, limits: Limits) -> Response:
    is_spent = limits.remaining == 0
    return Response(
        verdict=Verdict(verdict.reason),
        digest=verdict.digest if isinstance(verdict, Available) else None,
        retry_after=verdict.retry_after if isinstance(verdict, QuotaExceeded) else None,
        quota_reset=limits.reset if is_spent else None,
        detail=verdict.message,
    )
