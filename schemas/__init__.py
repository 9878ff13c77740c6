"""The shapes of everything that kuik reads and writes: JSON Schemas, and CustomResourceDefinitions made from them.

The JSON Schemas are the one source. They travel in the wheel, so that ``kuik schema`` and ``kuik crds`` work anywhere,
and the compiler holds its input against the same files that an editor uses. The CustomResourceDefinitions are
computed from them; the files in ``crds/`` are what comes out, committed for those who apply them with kubectl, and
a test keeps the two equal.

Custom formats (``go-duration``, ``image-prefix``, …) name rules that a regular expression can't say whole.
A ``pattern`` beside a ``format`` lets through whatever the format allows; it is there for editors and the API server.
Annotations: ``x-not-built`` and ``x-unsupported`` stand at what is known and refused, and hold the words that say why;
``x-conditions`` lists the conditions of a status with their reasons.
"""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import Any, Final

from schemas.definitions import Document, definition

__all__ = ["KINDS", "NAMES", "crds", "load"]

KINDS: Final = ("imagemonitor", "imagemirror", "imagealternative")
NAMES: Final = ("config", *KINDS, "plan")


@cache
def load(name: str) -> dict[str, Any]:
    """Read one JSON Schema (draft 2020-12); each name is read once, and its readers share the value: don't change it.

    Raises:
        KeyError: the name is none of ``NAMES``.
    """
    if name not in NAMES:
        raise KeyError(name)
    text = resources.files(__name__).joinpath(f"{name}.schema.json").read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


def crds() -> list[Document]:
    """Compute the CustomResourceDefinitions (apiextensions.k8s.io/v1) of the three kinds, in the order of ``KINDS``."""
    return [definition(load(name)) for name in KINDS]
