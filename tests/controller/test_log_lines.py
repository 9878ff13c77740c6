"""A log line: a constant message, and keys; JSON for programs, one line for people."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator

import pytest

from compiler.diagnostics import Code, Diagnostic, Position, Severity
from runtime import log

LOGGER = logging.getLogger("runtime.tests")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def _as_it_was() -> Iterator[None]:
    loggers = [logging.getLogger(name) for name in ("runtime", "compiler")]
    before = [(logger, logger.handlers[:], logger.level, logger.propagate) for logger in loggers]
    yield
    for logger, handlers, level, propagate in before:
        logger.handlers[:], logger.propagate = handlers, propagate
        logger.setLevel(level)


def test_a_pipe_gets_one_json_object_a_line() -> None:
    stream = io.StringIO()
    log.configure(stream)

    LOGGER.info("checked", extra={"host": "docker.io", "window": 3, "detail": None})
    LOGGER.warning("two\nlines")

    first, second = map(json.loads, stream.getvalue().splitlines())
    assert {"level": "info", "message": "checked", "host": "docker.io", "window": 3}.items() <= first.items()
    assert {"time", "level", "message", "host", "window"} == first.keys()
    assert first["time"].endswith("Z")
    assert ("warning", "two\nlines") == (second["level"], second["message"])


def test_a_terminal_gets_the_time_of_day_the_message_and_the_keys() -> None:
    stream = Terminal()
    log.configure(stream)

    LOGGER.info("checked", extra={"host": "docker.io", "window": 3})

    assert "checked  host=docker.io window=3" == stream.getvalue().rstrip().partition(" ")[2]


def test_what_a_registry_says_cannot_move_the_cursor() -> None:
    stream = Terminal()
    log.configure(stream)

    LOGGER.info("checked", extra={"detail": "gone\x1b[2J\nnew line"})

    assert "\x1b" not in stream.getvalue()
    assert 1 == stream.getvalue().count("\n")


def test_colours_are_for_what_went_wrong() -> None:
    stream = Terminal()
    log.configure(stream, color=True)

    LOGGER.info("fine")
    LOGGER.error("bad")

    fine, bad = stream.getvalue().splitlines()
    assert ("\x1b" in fine, "\x1b" in bad) == (False, True)


def test_an_exception_comes_with_its_trace() -> None:
    stream = io.StringIO()
    log.configure(stream)

    try:
        int("why")
    except ValueError:
        LOGGER.exception("failed")

    assert "ValueError: invalid literal" in json.loads(stream.getvalue())["exception"]


def test_a_diagnostic_is_told_once_and_again_when_it_comes_back(caplog: pytest.LogCaptureFixture) -> None:
    wrong = Diagnostic(Severity.ERROR, Code.UNKNOWN_FIELD, "unknown", Position("a.yaml", 3, 5), "see the page")
    odd = Diagnostic(Severity.WARNING, Code.UNUSED_HOST, "unused", Position("c.yaml"))

    told = log.log_diagnostics(LOGGER, [wrong, odd], frozenset())
    told = log.log_diagnostics(LOGGER, [wrong], told)
    told = log.log_diagnostics(LOGGER, [], told)
    log.log_diagnostics(LOGGER, [wrong], told)

    assert [logging.ERROR, logging.WARNING, logging.ERROR] == [r.levelno for r in caplog.records]
    keys = vars(caplog.records[0])
    assert ("a.yaml", 3, 5, "unknown-field", "see the page") == tuple(
        keys[name] for name in ("file", "line", "column", "code", "help")
    )
