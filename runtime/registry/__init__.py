"""Registries: checks, copies and scans over one HTTP client; the only importer of httpx.

::

    async with RegistryClient(before_request=lease.assert_held) as client:
        nginx = Repository(Registry("docker.io"), "library/nginx")
        report = await Checker(client).check(nginx, "1.27", within=10 * SECOND)
        match report.verdict:
            case Available(digest=digest): ...

What a registry answers is a value (``Verdict``), decided once. What can't be a value is an exception of ``errors``,
where the tree is drawn; no error of an HTTP library leaves this package, and no message carries a credential.
"""

from runtime.registry.check import Checker, Report
from runtime.registry.client import Fetched, Head, RegistryClient
from runtime.registry.copying import Copied, Copier, Transfer
from runtime.registry.credentials import Credential, DockerConfig, read_docker_config
from runtime.registry.errors import CopyFailed, CopyReason, InvalidDockerConfig, RegistryError, RequestFailed
from runtime.registry.limits import NO_LIMITS, Limits
from runtime.registry.messages import Clocks, Sent
from runtime.registry.places import Registry, Repository
from runtime.registry.platforms import Platform, parse_platform
from runtime.registry.scan import Desired, Found, scan
from runtime.registry.verdict import (
    Available,
    Cause,
    NotFound,
    QuotaExceeded,
    Refusal,
    Unauthorized,
    Unreachable,
    Verdict,
)

__all__ = [
    "NO_LIMITS",
    "Available",
    "Cause",
    "Checker",
    "Clocks",
    "Copied",
    "Copier",
    "CopyFailed",
    "CopyReason",
    "Credential",
    "Desired",
    "DockerConfig",
    "Fetched",
    "Found",
    "Head",
    "InvalidDockerConfig",
    "Limits",
    "NotFound",
    "Platform",
    "QuotaExceeded",
    "Refusal",
    "Registry",
    "RegistryClient",
    "RegistryError",
    "Report",
    "Repository",
    "RequestFailed",
    "Sent",
    "Transfer",
    "Unauthorized",
    "Unreachable",
    "Verdict",
    "parse_platform",
    "read_docker_config",
    "scan",
]
