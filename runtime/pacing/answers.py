"""The responses of a host that somebody can still use without asking again (S1 to S6)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from compiler.duration import Nanoseconds
from runtime.pacing.requests import Key
from runtime.pacing.values import Response

__all__ = ["Answer", "Answers"]


class Answer:
    """A response that is kept.

    Attributes:
        asked: when the window opened that asked (S2).
        waiting: how many ring entries may still use it; at 0 it is dropped (S6).
    """

    __slots__ = ("asked", "response", "waiting")

    def __init__(self, response: Response, asked: Nanoseconds, waiting: int) -> None:
        self.response = response
        self.asked = asked
        self.waiting = waiting


class Answers:
    """Responses by request key, for as long as an entry of a ring waits for one.

    An answer is born waited for by every entry of its key but the one that asked, and loses one with each that uses it
    or goes. So it is never dropped while somebody could use it. An entry that can't use it, because its owner came to
    the image in the same window, is counted too: it asks by itself at its next visit, and that answer replaces this
    one. So none outlives a lap, and a host that shares nothing keeps nothing.
    """

    __slots__ = ("kept", "wanted")

    def __init__(self) -> None:
        self.wanted = Counter[Key]()
        self.kept = dict[Key, Answer]()

    def keep(self, key: Key, response: Response, asked: Nanoseconds, *, by_entry: bool) -> None:
        """Keep a response instead of the one before it, if anybody waits for it.

        Args:
            key: what was asked.
            response: what came back.
            asked: the opening of the window.
            by_entry: whether the entry that asked is still in its ring; it has its answer.
        """
        waiting = self.wanted.get(key, 0) - by_entry
        if waiting > 0:
            self.kept[key] = Answer(response, asked, waiting)
        else:
            self.kept.pop(key, None)

    def use(self, key: Key, answer: Answer) -> None:
        """Note that an entry has used an answer."""
        answer.waiting -= 1
        if not answer.waiting:
            del self.kept[key]

    def add(self, keys: Iterable[Key], since: Nanoseconds) -> None:
        """Add entries that have never been visited, of a lap that started at ``since``."""
        keys = tuple(keys)
        self.wanted.update(keys)
        if self.kept:
            for key in keys:
                answer = self.kept.get(key)
                if answer is not None and answer.asked > since:
                    answer.waiting += 1

    def remove(self, entries: Iterable[tuple[Key, Nanoseconds]]) -> None:
        """Remove entries, each given with the time that an answer must be newer than for it."""
        wanted = self.wanted
        for key, since in entries:
            answer = self.kept.get(key)
            if answer is not None and answer.asked > since:
                self.use(key, answer)
            wanted[key] -= 1
            if not wanted[key]:
                del wanted[key]
                self.kept.pop(key, None)
