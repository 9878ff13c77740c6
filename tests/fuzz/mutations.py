"""Ways to spoil a text or a value, as accidents and hostility do it; the same seed spoils in the same way."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Sequence
from typing import Any, Final

from compiler.source.parse import Parsed, parse

__all__ = ["spoil"]

SCALARS: Final = (
    "null", "~", "", '""', "[]", "{}", "[[]]", "{a: b}", "[a, b]", "true", "no", "0", "-1", "1.5", "1e400", "-.inf",
    ".nan", "012", "0x1F", "0o17", "1_000", "9" * 30, "9" * 5000, "2026-01-01", "12:30:45", "!!binary aGk=", "!foo bar",
    "!!python/object:os.system x", "&a *a", "&a [*a]", "*nowhere", "<<", "<<: *a", "{{ .Values.x }}", "{{", "}}",
    "${X}", "- - -", "? a", "? [a, b]", "a: b: c", "'unclosed", '"unclosed', "|", ">-", "%YAML 1.2", "---", "...", "\t",
    "@", "`", "a\tb", "\N{BELL}", "\0", "\x1b[31mred", "\N{RIGHT-TO-LEFT OVERRIDE}abc", "\ud800",
    "\N{LATIN SMALL LETTER E WITH ACUTE}", "\N{PILE OF POO}", "\N{LINE SEPARATOR}", "\N{NEXT LINE}", "x" * 300,
    "x" * 20_000, "1m", "0s", "1ns", "1h garbage", "-5s", "0", "99999999h", "docker.io", "docker.io/x:1",
    "a/b@sha256:00", "[::1]:5000/x", "[::1", "registry.tld:99999/x", "https://quay.io", "nginx:", ":", "/", "*", "**",
    "?", "A", "_", "kuik.enix.io/v1alpha1", "ImageMonitor", "List", "PodList", "Pod", "Namespace",
)  # fmt: skip
"""What may stand where a scalar was, as text."""

VALUES: Final = (
    None, True, False, 0, 1, -1, 2**31, 2**63, 2**64, 10**400, 0.5, 1e308, "", " ", "a", "\0", "\x1b]0;x\x07", "\ud800",
    "\udfff\ud800", "\N{RIGHT-TO-LEFT OVERRIDE}", "a\nb", "{{ x }}", "${x}", "x" * 300, "30s", "0", "1m1", [], {}, [[]],
    [None], [{}], {"": ""}, {"a": None}, {"name": {}}, {"\0": "\ud800"}, ["a", "a"], [1, "a", None], "docker.io/",
    "quay.io", "registry.tld/mirror", "List", "ImageMirror", "Pod", "kuik.enix.io/v1alpha1", "/", "*", "**:*", "a" * 64,
    "0" * 64,
)  # fmt: skip
"""What may stand where a value was."""

_SCALAR: Final = re.compile(r"(?<=[:\-,\[{] )[^\s,\[\]{}#][^,\[\]{}#\n]*")
_KEY: Final = re.compile(r"[A-Za-z][\w./-]*(?=:(?:\s|$))")


def spoil(text: str, order: random.Random) -> str:
    """Spoil a text in one to three places: as text, or, a third of the time, one of its documents as a value."""
    if order.random() < 1 / 3:
        return _spoil_values(text, order)
    for _ in range(order.randint(1, 3)):
        text = order.choice(_OF_TEXT)(text, order)
    return text


def _lines(change: Callable[[list[str], int, random.Random], None]) -> Callable[[str, random.Random], str]:
    def changed(text: str, order: random.Random) -> str:
        lines = text.split("\n")
        change(lines, order.randrange(len(lines)), order)
        return "\n".join(lines)

    return changed


def _delete(lines: list[str], at: int, _: random.Random) -> None:
    del lines[at]


def _duplicate(lines: list[str], at: int, _: random.Random) -> None:
    lines.insert(at, lines[at])


def _swap(lines: list[str], at: int, order: random.Random) -> None:
    other = order.randrange(len(lines))
    lines[at], lines[other] = lines[other], lines[at]


def _indent(lines: list[str], at: int, order: random.Random) -> None:
    by = order.choice((-4, -2, -1, 1, 2, 4))
    lines[at] = " " * by + lines[at] if by > 0 else lines[at].removeprefix(" " * -by)


def _tab(lines: list[str], at: int, _: random.Random) -> None:
    lines[at] = lines[at].replace("  ", "\t", 1)


def _comment(lines: list[str], at: int, _: random.Random) -> None:
    lines[at] = f"# {lines[at]}"


def _insert(lines: list[str], at: int, order: random.Random) -> None:
    lines.insert(at, order.choice(SCALARS))


def _replace(pattern: re.Pattern[str], words: Sequence[str]) -> Callable[[str, random.Random], str]:
    def changed(text: str, order: random.Random) -> str:
        found = list(pattern.finditer(text))
        if not found:
            return text
        match = order.choice(found)
        return text[: match.start()] + order.choice(words) + text[match.end() :]

    return changed


def _character(text: str, order: random.Random) -> str:
    at = order.randrange(len(text) + 1)
    return text[:at] + order.choice("\0\t\r\n :-{}[]&*!|>'\"%@`#,?\x85\u2028\ufeff\ud800") + text[at:]


def _lose(text: str, order: random.Random) -> str:
    at = order.randrange(len(text) + 1)
    return text[:at] + text[at + order.randint(1, 8) :]


def _cut(text: str, order: random.Random) -> str:
    return text[: order.randrange(len(text) + 1)]


def _carriage_returns(text: str, order: random.Random) -> str:
    return text.replace("\n", order.choice(("\r\n", "\r", "\n\n")))


_OF_TEXT: Final = (
    *map(_lines, (_delete, _duplicate, _swap, _indent, _tab, _comment, _insert)),
    *[_replace(_SCALAR, SCALARS)] * 4,
    *[_replace(_KEY, (*SCALARS, "name", "spec", "kind", "items", "check", "interval", "image"))] * 2,
    _character,
    _lose,
    _cut,
    _carriage_returns,
)


def _spoil_values(text: str, order: random.Random) -> str:
    """Spoil one document in one to three of its values, and write them all as JSON."""
    values = [found.value for found in parse(text) if isinstance(found, Parsed)]
    if not values:
        return text
    at = order.randrange(len(values))
    for _ in range(order.randint(1, 3)):
        values[at] = _spoil_value(values[at], order)
    return "\n".join(json.dumps(value, default=str) for value in values)


def _spoil_value(value: Any, order: random.Random) -> Any:
    """Walk down at random and change what is there."""
    if not isinstance(value, dict | list) or not value or order.random() < 0.05:
        return order.choice(VALUES)
    copy: Any = value.copy()
    key = order.choice(list(copy)) if isinstance(copy, dict) else order.randrange(len(copy))
    match order.randrange(10):
        case 0:
            del copy[key]
        case 1 if isinstance(copy, dict):
            copy[order.choice(("", "a", "name", "spec", "\0", "{{ x }}", "\ud800", "x" * 300))] = copy.pop(key)
        case 2 if isinstance(copy, list):
            copy.insert(key, copy[key])
        case 3:
            copy[key] = [copy[key]]
        case _:
            copy[key] = _spoil_value(copy[key], order)
    return copy
