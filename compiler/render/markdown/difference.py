"""The changes: for registries, for resources, what they cost, and what stays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from compiler.changes import Change, ImagesChange, OwnerJoins, OwnerLeaves, ResourceChange
from compiler.diff import Diff, Sources
from compiler.plan import Operation
from compiler.render.markdown.blocks import Block, fence, fold, section, table
from compiler.render.markdown.names import clip, code, prose

__all__ = ["difference_blocks"]


def difference_blocks(difference: Diff, sources: Sources | None) -> Iterator[Block]:
    """Give the blocks in the order of a reviewer's questions."""
    yield section("What changes for a registry", _table(("registry", "operation"), difference.registries, sources))
    columns = ("registry", "operation", "resource")
    yield section("What changes for a resource", _table(columns, difference.resources, sources))
    images = [*_images(difference.resources)]
    if images:
        yield fold("Images that come and go", fence("diff", images))
    yield section("What it costs", _table(columns, difference.costs, None))
    if difference.unchanged:
        yield fold("Unchanged, keep their times", table(("registry", "operation"), _unchanged(difference)))


def _table(columns: tuple[str, ...], changes: Sequence[Change], sources: Sources | None) -> Block:
    rows = []
    for change in changes:
        places = (code(change.host) or "the plan", change.series or "both", code(change.subject))
        where = (code(sources(change) or ""),) if sources else ()
        rows.append((*places[: len(columns)], prose(change.text), *where))
    return table((*columns, "change", *(("where",) if sources else ())), rows)


def _images(changes: Iterable[ResourceChange]) -> Iterator[str]:
    for change in changes:
        listed = [*_listed(change)]
        if listed:
            yield f"@@ {clip(f'{change.owner}, {change.operation} on {change.host}')} @@"
            yield from (f"{sign} {clip(image)}" for sign, images in listed for image in images)


def _listed(change: ResourceChange) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Give the images by their sign in a diff; GitHub colours lines with an exclamation mark as changed."""
    match change:
        case OwnerJoins():
            yield "+", change.images
        case OwnerLeaves():
            yield "-", change.images
        case ImagesChange():
            lists = (("+", change.gained), ("-", change.lost), ("!", change.moved))
            yield from ((sign, images) for sign, images in lists if images)


def _unchanged(difference: Diff) -> Iterator[tuple[str, str]]:
    for host, series in groupby(difference.unchanged, key=lambda s: s[0]):
        operations = [operation for _, operation in series]
        yield code(host), "both" if len(operations) == len(Operation) else operations[0]
