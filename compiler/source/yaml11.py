"""The plain scalars that kubectl reads as something else than kuik: YAML 1.1 against YAML 1.2."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["may_hold_1_1", "read_by_1_1"]

# what go-yaml v2, the parser behind sigs.k8s.io/yaml, resolves; it leaves numbers to base 60 alone
_BOOLEAN: Final = re.compile(r"yes|Yes|YES|no|No|NO|on|On|ON|off|Off|OFF")
_OCTAL: Final = re.compile(r"[-+]?0[0-7_]+")
_EITHER: Final = re.compile(
    r"(?:^|[\s:,\[{])(?:[yY]es|YES|[nN]o|NO|[oO]n|ON|[oO]ff|OFF|[-+]?0[0-7_]+)(?=[\s:,\]}]|$)", re.MULTILINE
)


def read_by_1_1(plain: str) -> str | None:
    """Say what YAML 1.1 reads a plain scalar as, where YAML 1.2 reads it otherwise; None where they agree."""
    if _BOOLEAN.fullmatch(plain):
        return "true" if plain.lower() in {"yes", "on"} else "false"
    if _OCTAL.fullmatch(plain) and plain.strip("-+0_"):
        return f"the octal number {int(plain.replace('_', ''), 8)}"
    return None


def may_hold_1_1(text: str) -> bool:
    """Say whether a look at every scalar of a text is worth its time."""
    return _EITHER.search(text) is not None
