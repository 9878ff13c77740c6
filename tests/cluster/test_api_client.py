"""Errors of the API, by what can be done about them; and the ways to a cluster."""

import asyncio
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest

from compiler.duration import MINUTE, SECOND
from runtime.cluster.api import Call, open_api
from runtime.cluster.errors import ClusterError, Conflict, Expired, NotFound, Refused, Rejected, Unavailable
from tests.cluster.scripted import HANG, Said, scripted


def asked(folder: Path, said: Said, timeout: int = 10 * SECOND) -> object:
    async def scenario() -> object:
        async with scripted(folder, lambda *_: said) as server, open_api(server.kubeconfig) as api:
            return await api.send(Call("/x", timeout=timeout))

    return asyncio.run(scenario())


def test_answer_is_json(tmp_path: Path) -> None:
    assert {"a": [1]} == asked(tmp_path, Said.json({"a": [1]}))


@pytest.mark.parametrize(
    "status,error",
    [
        (400, Rejected),
        (401, Refused),
        (403, Refused),
        (404, NotFound),
        (409, Conflict),
        (410, Expired),
        (422, Rejected),
        (429, Unavailable),
        (500, Unavailable),
        (503, Unavailable),
        (504, Unavailable),
    ],
)
def test_status_becomes_an_error_that_says_what_the_server_said(
    tmp_path: Path, status: int, error: type[ClusterError]
) -> None:
    with pytest.raises(error, match=rf"^GET /x: {status} it says why$") as raised:
        asked(tmp_path, Said.json({"kind": "Status", "message": "it says why"}, status))

    assert error is type(raised.value)


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b'"text"', b"{}"])
def test_error_without_a_message_has_the_reason_of_http(tmp_path: Path, body: bytes) -> None:
    with pytest.raises(Unavailable, match=r"^GET /x: 502 Reason$"):
        asked(tmp_path, Said((body,), 502))


def in_two_minutes() -> str:
    return format_datetime(datetime.now(UTC) + timedelta(minutes=2), usegmt=True)


@pytest.mark.parametrize(
    "value,least,most",
    [
        ("7", 7 * SECOND, 7 * SECOND),
        ("0", 0, 0),
        ("in two minutes", MINUTE, 2 * MINUTE),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 0, 0),
        ("999999999", 10 * MINUTE, 10 * MINUTE),
        ("1.5", 0, 0),
        ("-3", 0, 0),
        ("soon", 0, 0),
        ("\u0663".encode().decode("latin-1"), 0, 0),
    ],
)
def test_retry_after_is_seconds_or_a_date(tmp_path: Path, value: str, least: int, most: int) -> None:
    sent = in_two_minutes() if value == "in two minutes" else value

    with pytest.raises(Unavailable) as raised:
        asked(tmp_path, Said.json({}, 429, Retry_After=sent))

    assert least <= raised.value.retry_after <= most


def test_no_answer_in_time_is_unavailable(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="no answer in time"):
        asked(tmp_path, Said((HANG,)), timeout=SECOND // 5)


def test_answer_that_is_no_json_is_unavailable(tmp_path: Path) -> None:
    with pytest.raises(Unavailable):
        asked(tmp_path, Said((b"<html>",)))


def opened(kubeconfig: str | None = None, context: str | None = None) -> None:
    async def scenario() -> None:
        async with open_api(kubeconfig, context):
            pass

    asyncio.run(scenario())


def test_ways_that_lead_nowhere_say_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    broken = tmp_path / "broken"
    broken.write_text("{")

    with pytest.raises(ClusterError, match=r"no way to a cluster: there is no kubeconfig ~/\.kube/config"):
        opened()
    with pytest.raises(ClusterError, match="there is no kubeconfig /nowhere"):
        opened("/nowhere")
    with pytest.raises(ClusterError, match="no way to a cluster"):
        opened(str(broken))


def test_context_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with scripted(tmp_path, lambda *_: Said.json({})) as server, open_api(server.kubeconfig, "other"):
            pass

    with pytest.raises(ClusterError, match="other"):
        asyncio.run(scenario())


def test_kubeconfig_of_the_environment_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> object:
        async with scripted(tmp_path, lambda *_: Said.json({"here": True})) as server:
            monkeypatch.setenv("KUBECONFIG", f"/nowhere:{server.kubeconfig}")
            async with open_api() as api:
                return await api.send(Call("/x"))

    assert {"here": True} == asyncio.run(scenario())


def test_inside_a_cluster_its_own_account_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    monkeypatch.setenv("HOME", str(tmp_path))

    with pytest.raises(ClusterError, match="no way to a cluster: Service token file does not exist"):
        opened()
