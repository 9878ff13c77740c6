"""Splits a text into documents and parses each with the fastest parser that its form allows.

Documents of a stream are parsed one by one, so that a broken one costs neither the others nor their line numbers.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import yaml_rs

__all__ = ["Broken", "Parsed", "parse", "repeats_a_key"]

_SEPARATOR: Final = re.compile(r"^(?:---(?=[ \t\r\n]|\Z)|\.\.\.[ \t]*(?=\r?\n|\Z))", re.MULTILINE)
_CONTENT: Final = re.compile(r"^[ \t]*[^#\s]", re.MULTILINE)
_SPACE: Final = re.compile(r"[ \t\r\n]*")
_WHERE: Final = re.compile(r"at line (\d+), column (\d+)")
_DUPLICATE: Final = "duplicate mapping key"
_REASONS: Final = {
    "recursion limit exceeded": "it is nested too deep",
    "alias replay limit exceeded": "its aliases stand for more than a million values",
}
"""What is said instead of the parser's words."""

_DEEPEST: Final = 2000
_NESTED: Final = re.compile(rf"(?:[-?:](?=[ \t\r\n])|[ \t]){{{_DEEPEST}}}")
"""The beginning of a line that opens a block that many columns to the right: each level takes one of them at least, or
two levels do, a mapping and a sequence. The parser's stack holds some ten thousand."""


@dataclass(frozen=True, slots=True)
class Parsed:
    """A document that was read.

    Attributes:
        start: the offset in the text at which ``piece`` begins.
        has_duplicates: a key stands twice in a mapping; the value has the last.
    """

    value: Any
    piece: str
    start: int
    has_duplicates: bool = False


@dataclass(frozen=True, slots=True)
class Broken:
    """A document that is no YAML: why, and at which offset of the text."""

    reason: str
    piece: str
    start: int
    offset: int


def parse(text: str) -> Iterator[Parsed | Broken]:
    """Read every document of a text that has any content."""
    if text.lstrip()[:1] in {"{", "["}:
        documents = _parse_json(text)
        if documents is not None:
            yield from documents
            return
    for start, piece in _split(text):
        yield _parse_yaml(piece, start)


def _parse_json(text: str) -> list[Parsed] | None:
    """Read one JSON value or several in a row; None where the text is something else, such as YAML in flow style."""
    decoder, documents = json.JSONDecoder(), list[Parsed]()
    at = _space(text, 0)
    try:
        while at < len(text):
            value, end = decoder.raw_decode(text, at)
            following = _space(text, end)
            alone = not documents and following == len(text)
            documents.append(Parsed(value, text, 0) if alone else Parsed(value, text[at:end], at))
            at = following
    except (ValueError, RecursionError):
        return None
    return documents


def repeats_a_key(text: str) -> bool:
    """Say whether a mapping of a JSON text has a key twice, of which ``json`` keeps the last without a word."""
    if text.lstrip()[:1] != "{":
        return False

    def counted(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(pairs)
        repeated.append(len(value) < len(pairs))
        return value

    repeated = list[bool]()
    try:
        json.loads(text, object_pairs_hook=counted)
    except (ValueError, RecursionError):
        return False  # YAML in flow style, which is parsed as YAML
    return any(repeated)


def _space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _split(text: str) -> Iterator[tuple[int, str]]:
    """Cut a stream at its ``---`` and ``...`` lines; a cut keeps its ``---``, which may have content behind it."""
    cuts = [0, *(m.start() for m in _SEPARATOR.finditer(text)), len(text)]
    begin = 0
    for start, end in pairwise(cuts):
        piece = text[begin:end]
        body = piece.removeprefix("---").removeprefix("...")
        content = _CONTENT.search(body)
        if content is None:
            begin = end
        elif content[0].endswith("%") and end < len(text) and begin == start:
            continue  # directives: they belong to the document behind the next separator
        else:
            yield begin, piece if not piece.startswith("...") else "   " + piece[3:]
            begin = end


def _parse_yaml(piece: str, start: int) -> Parsed | Broken:
    deep = _nested_too_deep(piece)
    if deep is not None:
        return Broken(_REASONS["recursion limit exceeded"], piece, start, deep)
    try:
        return Parsed(_merged(_load(piece), piece), piece, start)
    except RecursionError:
        return Broken(_REASONS["recursion limit exceeded"], piece, start, 0)
    except UnicodeEncodeError as error:  # no file holds such a text; a caller may
        return Broken("it holds half of a surrogate pair", piece, start, error.start)
    except TypeError:  # a list in a key that is a list: yaml-rs makes no value of it
        return Broken("a key is made of mappings or lists", piece, start, 0)
    except yaml_rs.YAMLDecodeError as error:
        reason = str(error)
    if reason.startswith(_DUPLICATE):
        try:
            value = yaml_rs.loads(piece, parse_datetime=False, duplicate_key_policy=yaml_rs.DuplicateKeyPolicy.LastWins)
            return Parsed(_merged(value, piece), piece, start, has_duplicates=True)
        except yaml_rs.YAMLDecodeError as error:
            reason = str(error)
    where = _WHERE.search(reason)
    line, column = (int(where[1]), int(where[2])) if where else (1, 1)
    reason = reason.rstrip().rsplit("\n", 1)[-1]
    reason = next((words for begin, words in _REASONS.items() if reason.startswith(begin)), reason)
    return Broken(reason, piece, start, _offset(piece, line, column))


def _nested_too_deep(piece: str) -> int | None:
    """Find a line that nests blocks deeper than the parser's stack can bear; it would take the process with it.

    Only a long line can, so that the search leaps over all others.
    """
    text = piece.replace("\r", "\n")  # a line ends with either; offsets stay
    begin = 0
    while len(text) - begin >= _DEEPEST:
        end = text.rfind("\n", begin, begin + _DEEPEST)
        if end < 0:
            if _NESTED.match(text, begin):
                return begin
            end = text.find("\n", begin + _DEEPEST)
        if end < 0:
            return None
        begin = end + 1
    return None


def _load(piece: str) -> Any:
    return yaml_rs.loads(piece, parse_datetime=False)


def _offset(piece: str, line: int, column: int) -> int:
    begin = 0
    for _ in range(line - 1):
        end = piece.find("\n", begin)
        if end < 0:
            break
        begin = end + 1
    return min(begin + column - 1, len(piece))


def _merged(value: Any, piece: str) -> Any:
    """Apply merge keys (``<<``), which YAML 1.2 dropped and kubectl reads."""
    return _merge(value) if "<<" in piece else value


def _merge(value: Any) -> Any:
    if isinstance(value, list):
        return [_merge(v) for v in value]
    if not isinstance(value, dict):
        return value
    own = {k: _merge(v) for k, v in value.items()}
    sources = own.pop("<<", None)
    for source in sources if isinstance(sources, list) else [sources]:
        if isinstance(source, dict):
            own = {**own, **{k: v for k, v in source.items() if k not in own}}
    return own
