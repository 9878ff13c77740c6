"""Logs: a message is a constant, what varies are keys (``extra``). JSON lines in a pipe, readable on a terminal."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from datetime import UTC, datetime
from typing import Any, Final, TextIO

from compiler.diagnostics import Diagnostic, Severity
from compiler.terminal import Style, paint, printable

__all__ = ["configure", "diagnostic_keys", "log_diagnostics"]

_STYLES: Final = {logging.ERROR: Style.ERROR, logging.WARNING: Style.WARNING}
_OWN: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
_LOGGERS: Final = ("runtime", "compiler")


def configure(stream: TextIO | None = None, *, color: bool = False) -> None:
    """Send kuik's logs to a stream, standard error unless told otherwise; its being a terminal decides the form."""
    stream = stream or sys.stderr
    handler = logging.StreamHandler(stream)
    handler.setFormatter(_Readable(color=color) if stream.isatty() else _Json())
    for name in _LOGGERS:
        logger = logging.getLogger(name)
        logger.handlers[:] = [handler]
        logger.setLevel(logging.INFO)
        logger.propagate = False


def diagnostic_keys(diagnostic: Diagnostic) -> dict[str, Any]:
    """Give a diagnostic as the keys of a log line: where (``file``, ``line``, ``column``), what, and what to do."""
    position = diagnostic.position
    return {
        "file": position.file,
        "line": position.line or None,
        "column": position.column or None,
        "code": diagnostic.code.value,
        "reason": diagnostic.message,
        "help": diagnostic.help or None,
    }


def log_diagnostics(
    logger: logging.Logger, diagnostics: Iterable[Diagnostic], told: AbstractSet[Diagnostic]
) -> frozenset[Diagnostic]:
    """Log what is wrong with the input, unless it was told before; give what has been told now."""
    present = tuple(diagnostics)
    for diagnostic in present:
        if diagnostic not in told:
            level = logging.ERROR if diagnostic.severity is Severity.ERROR else logging.WARNING
            logger.log(level, "input is wrong", extra=diagnostic_keys(diagnostic))
    return frozenset(present)


def _keys(record: logging.LogRecord) -> Mapping[str, Any]:
    """Give what the caller passed as ``extra``; a key without a value is left out."""
    return {k: v for k, v in vars(record).items() if k not in _OWN and v is not None}


class _Json(logging.Formatter):
    """One JSON object a line: ``time``, ``level``, ``message``, and the keys."""

    def format(self, record: logging.LogRecord) -> str:
        moment = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line: dict[str, Any] = {
            "time": moment.replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "message": record.getMessage(),
            **_keys(record),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


class _Readable(logging.Formatter):
    """``13:37:00 window used  host=docker.io operation=Check``."""

    def __init__(self, *, color: bool) -> None:
        super().__init__()
        self._color = color

    def format(self, record: logging.LogRecord) -> str:
        moment = datetime.fromtimestamp(record.created, UTC).astimezone()
        pairs = " ".join(f"{k}={printable(str(v))}" for k, v in _keys(record).items())
        message = paint(record.getMessage(), _STYLES.get(record.levelno), color=self._color)
        trace = f"\n{self.formatException(record.exc_info)}" if record.exc_info else ""
        return f"{moment:%H:%M:%S} {message}  {pairs}".rstrip() + trace
