"""What every change of a plan has: a place, a name, a sign, a sentence, and the places that it may come from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar

from compiler.plan import Operation

__all__ = ["Change", "Document", "Mark", "plural"]

Document = dict[str, Any]


class Mark(StrEnum):
    """The sign in front of a line, as in a diff; a blank stands before a consequence, which nobody wrote."""

    ADDED = "+"
    REMOVED = "-"
    CHANGED = "~"
    KEPT = "="
    COST = " "


@dataclass(frozen=True, slots=True)
class Change(ABC):
    """One difference between two plans.

    Attributes:
        host: the registry host; empty where the plan as a whole is meant.
        kind: the name of the change in documents, which never changes.
        mark: its sign in front of a line.
    """

    host: str
    kind: ClassVar[str]
    mark: ClassVar[Mark] = Mark.CHANGED

    @property
    def series(self) -> Operation | None:
        """The operation whose series is meant, None where both are."""
        return None

    @property
    def subject(self) -> str:
        """``Kind/name`` of the resource that the change is about, empty where it is about the registry itself."""
        return ""

    @property
    def text(self) -> str:
        """What changes and what follows from it: half a sentence behind the host or the ``subject``."""
        return self._text()

    @property
    def causes(self) -> tuple[str, ...]:
        """The places that the change may come from, most likely first: paths in the configuration, or ``Kind/name``."""
        return self._causes()

    def to_document(self) -> Document:
        """Give the change as plain values: what it is, where, the facts, and the sentence."""
        document: Document = {"change": self.kind}
        if self.host:
            document["host"] = self.host
        if self.series is not None:
            document["operation"] = self.series.value
        if self.subject:
            document["owner"] = self.subject
        return {**document, **self._facts(), "reason": self.text}

    @abstractmethod
    def _text(self) -> str: ...

    def _causes(self) -> tuple[str, ...]:
        return (self.subject,) if self.subject else ()

    def _facts(self) -> Document:
        return {}


def plural(count: int, noun: str) -> str:
    """Write a number of things: ``1 image``, ``2 images``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
