"""What is wrong with the input, and where: one type for every mistake, every output format and every check."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum, unique

__all__ = ["Code", "Diagnostic", "Position", "Severity"]


class Severity(StrEnum):
    """How bad it is: an error refuses the input, a warning leaves something out or expects trouble."""

    ERROR = "error"
    WARNING = "warning"


@unique
class Code(StrEnum):
    """The kinds of mistake. ``docs/diagnostics.md`` explains each, ``golden/`` has a case for each (a test says so)."""

    # reading files
    UNREADABLE = "unreadable"
    NOT_TEXT = "not-text"
    NOT_YAML = "not-yaml"
    UNRENDERED_TEMPLATE = "unrendered-template"
    TOO_LARGE = "too-large"
    EMPTY_INPUT = "empty-input"
    # shape
    NOT_A_MAPPING = "not-a-mapping"
    DUPLICATE_KEY = "duplicate-key"
    YAML_1_1 = "yaml-1.1"
    UNKNOWN_FIELD = "unknown-field"
    MISSING_FIELD = "missing-field"
    WRONG_TYPE = "wrong-type"
    INVALID_VALUE = "invalid-value"
    NOT_BUILT_YET = "not-built-yet"
    UNSUPPORTED_PROVIDER = "unsupported-provider"
    # values
    INVALID_DURATION = "invalid-duration"
    INTERVAL_TOO_SHORT = "interval-too-short"
    INVALID_HOST = "invalid-host"
    INVALID_PREFIX = "invalid-prefix"
    INVALID_GLOB = "invalid-glob"
    INVALID_SELECTOR = "invalid-selector"
    INVALID_NAME = "invalid-name"
    INVALID_PLATFORM = "invalid-platform"
    # one thing against another
    DUPLICATE_HOST = "duplicate-host"
    DUPLICATE_RESOURCE = "duplicate-resource"
    UNKNOWN_KIND = "unknown-kind"
    MIXED_PREFIXES = "mixed-prefixes"
    NESTED_DESTINATIONS = "nested-destinations"
    # warnings
    STRAY_CONFIGURATION = "stray-configuration"
    INVALID_IMAGE = "invalid-image"
    INVALID_WORKLOAD = "invalid-workload"
    INVALID_STATUS = "invalid-status"
    INVALID_ANNOTATION = "invalid-annotation"
    UNKNOWN_NAMESPACE_LABELS = "unknown-namespace-labels"
    UNUSED_HOST = "unused-host"
    GLOB_NEVER_MATCHES = "glob-never-matches"
    DESTINATION_TOO_LONG = "destination-too-long"
    LAP_EXCEEDS_RETENTION = "lap-exceeds-retention"
    SLOW_DRAIN = "slow-drain"
    # the script of a simulation
    INVALID_SCRIPT = "invalid-script"


@dataclass(frozen=True, slots=True)
class Position:
    """A place in the input.

    Attributes:
        file: the path as the user gave it; for standard input the document's number and the object's name.
        line: counted from 1; 0 where the input has no lines (an object from a cluster, a file that can't be read).
        column: counted from 1 in characters; 0 like ``line``.
        excerpt: the whole line, to be shown; empty where there is none, and where it may hold a credential.
        width: how many characters of the line are meant, at least 1.
    """

    file: str
    line: int = 0
    column: int = 0
    excerpt: str = ""
    width: int = 1

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}" if self.line else self.file


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One mistake: what, where, and what to do about it.

    Attributes:
        message: one sentence without a full stop; names what was found.
        help: what to do, where the message doesn't say it already; empty otherwise.
    """

    severity: Severity
    code: Code
    message: str
    position: Position
    help: str = ""

    @property
    def sort_key(self) -> tuple[str, int, int, str, str]:
        """The order in which diagnostics are printed: by file, then by place."""
        return (self.position.file, self.position.line, self.position.column, self.code, self.message)
