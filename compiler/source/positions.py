"""Finds the line and column of a value, only for the documents that a diagnostic is about.

Bulk input is parsed by a fast parser into plain values, which know nothing of lines. ruamel.yaml knows them and takes
3 s for a megabyte, so it composes only the piece of text that holds the value in question: a document, or one item of
a long List.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

__all__ = ["LARGEST_PIECE", "Path", "Span", "duplicate_keys", "find", "has_positions", "plain_scalars"]

Path = tuple[str | int, ...]

LARGEST_PIECE: Final = 256 * 1024
"""Characters; a larger piece (about 1 s of ruamel) is pointed at by its first line alone."""


@dataclass(frozen=True, slots=True)
class Span:
    """A place in a text: the offset of its first character, and how many characters of that line are meant."""

    offset: int
    width: int = 1


def find(piece: str, path: Path, *, key: bool) -> Span:
    """Find the value at a path, or its key.

    A path that leads nowhere (a missing field, a value that came through an alias) gives the deepest part that exists.
    """
    node = _compose(piece)
    if node is None:
        return Span(len(piece) - len(piece.lstrip()))
    named: Node = node
    for step in path:
        found = _step(node, step)
        if found is None:
            break
        named, node = found
        if not key:
            named = node
    if not path and isinstance(node, MappingNode) and node.value:
        named = node.value[0][0]
    return _span(named)


def has_positions(piece: str) -> bool:
    """Say whether anything can be found in a piece: it is not too large, and ruamel takes it."""
    return _compose(piece) is not None


def duplicate_keys(piece: str, path: Path = ()) -> Iterator[tuple[str, Span, Span]]:
    """Give every key at or below a path that stands twice in one mapping, with both places."""
    for node in _walk(_reach(_compose(piece), path)):
        if isinstance(node, MappingNode):
            first: dict[str, ScalarNode] = {}
            for key, _ in node.value:
                if isinstance(key, ScalarNode):
                    if key.value in first:
                        yield key.value, _span(first[key.value]), _span(key)
                    first.setdefault(key.value, key)


def plain_scalars(piece: str, path: Path = ()) -> Iterator[tuple[str, Span]]:
    """Give every scalar at or below a path, key or value, that is written without quotes."""
    for node in _walk(_reach(_compose(piece), path)):
        if isinstance(node, ScalarNode) and not node.style and str(node.tag).startswith("tag:yaml.org,2002:"):
            yield node.value, _span(node)


@lru_cache(maxsize=32)
def _compose(piece: str) -> Node | None:
    """Parse a piece into nodes with marks; None where ruamel refuses what the fast parser took."""
    if len(piece) > LARGEST_PIECE:
        return None
    try:
        node: Node | None = YAML(pure=True).compose(piece)
    except (YAMLError, RecursionError, ValueError):
        return None
    return node


def _reach(node: Node | None, path: Path) -> Node | None:
    """Follow a path to its end; None where it leads nowhere."""
    for step in path:
        found = _step(node, step) if node is not None else None
        node = found[1] if found is not None else None
    return node


def _step(node: Node, step: str | int) -> tuple[Node, Node] | None:
    if isinstance(node, MappingNode):
        pairs = [(k, v) for k, v in node.value if isinstance(k, ScalarNode) and k.value == str(step)]
        return pairs[-1] if pairs else None
    if isinstance(node, SequenceNode) and isinstance(step, int) and step < len(node.value):
        item = node.value[step]
        return item, item
    return None


def _walk(root: Node | None) -> Iterator[Node]:
    """Give every node once, in the order of the text; an alias is not followed a second time."""
    stack, seen = ([root] if root is not None else []), set[int]()
    while stack:
        node = stack.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        yield node
        if isinstance(node, MappingNode):
            stack.extend(n for pair in reversed(node.value) for n in reversed(pair))
        elif isinstance(node, SequenceNode):
            stack.extend(reversed(node.value))


def _span(node: Node) -> Span:
    start, end = node.start_mark, node.end_mark
    # a scalar that ends on its own line is underlined whole, everything else by its first character
    one_line = isinstance(node, ScalarNode) and start.line == end.line
    return Span(start.index, max(1, end.index - start.index) if one_line else 1)
