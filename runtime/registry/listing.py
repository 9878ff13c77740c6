"""Lists of tags: one page, and where the next one is."""

from __future__ import annotations

import json
import re
from typing import Final
from urllib.parse import urljoin

from runtime.registry.errors import unreachable
from runtime.registry.limits import Limits
from runtime.registry.verdict import Cause
from runtime.registry.wire import Answer

__all__ = ["next_page", "read_tags"]

_LINK: Final = re.compile(r'<([^>]*)>((?:\s*;\s*[a-zA-Z*]+\s*=\s*(?:"[^"]*"|[^\s",;]+))*)')
_NEXT: Final = re.compile(r';\s*rel\s*=\s*(?:next(?=[\s,;]|$)|"(?:[^"]*\s)?next(?:\s[^"]*)?")', re.IGNORECASE)


def read_tags(body: bytes, limits: Limits) -> list[str]:
    """Read a page; a repository without tags may have null in their place.

    Raises:
        RequestFailed: it is no page of tags.
    """
    try:
        document = json.loads(body)
        tags = document["tags"] or []
    except (ValueError, KeyError, TypeError, RecursionError):
        raise unreachable(Cause.BROKEN, "the list of tags cannot be read", limits) from None
    if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
        raise unreachable(Cause.BROKEN, "the list of tags is not a list of names", limits)
    return tags


def next_page(answer: Answer) -> str | None:
    """Give the absolute URL behind ``Link: <…>; rel="next"`` (RFC 8288), None on the last page.

    Raises:
        RequestFailed: the page points at itself.
    """
    for header in answer.all_headers("link"):
        for match in _LINK.finditer(header):
            if _NEXT.search(match[2]):
                url: str = urljoin(answer.url, match[1])
                if url == answer.url:
                    raise unreachable(Cause.BROKEN, "a page of the list of tags points at itself", answer.limits)
                return url
    return None
