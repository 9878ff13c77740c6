"""Requests to a Kubernetes API server: the only place that knows the official client.

Of ``kubernetes.aio`` this takes what is hard to get right (kubeconfig, credentials that expire, TLS) and its way to
send a request, and leaves its models and its watch alone: the models need 2 s for 2,000 pods and block the event loop.
Every kind goes through the same two methods, JSON in and out. Nothing is retried here, since who calls knows what for;
only aiohttp sends an idempotent request once more when the server closes the connection without a word.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final, TypeAlias

import aiohttp
from kubernetes.aio import config as kube_config
from kubernetes.aio.client import ApiClient, Configuration

from compiler.duration import MINUTE, SECOND, Nanoseconds
from runtime.cluster.errors import ClusterError, Unavailable, error_of_status

__all__ = ["Api", "Call", "open_api"]

log: Final = logging.getLogger(__name__)

Query: TypeAlias = Mapping[str, str | int]

LONGEST_RETRY_AFTER: Final = 10 * MINUTE
"""More is taken for a mistake of something between us and the server."""
_DEFAULT_KUBECONFIG: Final = "~/.kube/config"
_IN_CLUSTER: Final = "KUBERNETES_SERVICE_HOST"


@dataclass(frozen=True, slots=True)
class Call:
    """What is asked of the server.

    Attributes:
        content_type: of the body; what a patch means depends on it.
        timeout: for the whole answer. A stream has none, and ``silence`` instead.
    """

    path: str
    method: str = "GET"
    query: Query = field(default_factory=dict)
    body: Mapping[str, Any] | None = None
    content_type: str = "application/json"
    timeout: Nanoseconds = 10 * SECOND

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


class Api:
    """A session with an API server.

    Args:
        client: of the official package, with its configuration.
    """

    def __init__(self, client: ApiClient) -> None:
        self._client = client

    async def send(self, call: Call) -> Any:
        """Give the JSON of the answer to a call.

        Raises:
            ClusterError: there was no answer in time, or one with an error.
        """
        limits = aiohttp.ClientTimeout(total=call.timeout / SECOND)
        async with self._answer(call, limits) as response:
            return json.loads(await response.read())

    @asynccontextmanager
    async def stream(self, call: Call, silence: Nanoseconds) -> AsyncIterator[AsyncIterator[bytes]]:
        """Make a call whose answer goes on, and give its lines as they come.

        Args:
            call: a watch.
            silence: how long nothing may arrive before the connection counts as dead.

        Raises:
            ClusterError: on opening and while reading; none when the server ends it in order.
        """
        limits = aiohttp.ClientTimeout(total=None, sock_connect=10, sock_read=silence / SECOND)
        async with self._answer(call, limits) as response:
            yield _lines(response)

    @asynccontextmanager
    async def _answer(self, call: Call, limits: aiohttp.ClientTimeout) -> AsyncIterator[aiohttp.ClientResponse]:
        try:
            request = await self._client.param_serialize(
                call.method,
                call.path,
                query_params=list(call.query.items()),
                header_params={"Accept": "application/json", "Content-Type": call.content_type},
                body=call.body,
                auth_settings=["BearerToken"],
            )
            answer = await self._client.call_api(*request, _request_timeout=limits)
            async with answer.response as response:
                if response.status >= 400:
                    raise _error(call, response, await response.read())
                yield response
        except TimeoutError:
            raise Unavailable(f"{call}: no answer in time") from None
        except (aiohttp.ClientError, OSError, json.JSONDecodeError) as error:
            raise Unavailable(f"{call}: {str(error) or type(error).__name__}") from error


@asynccontextmanager
async def open_api(kubeconfig: str | None = None, context: str | None = None) -> AsyncIterator[Api]:
    """Open a session with the server that a kubeconfig names, or with the cluster that this process runs in.

    Args:
        kubeconfig: a path; None looks, in this order, at a given context, the cluster around, and ``KUBECONFIG``.
        context: of the kubeconfig; None is its current one.

    Raises:
        ClusterError: there is no such file or context, or no cluster around.
    """
    configuration = Configuration()
    refreshing = None
    try:
        if kubeconfig is None and context is None and os.environ.get(_IN_CLUSTER):
            kube_config.load_incluster_config(configuration)  # type: ignore[no-untyped-call]
        else:
            refreshing = await _load_kubeconfig(configuration, kubeconfig, context)
    except Exception as error:
        # a kubeconfig that is no YAML, or lacks a part, raises whatever the client stumbled over
        raise ClusterError(f"no way to a cluster: {error}") from error
    client = ApiClient(configuration)
    client.user_agent = f"kuik/{_version()}"
    try:
        yield Api(client)
    finally:
        if refreshing is not None:
            refreshing.cancel()
        await client.close()  # type: ignore[no-untyped-call]


async def _load_kubeconfig(
    configuration: Configuration, kubeconfig: str | None, context: str | None
) -> asyncio.Task[None]:
    loader = await kube_config.load_kube_config(  # type: ignore[no-untyped-call]
        _kubeconfig_path(kubeconfig), context, client_configuration=configuration, persist_config=False
    )
    return asyncio.create_task(_refresh(loader, configuration))


def _kubeconfig_path(given: str | None) -> str:
    """Give the files of the kubeconfig, separated as in ``PATH``; without any the client would ask localhost."""
    path = given or os.environ.get("KUBECONFIG") or _DEFAULT_KUBECONFIG
    files = [Path(part).expanduser() for part in path.split(os.pathsep) if part]
    if not any(file.is_file() for file in files):
        raise FileNotFoundError(f"there is no kubeconfig {path}")
    return os.pathsep.join(map(str, files))


async def _refresh(loader: Any, configuration: Configuration) -> None:
    """Keep a token fresh that a plugin of the kubeconfig makes; ends at once where there is none."""
    while True:
        try:
            await kube_config.refresh_token(loader, configuration)  # type: ignore[no-untyped-call]
        except Exception:
            log.exception("the credential of the kubeconfig could not be refreshed")
            await asyncio.sleep(MINUTE / SECOND)
        else:
            return


async def _lines(response: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
    """Split an answer into lines of any length; one that is cut off is none."""
    rest = b""
    async for chunk in response.content.iter_any():
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            if line:
                yield line


def _error(call: Call, response: aiohttp.ClientResponse, body: bytes) -> ClusterError:
    reason = response.reason or ""
    with suppress(ValueError, AttributeError):
        # metav1.Status; a proxy in between answers with something else
        reason = json.loads(body).get("message") or reason
    retry_after = _retry_after(response.headers.get("Retry-After", ""))
    return error_of_status(response.status, f"{call}: {response.status} {reason}", retry_after)


def _retry_after(value: str) -> Nanoseconds:
    """Read ``Retry-After``, whole seconds or a date (RFC 9110, 10.2.3); 0 when it is neither."""
    if value.isascii() and value.isdigit():
        return min(int(value) * SECOND, LONGEST_RETRY_AFTER)
    try:
        wait = (parsedate_to_datetime(value) - datetime.now(UTC)).total_seconds()
    except (ValueError, TypeError):
        return 0
    return min(max(round(wait * SECOND), 0), LONGEST_RETRY_AFTER)


def _version() -> str:
    try:
        return version("kuik")
    except PackageNotFoundError:
        return "unknown"
