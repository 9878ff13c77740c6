"""What differs between two plans, and what each difference does to the windows.

Hosts are compared by name and owners by ``Kind/name``; both stand in code-point order in every plan, so an order means
something only inside a ring or a queue. Plans are frozen values: equal parts are found by one comparison, and only the
rings and queues that differ are looked into.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

from compiler.changes import (
    Change,
    Cost,
    DefaultChanges,
    Document,
    RegistryChange,
    ResourceChange,
    SupersetChanges,
    compare_costs,
    compare_owners,
    compare_paces,
    summarize,
)
from compiler.plan import API_VERSION, Operation, Plan

__all__ = ["Diff", "Sources", "diff"]

KIND: Final = "WindowPlanDiff"

Sources: TypeAlias = Callable[[Change], str | None]
"""Where the text stands that a change comes from, such as ``config.yaml:7``; None where that isn't known.

``Change.causes`` says what to look for: paths in the configuration, or ``Kind/name`` of a resource.
"""


@dataclass(frozen=True, slots=True)
class Diff:
    """The differences, each group in the order of the plans: by host, Check before Copy, by owner.

    Attributes:
        registries: what changes for registries.
        resources: what changes for resources.
        costs: what that costs. It follows from the rest, so it doesn't count for ``is_empty``.
        unchanged: the series whose pace, reach, rings and queues are the same.
    """

    registries: tuple[RegistryChange, ...] = ()
    resources: tuple[ResourceChange, ...] = ()
    costs: tuple[Cost, ...] = ()
    unchanged: tuple[tuple[str, Operation], ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether both plans are the same but for forecasts."""
        return not self.registries and not self.resources

    @property
    def changes(self) -> tuple[Change, ...]:
        """Everything that differs, in the order in which a reviewer asks: registries, resources, costs."""
        return (*self.registries, *self.resources, *self.costs)

    def summary(self) -> str:
        """Say in one sentence what happens, and the most that a registry is asked where that changes."""
        return summarize(self.changes)

    def to_document(self) -> Document:
        """Give the differences as plain values, keys in the order in which they are read."""
        return {
            "apiVersion": API_VERSION,
            "kind": KIND,
            "summary": self.summary(),
            "registries": [c.to_document() for c in self.registries],
            "resources": [c.to_document() for c in self.resources],
            "costs": [c.to_document() for c in self.costs],
            "unchanged": [{"host": host, "operation": operation.value} for host, operation in self.unchanged],
        }


def diff(old: Plan, new: Plan) -> Diff:
    """Compare two plans.

    Args:
        old: the plan in force, or the one that was committed.
        new: the plan that takes its place.

    Returns:
        What changes. Laps and drains are compared where both plans have a forecast.
    """
    registries: list[RegistryChange] = []
    resources: list[ResourceChange] = []
    costs: list[Cost] = []
    if old.superset != new.superset:
        registries.append(SupersetChanges("", new.superset))
    if old.default != new.default:
        registries.append(DefaultChanges("", old.default, new.default))
    before, after = ({h.host: h for h in p.hosts} for p in (old, new))
    for host in sorted(before.keys() | after.keys()):
        was, now = before.get(host), after.get(host)
        registries.extend(compare_paces(was, now))
        resources.extend(compare_owners(host, was, now))
        costs.extend(compare_costs(was, now))
    unchanged = tuple(_unchanged(before.keys() & after.keys(), [*registries, *resources]))
    return Diff(tuple(registries), tuple(resources), tuple(costs), unchanged)


def _unchanged(hosts: set[str], changes: list[RegistryChange | ResourceChange]) -> Iterator[tuple[str, Operation]]:
    touched = {(c.host, c.series) for c in changes}
    for host in sorted(hosts):
        # a change of no series in particular is one of both
        if (host, None) not in touched:
            yield from ((host, operation) for operation in Operation if (host, operation) not in touched)
