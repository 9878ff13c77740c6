"""Diagnostics for a program: an editor, or a check of one's own in CI."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from compiler.diagnostics import Diagnostic, Severity
from compiler.terminal import escape

__all__ = ["render"]


def render(diagnostics: Iterable[Diagnostic]) -> str:
    """Write ``{"errors": n, "warnings": n, "diagnostics": […]}``, the diagnostics by file and place.

    ``line`` and ``column`` count from 1 and are absent where the input has none; ``width`` counts characters.
    """
    ordered = sorted(diagnostics, key=lambda d: d.sort_key)
    document = {
        "errors": sum(d.severity is Severity.ERROR for d in ordered),
        "warnings": sum(d.severity is Severity.WARNING for d in ordered),
        "diagnostics": [_document(d) for d in ordered],
    }
    text = json.dumps(document, indent=2, ensure_ascii=False)
    return f"{escape(text, lambda character: json.dumps(character)[1:-1])}\n"


def _document(diagnostic: Diagnostic) -> dict[str, Any]:
    position = diagnostic.position
    document: dict[str, Any] = {
        "severity": diagnostic.severity.value,
        "code": diagnostic.code.value,
        "message": diagnostic.message,
        "file": position.file,
    }
    if position.line:
        document |= {"line": position.line, "column": position.column, "width": position.width}
    if position.excerpt:
        document["excerpt"] = position.excerpt
    if diagnostic.help:
        document["help"] = diagnostic.help
    return document
