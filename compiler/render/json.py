"""Plain values as JSON: for a program, and for a person who looks at what the program gets."""

from __future__ import annotations

import json
from typing import Any

from compiler.terminal import escape

__all__ = ["dump"]


def dump(value: Any) -> str:
    """Write plain values as JSON, two blanks a level, letters as they are, keys in their order, a line feed at the end.

    What would act on a terminal, or be no text in UTF-8, is written as an escape; it reads back the same.
    """
    text = json.dumps(value, indent=2, ensure_ascii=False)
    return f"{escape(text, lambda character: json.dumps(character)[1:-1])}\n"
