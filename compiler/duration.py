"""Go durations (``1h30m``, ``500ms``, ``0``), as whole nanoseconds.

Every duration in kuik is an ``int`` of nanoseconds: the grid of windows is exact after a year (page 1, W2), two series
with intervals of 1.1 s and 11 s meet at the same instant, and nothing is lost between Go's form and ours.
The grammar, the limits and the rounding of fractions are those of Go's ``time.ParseDuration``, the form is that of
``Duration.String``: a text means here what it means to every other controller of the cluster.
"""

from __future__ import annotations

import re
from typing import Final, TypeAlias

from compiler.quoting import quoted

__all__ = [
    "HOUR",
    "LONGEST",
    "MILLISECOND",
    "MINUTE",
    "SECOND",
    "InvalidDuration",
    "Nanoseconds",
    "format_duration",
    "parse_duration",
]

Nanoseconds: TypeAlias = int

MILLISECOND: Final = 1_000_000
SECOND: Final = 1_000 * MILLISECOND
MINUTE: Final = 60 * SECOND
HOUR: Final = 60 * MINUTE

LONGEST: Final = 2**63 - 1
"""What 64 bits of nanoseconds hold, about 292 years."""

_MOST_DIGITS: Final = 19  # of 2**63; reading no more keeps a hostile text from costing quadratic time
_UNITS: Final = {
    "ns": 1,
    "us": 1_000,
    "\N{MICRO SIGN}s": 1_000,
    "\N{GREEK SMALL LETTER MU}s": 1_000,  # Go takes both
    "ms": MILLISECOND,
    "s": SECOND,
    "m": MINUTE,
    "h": HOUR,
}
_TERM: Final = re.compile(r"([0-9]*)(?:\.([0-9]*))?([^0-9.]*)")  # matches everywhere, if only the empty text


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
    is_negative = text.startswith("-")
    start = 1 if text[:1] in {"+", "-"} else 0
    if text[start:] == "0":
        return 0
    total = _sum_of_terms(text, start)
    # two's complement: the most negative duration has no positive counterpart
    if total > LONGEST + is_negative:
        raise InvalidDuration(f"{quoted(text)} is longer than 292 years")
    return -total if is_negative else total


def format_duration(duration: Nanoseconds) -> str:
    """Write a duration in Go's form: ``1h0m0s``, ``1.5s``, ``2ms``, ``0s``."""
    sign, rest = ("-", -duration) if duration < 0 else ("", duration)
    if rest == 0:
        return "0s"
    if rest < SECOND:
        for unit, scale in (("ms", MILLISECOND), ("\N{MICRO SIGN}s", 1_000)):
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


def _sum_of_terms(text: str, start: int) -> Nanoseconds:
    """Add up what stands from ``start`` on, without the sign; Python's integers don't overflow on the way."""
    total, position = 0, start
    while position < len(text) or position == start:
        term = _TERM.match(text, position)
        whole, fraction, unit = term.groups() if term else ("", None, "")
        if not term or not (whole or fraction):
            raise InvalidDuration(f"{quoted(text)} is not a duration; write one such as 30s, 5m or 1h30m")
        scale = _scale(unit, text, whole)
        if len(whole.lstrip("0")) > _MOST_DIGITS:
            raise InvalidDuration(f"{quoted(text)} is longer than 292 years")
        total += int(whole[-_MOST_DIGITS:] or "0") * scale + _fraction(fraction or "", scale)
        position = term.end()
    return total


def _scale(unit: str, text: str, whole: str) -> Nanoseconds:
    if not unit:
        number = (whole.lstrip("0") or "1")[:_MOST_DIGITS]
        raise InvalidDuration(f"{quoted(text)} has no unit; write for example {number}s or {number}m")
    if unit in {"d", "w"}:
        raise InvalidDuration(f'{quoted(text)} has the unknown unit "{unit}"; a day is 24h, a week 168h')
    if unit not in _UNITS:
        raise InvalidDuration(f"{quoted(text)} has the unknown unit {quoted(unit)}; known are ns, us, ms, s, m and h")
    return _UNITS[unit]


def _fraction(digits: str, scale: int) -> Nanoseconds:
    """Give 0.``digits`` of a unit.

    Floating point is Go's choice, and the exact answer would differ from it by a nanosecond: 0.3333333333333333333h is
    20m to Go.
    """
    value, power = 0, 1.0
    for digit in digits:
        if value > LONGEST // 10 or value * 10 + int(digit) > LONGEST + 1:
            break
        value = value * 10 + int(digit)
        power *= 10
    return int(value * (scale / power))


def _decimal(amount: int, scale: int) -> str:
    whole, part = divmod(amount, scale)
    if not part:
        return str(whole)
    digits = str(part).rjust(len(str(scale)) - 1, "0").rstrip("0")
    return f"{whole}.{digits}"
