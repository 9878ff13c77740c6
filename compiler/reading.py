"""Reads the documents of kuik's own that stand alone: a configuration, a plan."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from compiler.bounds import DEEPEST
from compiler.checks import election as election_checks
from compiler.checks import hosts as host_checks
from compiler.config import Config, build_config
from compiler.diagnostics import Code, Diagnostic
from compiler.plan import Plan
from compiler.plan_document import from_document
from compiler.shape import check_shape
from compiler.source import Document, Text, read_documents

__all__ = ["drop_nulls", "read_config", "read_plan"]


def read_config(text: Text) -> tuple[Config | None, list[Diagnostic]]:
    """Read a configuration; None when it has errors. An empty file is a valid one."""
    documents, found = read_documents(text)
    if len(documents) > 1:
        second = documents[1].place
        found.append(second.error(Code.INVALID_VALUE, "a configuration is one document; this is a second one"))
    if found:
        return None, found
    document = documents[0] if documents else Document(text.name, 1, {}, is_stream=text.is_stream)
    if isinstance(document.value, dict) and isinstance(kind := document.value.get("kind"), str):
        return None, [
            (document.place / "kind").error(
                Code.INVALID_VALUE, f"this is a manifest ({kind}), not a configuration", "name it with -f"
            )
        ]
    document = replace(document, value=drop_nulls(document.value))
    found += check_shape(document.value, "config", document.place)
    found += host_checks.one_spelling_a_host(document)
    if not found:
        found += election_checks.times_leave_one_leader(document)
    if found:
        return None, found
    config = build_config(document)
    found += host_checks.intervals_can_be_written(config)
    return (None, found) if found else (config, [])


def read_plan(text: Text) -> tuple[Plan | None, list[Diagnostic]]:
    """Read a plan that was printed before, as YAML or JSON."""
    documents, found = read_documents(text)
    if len(documents) != 1 and not found:
        # nothing is nowhere; of several it is the second one that is too much
        place = documents[1].place if documents else Document(text.name, 1, None, is_stream=text.is_stream).place
        found.append(place.error(Code.INVALID_VALUE, f"a plan is one document; here are {len(documents)}"))
    if not found:
        found += check_shape(documents[0].value, "plan", documents[0].place)
    return (None, found) if found else (from_document(documents[0].value), [])


def drop_nulls(value: Any, levels: int = DEEPEST) -> Any:
    """Drop the keys without a value, as the API server does: they mean the same as no key.

    What is nested deeper than so many levels stays as it is; its shape is refused.
    """
    if levels and isinstance(value, dict):
        return {k: drop_nulls(v, levels - 1) for k, v in value.items() if v is not None}
    return [drop_nulls(v, levels - 1) for v in value] if levels and isinstance(value, list) else value
