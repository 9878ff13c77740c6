"""Go durations (``1h30m``, ``500ms``, ``0``), as whole nanoseconds.

Every duration in kuik is an ``int`` of nanoseconds: the grid of windows is exact after a year (page 1, W2), two series
with intervals of 1.1 s and 11 s meet at the same instant, and nothing is lost between Go's form and ours.
The grammar and the limits are those of Go's ``time.ParseDuration`` and ``Duration.String``.
"""

from __future__ import annotations

import re
from typing import Final, TypeAlias

__all__ = ["HOUR", "MILLISECOND", "MINUTE", "SECOND", "InvalidDuration", "Nanoseconds", "format_duration", "parse_duration"]

Nanoseconds: TypeAlias = int

MILLISECOND: Final = 1_000_000
SECOND: Final = 1_000 * MILLISECOND
MINUTE: Final = 60 * SECOND
HOUR: Final = 60 * MINUTE

_LARGEST: Final = 2**63 - 1
_UNITS: Final = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,  # U+00B5, the micro sign
    "μs": 1_000,  # U+03BC, the Greek letter; Go takes both  # noqa: RUF001
    "ms": MILLISECOND,
    "s": SECOND,
    "m": MINUTE,
    "h": HOUR,
}
_TERM: Final = re.compile(r"([0-9]*)(?:\.([0-9]*))?([^0-9.]*)")


class InvalidDuration(ValueError):
    """The text is no Go duration; the message says why and shows one that is."""


def parse_duration(text: str) -> Nanoseconds:
    """Read a Go duration.

    Args:
        text: such as ``1h30m``, ``1.5s``, ``-2m`` or ``0``.

    Returns:
        Nanoseconds, negative if the text is. Fractions below one nanosecond are cut off, as Go does.

    Raises:
        InvalidDuration: not Go's grammar, or beyond what 64 bits hold (about 292 years).
    """
    sign, rest = (-1, text[1:]) if text[:1] == "-" else (1, text.removeprefix("+"))
    if rest == "0":
        return 0
    if not rest:
        raise InvalidDuration(f'"{text}" is not a duration; write one such as 30s, 5m or 1h30m')
    total = 0
    while rest:
        term = _TERM.match(rest)
        whole, fraction, unit = term.groups() if term else ("", None, "")
        if not whole and not fraction:
            raise InvalidDuration(f'"{text}" is not a duration; write one such as 30s, 5m or 1h30m')
        if not unit:
            raise InvalidDuration(f'"{text}" has no unit; write for example {whole or "1"}s or {whole or "1"}m')
        if unit not in _UNITS:
            raise InvalidDuration(f'"{text}" has the unknown unit "{unit}"; the units are ns, us, ms, s, m and h')
        scale = _UNITS[unit]
        # 20 digits are more than 64 bits hold; cutting there keeps a hostile input from costing quadratic time
        if len(whole.lstrip("0")) > 20:
            raise InvalidDuration(f'"{text[:40]}" is longer than 292 years')
        total += int(whole or "0") * scale
        if fraction:
            digits = fraction[:20]
            total += int(digits) * scale // 10 ** len(digits)
        rest = rest[term.end() :] if term else ""
    if total > _LARGEST:
        raise InvalidDuration(f'"{text[:40]}" is longer than 292 years')
    return sign * total


def format_duration(duration: Nanoseconds) -> str:
    """Write a duration in Go's form: ``1h0m0s``, ``1.5s``, ``2ms``, ``0s``."""
    sign, rest = ("-", -duration) if duration < 0 else ("", duration)
    if rest == 0:
        return "0s"
    if rest < SECOND:
        for unit, scale in (("ms", MILLISECOND), ("µs", 1_000)):
            if rest >= scale:
                return f"{sign}{_decimal(rest, scale)}{unit}"
        return f"{sign}{rest}ns"
    hours, rest = divmod(rest, HOUR)
    minutes, rest = divmod(rest, MINUTE)
    seconds = _decimal(rest, SECOND)
    if hours:
        return f"{sign}{hours}h{minutes}m{seconds}s"
    if minutes:
        return f"{sign}{minutes}m{seconds}s"
    return f"{sign}{seconds}s"


def _decimal(amount: int, scale: int) -> str:
    whole, part = divmod(amount, scale)
    if not part:
        return str(whole)
    digits = str(part).rjust(len(str(scale)) - 1, "0").rstrip("0")
    return f"{whole}.{digits}"
