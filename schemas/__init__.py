"""The shapes of everything that kuik reads and writes: JSON Schemas, and CustomResourceDefinitions made from them.

The JSON Schemas are the one source. They travel in the wheel, so that ``kuik schema`` and ``kuik crds`` work anywhere,
and the compiler holds its input against the same files that an editor uses. The CustomResourceDefinitions are
computed from them; the files in ``crds/`` are what comes out, committed for those who apply them with kubectl, and
a test keeps the two equal.

Custom formats (``go-duration``, ``image-prefix``, …) name rules that a regular expression can't say whole.
A ``pattern`` beside a ``format`` lets through whatever the format allows; it is there for editors and the API server.
Annotations: ``x-not-built`` and ``x-unsupported`` stand at what is known and refused, and hold the words that say why;
``x-in-place-of`` names the field that such a one was written instead of; ``x-conditions`` lists the conditions of a
status with their reasons; ``x-windows`` says what a change of a plan does to the windows.
"""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import Any, Final

from schemas.definitions import Document, definition

__all__ = ["KINDS", "NAMES", "crds", "load"]

KINDS: Final = ("imagemonitor", "imagemirror", "imagealternative")
NAMES: Final = ("config", *KINDS, "plan", "plandiff")

# by the schema that refers to them, as in {"$ref": "plan.schema.json"}
_EMBEDDED: Final = {"plandiff": ("plan",)}


@cache
def load(name: str) -> dict[str, Any]:
    """Read one JSON Schema (draft 2020-12); each name is read once, and its readers share the value: don't change it.

    A schema that refers to another one carries it in its ``$defs``, as JSON Schema bundles them (core, 9.3): its
    ``$id`` is what the reference resolves to, so a validator needs no other file.

    Raises:
        KeyError: the name is none of ``NAMES``.
    """
    if name not in NAMES:
        raise KeyError(name)
    text = resources.files(__name__).joinpath(f"{name}.schema.json").read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text)
    if name in _EMBEDDED:
        schema["$defs"] |= {other: load(other) for other in _EMBEDDED[name]}
    return schema


def crds() -> list[Document]:
    """Compute the CustomResourceDefinitions (apiextensions.k8s.io/v1) of the three kinds, in the order of ``KINDS``."""
    return [definition(load(name)) for name in KINDS]
