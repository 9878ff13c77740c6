"""Bounds that no honest document passes.

A hostile one must not exhaust the stack, and whatever is read can be written again: numbers in digits, text as UTF-8.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

__all__ = ["DEEPEST", "beyond"]

DEEPEST: Final = 100
"""Levels of mappings and lists; kuik's own documents have less than ten."""

_LARGEST: Final = 2**63
"""What the integers of every other program of the cluster hold; Python refuses to print much larger ones."""

_Path = tuple[Any, ...]
_CONTAINERS: Final = (dict, list, set, frozenset, tuple)


def beyond(value: Any) -> tuple[_Path, str] | None:
    """Find what passes a bound.

    Returns:
        The path of what does, and what is wrong with it; None when nothing does.
    """
    stack: list[tuple[_Path, Any]] = [((), value)]
    while stack:
        path, here = stack.pop()
        if isinstance(here, int) and abs(here) >= _LARGEST:
            return path, "this number is larger than 64 bits hold"
        if isinstance(here, str) and not _can_be_written(here):
            return path, "this text holds half of a surrogate pair"
        if isinstance(here, _CONTAINERS):
            if len(path) == DEEPEST:
                return path, f"this is nested deeper than {DEEPEST} levels"
            stack.extend(_parts(path, here))
    return None


def _parts(path: _Path, value: Any) -> Iterator[tuple[_Path, Any]]:
    if isinstance(value, dict):
        yield from (((*path, key), part) for key, part in value.items())
        # last in, first out: a key is looked at before anything that its path leads to
        yield from ((path, key) for key in value if not isinstance(key, str) or not key.isascii())
    else:
        yield from (((*path, index), part) for index, part in enumerate(value))


def _can_be_written(text: str) -> bool:
    """Say whether a text is Unicode; JSON's escapes can make one that isn't."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
