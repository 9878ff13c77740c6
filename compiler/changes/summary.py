"""One sentence for all changes of a plan: ``1 series restarts, 1 ring joins; at most 2880 windows a day on …``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from compiler.changes.change import Change, plural
from compiler.changes.cost import DrainChanges, LapChanges, WindowsChange
from compiler.changes.registry import (
    DefaultChanges,
    HostAppears,
    HostGoes,
    OriginMoves,
    SeriesRestarts,
    SettingChanges,
    SupersetChanges,
    TimeoutChanges,
)
from compiler.changes.resource import (
    AccessChanges,
    ImagesChange,
    OrderChanges,
    OwnerJoins,
    OwnerLeaves,
    OwnerSuspends,
)
from compiler.plan import Operation

__all__ = ["summarize"]

# with more registries than that the sentence would be no summary any more
_CEILINGS_SHOWN: Final = 3

_Test = Callable[[Change], bool]


def _is(*types: type[Change], of: Operation | None = None) -> _Test:
    return lambda change: isinstance(change, types) and (of is None or change.series is of)


def _lap(sign: int) -> _Test:
    return lambda change: isinstance(change, LapChanges) and change.trend * sign > 0


_OF_READERS: Final = (ImagesChange, OrderChanges, OwnerSuspends, AccessChanges)
_OF_SETTINGS: Final = (SettingChanges, TimeoutChanges, OriginMoves, DefaultChanges, SupersetChanges)

# one, several, which changes; in the order of the sentence
_PHRASES: Final[tuple[tuple[str, str, _Test], ...]] = (
    ("series restarts", "series restart", _is(SeriesRestarts)),
    ("registry appears", "registries appear", _is(HostAppears)),
    ("registry goes", "registries go", _is(HostGoes)),
    ("setting changes", "settings change", _is(*_OF_SETTINGS)),
    ("ring joins", "rings join", _is(OwnerJoins, of=Operation.CHECK)),
    ("ring leaves", "rings leave", _is(OwnerLeaves, of=Operation.CHECK)),
    ("ring changes", "rings change", _is(*_OF_READERS, of=Operation.CHECK)),
    ("queue joins", "queues join", _is(OwnerJoins, of=Operation.COPY)),
    ("queue leaves", "queues leave", _is(OwnerLeaves, of=Operation.COPY)),
    ("queue changes", "queues change", _is(*_OF_READERS, of=Operation.COPY)),
    ("lap gets shorter", "laps get shorter", _lap(-1)),
    ("lap gets longer", "laps get longer", _lap(1)),
    ("drain changes", "drains change", _is(DrainChanges)),
)


def summarize(changes: Sequence[Change]) -> str:
    """Count the changes by what they mean, and name the new ceiling of the registries whose ceiling changes."""
    counts = ((_count(changes, test), one, several) for one, several, test in _PHRASES)
    parts = [f"{count} {one if count == 1 else several}" for count, one, several in counts if count]
    ceilings = _ceilings([c for c in changes if isinstance(c, WindowsChange)])
    return f"{'; '.join(filter(None, (', '.join(parts), ceilings))) or 'Nothing changes'}."


def _count(changes: Sequence[Change], test: _Test) -> int:
    """Count what is meant, not what is said of it: a ring that gains images and is suspended is one ring."""
    meant = [c for c in changes if test(c)]
    readers = {(c.host, c.series, c.subject) for c in meant if c.subject}
    return len(readers) + sum(not c.subject for c in meant)


def _ceilings(changes: Sequence[WindowsChange]) -> str:
    shown = [f"{plural(c.after, 'window')} a day on {c.host} (was {c.before})" for c in changes[:_CEILINGS_SHOWN]]
    left = len(changes) - len(shown)
    more = [f"and other numbers on {left} more"] if left else []
    return f"at most {', '.join([*shown, *more])}" if shown else ""
