"""The script of a simulation, from plain values."""

from __future__ import annotations

from typing import Any

import pytest

from compiler.duration import MINUTE, SECOND
from compiler.plan import Operation
from runtime.pacing import Verdict
from runtime.simulation import InvalidScript, parse_script
from runtime.simulation.script import Answer, Configure, Latency, Replace, Restart, Vanish


def test_every_entry_of_the_page() -> None:
    assert (
        Configure(0, "other.yaml"),
        Replace(MINUTE, ("a.yaml", "b")),
        Restart(2 * MINUTE, 30 * SECOND),
        Latency(3 * MINUTE, "docker.io", Operation.COPY, 1500 * SECOND // 1000),
        Answer(4 * MINUTE, "docker.io/library/nginx:1.27", Verdict.QUOTA_EXCEEDED, None, 90 * SECOND),
        Answer(5 * MINUTE, "quay.io/a/b:latest", Verdict.AVAILABLE, "sha256:x"),
        Vanish(6 * MINUTE, "ImageMirror/prod", "docker.io/library/nginx:1.27"),
    ) == parse_script(
        [
            {"at": 0, "config": "other.yaml"},
            {"at": "1m", "resources": ["a.yaml", "b"]},
            {"at": "2m", "restart": "30s"},
            {"at": "3m", "latency": {"host": "index.docker.io", "operation": "Copy", "seconds": 1.5}},
            {
                "at": "4m",
                "answer": {"host": "docker.io", "image": "nginx:1.27", "verdict": "QuotaExceeded", "retryAfter": 90},
            },
            {
                "at": "5m",
                "answer": {"host": "quay.io", "image": "quay.io/a/b", "verdict": "Available", "digest": "sha256:x"},
            },
            {"at": "6m", "vanish": {"owner": "ImageMirror/prod", "image": "nginx:1.27"}},
        ]
    )


def test_entries_come_in_order_of_time_and_else_as_written() -> None:
    script = parse_script(
        [
            {"at": "2m", "restart": 0},
            {"at": "1m", "config": "b"},
            {"at": "1m", "config": "a"},
            {"at": "1m", "restart": "0"},
        ]
    )
    assert [Configure(MINUTE, "b"), Configure(MINUTE, "a"), Restart(MINUTE, 0), Restart(2 * MINUTE, 0)] == [*script]


@pytest.mark.parametrize("nothing", [None, []])
def test_an_empty_script_is_one(nothing: Any) -> None:
    assert () == parse_script(nothing)


@pytest.mark.parametrize(
    "entry, message",
    [
        ("restart", "'restart' is not a mapping such as {at: 10m, restart: 30s}"),
        (
            {"at": "1m"},
            "beside at there must be one of config, resources, restart, latency, answer, vanish; here is none",
        ),
        ({"at": "1m", "restart": 0, "config": "c"}, "here is restart, config"),
        ({"at": "1m", "restrat": 0}, "here is restrat"),
        ({"restart": 0}, "at is a duration such as 10m, not None"),
        ({"at": 60, "restart": 0}, "at is a duration such as 10m, not 60"),
        ({"at": "1 minute", "restart": 0}, 'at: "1 minute" has the unknown unit'),
        ({"at": "-1m", "restart": 0}, "at is -1m, before the start"),
        ({"at": "1m", "restart": "soon"}, 'restart: "soon" is not a duration'),
        ({"at": "1m", "config": 7}, "config is a text, not 7"),
        ({"at": "1m", "resources": 7}, "resources is a list of files, not 7"),
        ({"at": "1m", "resources": [""]}, "resources is a text, not ''"),
        ({"at": "1m", "latency": "docker.io"}, "latency is a mapping with host, operation, seconds"),
        ({"at": "1m", "latency": {"host": "docker.io"}}, "latency lacks operation, seconds"),
        (
            {"at": "1m", "latency": {"host": "docker.io", "operation": "check", "seconds": 1}},
            "latency.operation is one of Check, Copy, not 'check'",
        ),
        (
            {"at": "1m", "latency": {"host": "docker.io", "operation": "Check", "seconds": -1}},
            "latency.seconds is a number of seconds, not -1",
        ),
        (
            {"at": "1m", "latency": {"host": "a b", "operation": "Check", "seconds": 1}},
            '"a b" is not a registry host',
        ),
        (
            {"at": "1m", "answer": {"host": "quay.io", "image": "nginx", "verdict": "Available"}},
            "answer.host is quay.io, but docker.io/library/nginx:latest is on docker.io",
        ),
        ({"at": "1m", "answer": {"image": "nginx", "verdict": "Gone"}}, "answer.verdict is one of Available, NotFound"),
        ({"at": "1m", "answer": {"image": "nginx", "veredict": "Gone"}}, "answer has no veredict; it has digest, host"),
        ({"at": "1m", "answer": {"image": "Nginx"}}, "upper case"),
        ({"at": "1m", "answer": {"image": "nginx", "retryAfter": True}}, "answer.retryAfter is a number of seconds"),
        ({"at": "1m", "vanish": {"owner": "ImageMirror/m"}}, "vanish lacks image"),
    ],
)
def test_what_is_wrong_is_named_with_its_entry(entry: Any, message: str) -> None:
    with pytest.raises(InvalidScript) as caught:
        parse_script([{"at": "1m", "restart": 0}, entry])
    assert 1 == caught.value.index
    assert str(caught.value).startswith("entry 2: ")
    assert message in str(caught.value)


def test_a_script_is_a_list() -> None:
    with pytest.raises(InvalidScript, match="a script is a list"):
        parse_script({"at": "1m", "restart": 0})
