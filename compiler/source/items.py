"""Cuts one item out of a long List, so that a diagnostic about a pod needs a look at that pod's text only."""

from __future__ import annotations

import re
from functools import lru_cache
from json import JSONDecodeError, JSONDecoder
from typing import Final

__all__ = ["cut_item"]

_ITEMS: Final = re.compile(r"^items:[ \t]*(?:#.*)?\n", re.MULTILINE)
_DASH: Final = re.compile(r"^( *)-(?=[ \n])", re.MULTILINE)
_SPACE: Final = re.compile(r"[ \t\r\n]*")


def cut_item(text: str, index: int) -> tuple[str, int] | None:
    """Cut an item of the top-level ``items`` out of a document.

    Args:
        text: the document, JSON or YAML in block style.
        index: which item, counted from 0.

    Returns:
        The item's text, blank where the rest of its first line was, so that columns stay, and the offset at which it
        begins in the document. None where the text has another form.
    """
    cuts = _json_cuts(text) if text.lstrip()[:1] == "{" else _yaml_cuts(text)
    if index >= len(cuts):
        return None
    start, end = cuts[index]
    line = text.rfind("\n", 0, start) + 1
    return " " * (start - line) + text[start:end], line


@lru_cache(maxsize=4)
def _yaml_cuts(text: str) -> list[tuple[int, int]]:
    heading = _ITEMS.search(text)
    first = _DASH.search(text, heading.end()) if heading else None
    if first is None:
        return []
    indent = first[1]
    # the list ends where a line is indented less than its dashes, or as much without being one
    over = re.compile(rf"^(?!{indent}[ -])(?=.*\S)(?! *#)", re.MULTILINE).search(text, first.start())
    end = over.start() if over else len(text)
    dash = re.compile(rf"^{indent}-(?=[ \n])", re.MULTILINE)
    starts = [m.end() for m in dash.finditer(text, first.start(), end)]
    return list(zip(starts, [text.rfind("\n", 0, s) + 1 for s in starts[1:]] + [end], strict=True))


@lru_cache(maxsize=4)
def _json_cuts(text: str) -> list[tuple[int, int]]:
    decoder = JSONDecoder()

    def skip(at: int, expected: str) -> int:
        at = _space(text, at)
        return _space(text, at + 1) if text[at : at + 1] in expected else at

    try:
        at = skip(0, "{")
        while text[at : at + 1] == '"':
            key, at = decoder.raw_decode(text, at)
            at = skip(at, ":")
            if key != "items":
                _, at = decoder.raw_decode(text, at)
                at = skip(at, ",")
                continue
            cuts = []
            at = skip(at, "[")
            while text[at : at + 1] not in {"]", ""}:
                start = at
                _, at = decoder.raw_decode(text, at)
                cuts.append((start, at))
                at = skip(at, ",")
            return cuts
    except (JSONDecodeError, RecursionError, ValueError):
        pass
    return []


def _space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at
