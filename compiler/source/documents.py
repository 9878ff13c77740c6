"""Documents as the compiler sees them: plain values, each with a way back to its line and column.

``place / "spec" / "destination"`` walks down a document as the value itself is walked down, costs nothing, and is
turned into a ``Position`` only when somebody complains about it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from compiler.diagnostics import Code, Diagnostic, Position, Severity
from compiler.source.items import cut_item
from compiler.source.parse import Broken, parse, repeats_a_key
from compiler.source.positions import LARGEST_PIECE, Path, Span, duplicate_keys, find, has_positions, plain_scalars
from compiler.source.text import Text
from compiler.source.yaml11 import may_hold_1_1, read_by_1_1

__all__ = ["Document", "Object", "Place", "flatten", "read_documents"]

_NOTHING_MORE: Final = re.compile(r"\s*\Z")
_HOLDS_SECRET: Final = re.compile(r"""\bkind["']?\s*:\s*["']?Secret\b""")
_WORTH_CUTTING: Final = 4096
"""Characters; below that a whole document is composed in 15 ms and needs no cutting."""


@dataclass(frozen=True, slots=True, eq=False)
class Document:
    """One document of a text.

    Attributes:
        name: what its text is called.
        number: counted from 1 among the documents with content.
        value: plain values; the last of two equal keys counts, merge keys are applied.
        piece: the document's own text; empty for an object that came from a cluster.
        line: how many lines stand before ``piece``; 0 in a stream, whose documents are numbered instead.
    """

    name: str
    number: int
    value: Any
    piece: str = ""
    line: int = 0
    is_stream: bool = False
    has_duplicates: bool = False

    @property
    def place(self) -> Place:
        """The document's root."""
        return Place(self)

    def position(self, span: Span, label: str = "") -> Position:
        """Turn a span of ``piece`` into what people read; ``label`` names the object in a stream."""
        offset = span.offset
        if _NOTHING_MORE.match(self.piece, offset):
            # what is missing at the end is missing behind the last character, not on the next document's line
            offset = len(self.piece.rstrip())
        begin = self.piece.rfind("\n", 0, offset) + 1
        end = self.piece.find("\n", offset)
        line_of_text = self.piece[begin : end if end >= 0 else len(self.piece)].rstrip("\r")
        # a credential may stand on any line of a Secret
        excerpt = "" if _holds_secret(self.piece) else line_of_text
        name = f"document {self.number}{f' ({label})' if label else ''}" if self.is_stream else self.name
        line = self.line + self.piece.count("\n", 0, offset) + 1
        return Position(name, line, offset - begin + 1, excerpt, span.width)


@dataclass(frozen=True, slots=True)
class Place:
    """A value's place in its document: a path of keys and indices."""

    document: Document
    path: Path = ()

    def __truediv__(self, step: str | int) -> Place:
        return Place(self.document, (*self.path, step))

    def at(self, path: Sequence[str | int]) -> Place:
        """Walk several steps down."""
        return Place(self.document, (*self.path, *path))

    def position(self, *, key: bool = False) -> Position:
        """Look up where the value stands, or its key; a missing one stands where its parent does."""
        document = self.document
        if not document.piece:
            return Position(document.name)
        piece, rest, offset = self._piece()
        span = find(piece, rest, key=key)
        return document.position(Span(offset + span.offset, span.width), self._label())

    def error(self, code: Code, message: str, remedy: str = "", *, key: bool = False) -> Diagnostic:
        """Make an error about this place."""
        return Diagnostic(Severity.ERROR, code, message, self.position(key=key), remedy)

    def warning(self, code: Code, message: str, remedy: str = "", *, key: bool = False) -> Diagnostic:
        """Make a warning about this place."""
        return Diagnostic(Severity.WARNING, code, message, self.position(key=key), remedy)

    def duplicates(self) -> Iterator[Diagnostic]:
        """Find the keys below this place that stand twice in one mapping."""
        piece, path, offset = self._piece()
        if not (self.document.has_duplicates or repeats_a_key(piece)):
            return
        if not has_positions(piece):
            yield self.error(Code.DUPLICATE_KEY, "a key stands in a mapping twice, in a text too large to say where")
        for name, first, second in duplicate_keys(piece, path):
            before = self.document.position(Span(offset + first.offset))
            here = self.document.position(Span(offset + second.offset, second.width), self._label())
            message = f'the key "{name}" stands here a second time; the first is in line {before.line}'
            yield Diagnostic(Severity.ERROR, Code.DUPLICATE_KEY, message, here, "keep one of the two")

    def read_otherwise(self) -> Iterator[tuple[str, str, Position]]:
        """Find the scalars below this place that YAML 1.1 reads otherwise; with each, what it reads them as."""
        if self.document.piece.lstrip()[:1] == "{":  # JSON quotes every string
            return
        piece, path, offset = self._piece()
        if not may_hold_1_1(piece):
            return
        for text, span in plain_scalars(piece, path):
            other = read_by_1_1(text)
            if other is not None:
                yield text, other, self.document.position(Span(offset + span.offset, span.width), self._label())

    def _piece(self) -> tuple[str, Path, int]:
        """Give the text to compose, the path in it, and where it begins in the document."""
        document, path = self.document, self.path
        if len(path) > 1 and path[0] == "items" and isinstance(path[1], int) and len(document.piece) > _WORTH_CUTTING:
            cut = cut_item(document.piece, path[1])
            if cut is not None and len(cut[0]) <= LARGEST_PIECE:
                return cut[0], path[2:], cut[1]
        return document.piece, path, 0

    def _label(self) -> str:
        return _label(_object_at(self)) if self.document.is_stream else ""


@dataclass(frozen=True, slots=True)
class Object:
    """A Kubernetes object of the input: its values and its place."""

    value: Mapping[str, Any]
    place: Place
    kind: str
    api_version: str

    @property
    def group(self) -> str:
        """The API group, empty for the core group."""
        return self.api_version.rpartition("/")[0]

    @property
    def label(self) -> str:
        """``Kind/name`` or ``Kind/namespace/name``, for people."""
        return _label(self.value, self.kind)


def read_documents(text: Text) -> tuple[list[Document], list[Diagnostic]]:
    """Read every document of a text; what is no YAML becomes a diagnostic and costs the others nothing."""
    documents, diagnostics = list[Document](), list[Diagnostic]()
    line = position = 0
    for number, found in enumerate(parse(text.content), 1):
        line += text.content.count("\n", position, found.start)
        position = found.start
        before = 0 if text.is_stream else line
        value = None if isinstance(found, Broken) else found.value
        document = Document(
            text.name,
            number,
            value,
            found.piece,
            before,
            text.is_stream,
            not isinstance(found, Broken) and found.has_duplicates,
        )
        if isinstance(found, Broken):
            diagnostics.append(_not_yaml(document, found.reason, Span(found.offset)))
        elif "{{" in found.piece and _has_template(value):
            diagnostics.append(_not_yaml(document, "it holds template actions", Span(found.piece.index("{{"), 2)))
        else:
            documents.append(document)
    return documents, diagnostics


def flatten(document: Document) -> Iterator[Object]:
    """Give the objects of a document: itself, or the items of a List, which may nest.

    The items of a ``PodList`` need not name their own kind. What has neither a kind nor a version is no object and is
    left out; where only one of the two is missing it is the empty text.
    """
    # a stack of its own: Lists in Lists may nest deeper than calls can
    stack = [iter([(document.value, document.place, "", "")])]
    while stack:
        for value, place, kind, version in stack[-1]:
            if not isinstance(value, dict):
                continue
            own_kind, own_version = _text(value.get("kind", kind)), _text(value.get("apiVersion", version))
            if own_kind.endswith("List") and isinstance(value.get("items"), list):
                stack.append(_items(value["items"], place / "items", own_kind.removesuffix("List"), own_version))
                break
            if own_kind or own_version:
                yield Object(value, place, own_kind, own_version)
        else:
            stack.pop()


def _items(items: Iterable[Any], place: Place, kind: str, version: str) -> Iterator[tuple[Any, Place, str, str]]:
    return ((item, place / index, kind, version) for index, item in enumerate(items))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _object_at(place: Place) -> Any:
    """Give the object that a place lies in: the document's, or an item of its List, which may be a List itself."""
    value, path = place.document.value, place.path
    while len(path) > 1 and path[0] == "items" and isinstance(path[1], int) and isinstance(value, dict):
        items = value.get("items")
        if not isinstance(items, list):
            break
        value, path = items[path[1]], path[2:]
    return value


def _label(value: Any, kind: str = "") -> str:
    if not isinstance(value, dict):
        return ""
    metadata = value.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    parts = [value.get("kind", kind), metadata.get("namespace"), metadata.get("name") or metadata.get("generateName")]
    return "/".join(p for p in parts if isinstance(p, str) and p)


@lru_cache(maxsize=1)
def _holds_secret(piece: str) -> bool:
    """Say whether a Secret may be in a text; asked for each mistake in it, and the text may be a whole cluster's."""
    return _HOLDS_SECRET.search(piece) is not None


def _not_yaml(document: Document, reason: str, span: Span) -> Diagnostic:
    position = document.position(span)
    if "{{" in document.piece:
        remedy = "render it first, for example with: helm template . | kuik plan -f -"
        return Diagnostic(
            Severity.ERROR, Code.UNRENDERED_TEMPLATE, f"this is a template, not YAML: {reason}", position, remedy
        )
    return Diagnostic(Severity.ERROR, Code.NOT_YAML, f"this is not YAML: {reason}", position)


def _has_template(value: Any) -> bool:
    """Say whether an unquoted ``{{ x }}`` was read as a mapping whose key is a mapping."""
    stack = [value]
    while stack:
        value = stack.pop()
        if isinstance(value, dict):
            if any(isinstance(k, frozenset) for k in value):
                return True
            stack.extend(value.values())
        elif isinstance(value, list):
            stack.extend(value)
    return False
