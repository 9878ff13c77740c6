"""Shows what comes from the input so that it is read and not obeyed: no markup, no HTML, nobody mentioned.

GitHub's Markdown splits a table's row at every bar, in code too, and links ``@somebody`` and ``#1`` after all else is
done, so that an escape of Markdown doesn't stop it; inside code it leaves them alone.
"""

from __future__ import annotations

import re
from typing import Final

from compiler.terminal import printable

__all__ = ["clip", "code", "prose"]

_LONGEST: Final = 400  # any name that people read is shorter, and no name can fill a comment
_NOT_IN_SPANS: Final = re.compile(r"[`|\\]|^ | $")
_PUNCTUATION: Final = re.compile(r"[!-/:-@\[-`{-~]")
_MARKUP: Final = re.compile(r"[\\`*_\[\]<>&|~$]")
_LINKED: Final = re.compile(r"[@#]")
_NO_WIDTH: Final = "&#8203;"  # ZERO WIDTH SPACE: it ends a mention, a number of an issue, an address


def clip(text: str) -> str:
    """Give a text on one line of at most 400 characters, what doesn't print as an escape; for a block of code."""
    shown = printable(text[: _LONGEST + 1])
    return shown if len(shown) <= _LONGEST else f"{shown[: _LONGEST - 1]}…"


def code(text: str) -> str:
    """Give a name as code for a table's cell; nothing for nothing."""
    shown = clip(text)
    if not shown:
        return ""
    if _NOT_IN_SPANS.search(shown):
        return f"<code>{_PUNCTUATION.sub(_entity, shown)}</code>"
    return f"`{shown}`"


def prose(text: str) -> str:
    """Give a sentence for a table's cell or a paragraph."""
    escaped = _MARKUP.sub(_entity, clip(text))
    # the entities of the line above hold a number sign too, but always behind an ampersand
    return re.sub(rf"(?<!&){_LINKED.pattern}", rf"\g<0>{_NO_WIDTH}", escaped)


def _entity(match: re.Match[str]) -> str:
    return f"&#{ord(match[0])};"
