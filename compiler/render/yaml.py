"""Plain values as YAML, so that a committed plan shows a change as the lines that changed: one image a line.

A text stands without quotes only where YAML 1.1 and YAML 1.2 both read it as that text: a plan that kuik wrote may be
read by anything. Otherwise it is a JSON string, which both read alike. The writers of PyYAML and ruamel
take twenty times as long or more, and fold long lines.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from compiler.terminal import escape

__all__ = ["dump"]

Plain: TypeAlias = Mapping[str, Any] | list[Any] | str | int | bool | None

# A letter that no number, date or time of either version has: not binary, hexadecimal, exponent, T and Z of a date.
_NOT_IN_NUMBERS: Final = "ghj-mp-su-wyGHJ-MP-SU-WY"
# Letters, digits and what image references consist of; none of it is an indicator of YAML inside a word, in block or in
# flow context, but for a colon at the end. What begins with a digit must not be a number or a date.
_WORD: Final = re.compile(rf"(?:[A-Za-z/]|(?=[^{_NOT_IN_NUMBERS}]*[{_NOT_IN_NUMBERS}])[0-9])[A-Za-z0-9._/@:+-]*(?<!:)")
# yaml.org/type/null and bool, and the core schema of YAML 1.2
_RESERVED: Final = frozenset({"null", "true", "false", "yes", "no", "on", "off", "y", "n"})

# a mapping in a list with no more entries than that goes on one line: a copy, a lap
_SMALL: Final = 3
# YAML 1.2.2, 7.4.2: a key without question mark is at most 1024 characters long
_LONGEST_KEY: Final = 1000
_STEP: Final = "  "


def dump(value: Plain) -> str:
    """Write mappings with text as keys, lists, texts, whole numbers, booleans and None; keys keep their order.

    Returns:
        Lines, each with its line feed; what is read back from them is equal to the value.

    Raises:
        TypeError: the value holds something else, such as a float.
    """
    lines: list[str] = []
    _write(value, "", "", lines)
    lines.append("")
    return "\n".join(lines)


def _write(value: Plain, first: str, pad: str, lines: list[str]) -> None:
    """Add the lines of a value: the first begins with ``first``, which ends where the others begin after ``pad``."""
    if isinstance(value, Mapping) and value:
        for key, entry in value.items():
            _write_entry(_scalar(key), entry, first, pad, lines)
            first = pad
    elif isinstance(value, list) and value:
        for item in value:
            _write_item(item, f"{first}- ", f"{pad}{_STEP}", lines)
            first = pad
    else:
        lines.append(first + _scalar(value))


def _write_entry(key: str, value: Plain, first: str, pad: str, lines: list[str]) -> None:
    if len(key) > _LONGEST_KEY:
        lines.append(f"{first}? {key}")
        _write(value, f"{pad}: ", f"{pad}{_STEP}", lines)
    elif isinstance(value, Mapping) and value:
        lines.append(f"{first}{key}:")
        _write(value, pad + _STEP, pad + _STEP, lines)
    elif isinstance(value, list) and value:
        lines.append(f"{first}{key}:")
        # the dash counts as indentation, as kubectl writes it
        _write(value, pad, pad, lines)
    else:
        lines.append(f"{first}{key}: {_scalar(value)}")


def _write_item(item: Plain, first: str, pad: str, lines: list[str]) -> None:
    if isinstance(item, str):
        lines.append(first + _scalar(item))
    elif isinstance(item, Mapping) and _is_small(item):
        lines.append(f"{first}{{{', '.join(f'{key}: {_scalar(value)}' for key, value in item.items())}}}")
    else:
        _write(item, first, pad, lines)


def _is_small(value: Mapping[str, Any]) -> bool:
    words = all(_is_word(key) and _is_word(entry) for key, entry in value.items())
    return words and 0 < len(value) <= _SMALL and max(map(len, value)) <= _LONGEST_KEY


def _is_word(value: Plain) -> bool:
    if isinstance(value, str):
        return _WORD.fullmatch(value) is not None and value.lower() not in _RESERVED
    return value is None or isinstance(value, int)


def _scalar(value: Plain) -> str:
    """Write what takes one line: a scalar, or an empty mapping or list."""
    match value:
        case str():
            return value if _is_word(value) else _quote(value)
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case Mapping() | list() if not value:
            return "{}" if isinstance(value, Mapping) else "[]"
        case _:
            raise TypeError(f"{type(value).__name__} is not a plain value")


def _quote(text: str) -> str:
    """Write a JSON string, but a character beyond 16 bits that is escaped is no pair of surrogates in YAML."""
    return escape(json.dumps(text, ensure_ascii=False), _escaped)


def _escaped(character: str) -> str:
    code = ord(character)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
