"""The forms that a single value may have: one entry for each ``format`` that the schemas name."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from compiler.diagnostics import Code
from compiler.duration import SECOND, InvalidDuration, parse_duration
from compiler.globs import InvalidGlob, parse_glob
from compiler.prefixes import InvalidPrefix, parse_prefix, repository_path
from compiler.reference import InvalidReference, canonical_host
from compiler.selectors import dns_subdomain_error, label_key_error, label_value_error

__all__ = ["FORMATS", "InvalidFormat"]

_PLATFORM: Final = re.compile(r"[a-z0-9]+/[a-z0-9_]+(?:/[a-z0-9.]+)?")
_AUTH_PREFIX: Final = re.compile(r"/(?:[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*(?:/|\Z))*")


class InvalidFormat(ValueError):
    """A value has not the form that its field asks for."""

    def __init__(self, code: Code, message: str, remedy: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.remedy = remedy


def _duration(value: Any) -> int:
    """Read a duration: Go's text, or the number 0."""
    if isinstance(value, int) and not isinstance(value, bool):
        if value == 0:
            return 0
        raise InvalidFormat(
            Code.INVALID_DURATION, f"{value} has no unit", f"write for example {abs(value)}s or {abs(value)}m"
        )
    if not isinstance(value, str):
        return 0  # another type is the business of ``type``
    try:
        duration = parse_duration(value)
    except InvalidDuration as error:
        raise InvalidFormat(Code.INVALID_DURATION, str(error)) from None
    if duration < 0:
        raise InvalidFormat(Code.INVALID_DURATION, f'"{value}" is negative', "write a duration of 0 or more")
    return duration


def _positive(value: Any) -> None:
    if isinstance(value, str | int) and not isinstance(value, bool) and _duration(value) == 0:
        raise InvalidFormat(Code.INVALID_DURATION, f'"{value}" would let nothing finish', "write for example 10s")


def _delay(value: Any) -> None:
    if isinstance(value, str | int) and not isinstance(value, bool) and _duration(value) == 0:
        raise InvalidFormat(Code.INVALID_DURATION, f'"{value}" is no time at all', "write for example 5ms")


def _interval(value: Any) -> None:
    if isinstance(value, str | int) and not isinstance(value, bool) and _duration(value) < SECOND:
        raise InvalidFormat(
            Code.INTERVAL_TOO_SHORT, f'an interval of "{value}" would flood the registry', "write 1s or more"
        )


def _text(code: Code, check: Callable[[str], object]) -> Callable[[Any], None]:
    """Make a check of a reader: whatever it raises is what is wrong."""

    def checked(value: Any) -> None:
        if isinstance(value, str):
            try:
                check(value)
            except (InvalidReference, InvalidGlob, InvalidPrefix) as error:
                raise InvalidFormat(code, str(error)) from None

    return checked


def _explained(code: Code, explain: Callable[[str], str | None]) -> Callable[[Any], None]:
    """Make a check of a function that says what is wrong with a text, or None."""

    def checked(value: Any) -> None:
        reason = explain(value) if isinstance(value, str) else None
        if reason is not None:
            raise InvalidFormat(code, reason)

    return checked


def _host_key(text: str) -> None:
    if text != "default":
        canonical_host(text)


def _platform(text: str) -> str | None:
    if _PLATFORM.fullmatch(text):
        return None
    return f'"{text}" is not a platform; write os/architecture or os/architecture/variant, such as linux/arm64'


def _auth_prefix(text: str) -> str | None:
    if _AUTH_PREFIX.fullmatch(text):
        return None
    return f'"{text}" is not a prefix; it is a path of the host and begins with a slash, such as / or /team'


FORMATS: Final[Mapping[str, Callable[[Any], object]]] = {
    "go-duration": _duration,
    "go-duration-positive": _positive,
    "go-delay": _delay,
    "go-interval": _interval,
    "registry-host": _text(Code.INVALID_HOST, _host_key),
    "image-prefix": _text(Code.INVALID_PREFIX, parse_prefix),
    "repository-path": _text(Code.INVALID_PREFIX, repository_path),
    "image-glob": _text(Code.INVALID_GLOB, parse_glob),
    "label-key": _explained(Code.INVALID_SELECTOR, label_key_error),
    "label-value": _explained(Code.INVALID_SELECTOR, label_value_error),
    "dns-subdomain": _explained(Code.INVALID_NAME, dns_subdomain_error),
    "platform": _explained(Code.INVALID_PLATFORM, _platform),
    "auth-prefix": _explained(Code.INVALID_PREFIX, _auth_prefix),
}
