"""The plan for people: who reads which host, how often, how long a lap takes; then what changes against another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Final

from compiler.changes import Change, ImagesChange, Mark
from compiler.diff import Diff, Sources
from compiler.duration import format_duration
from compiler.plan import CheckSeries, CopySeries, HostPlan, Operation, Plan
from compiler.render.columns import Cell, lay_out
from compiler.terminal import Style, paint, printable

__all__ = ["render"]

# a list of images longer than that is for -o json or markdown: a table is read at a glance
_IMAGES_SHOWN: Final = 10
_STYLES: Final = {
    Mark.ADDED: Style.ADDED,
    Mark.REMOVED: Style.REMOVED,
    Mark.CHANGED: Style.CHANGED,
    Mark.KEPT: Style.QUIET,
    Mark.COST: None,
}
_HEADINGS: Final = ("HOST", "OPERATION", "EVERY", "OWNERS", "IMAGES", "LAP (best)", "FROM")
_IMAGES_COLUMN: Final = _HEADINGS.index("IMAGES")
_LAP_COLUMN: Final = _HEADINGS.index("LAP (best)")

_Row = tuple[str, ...]


def render(
    plan: Plan,
    difference: Diff | None = None,
    *,
    against: str = "",
    sources: Sources | None = None,
    color: bool = False,
) -> str:
    """Write a plan as a table, and below it what changes.

    Args:
        plan: the new plan.
        difference: how it differs from another plan.
        against: the name of that other plan.
        sources: tells where a change was written.
        color: whether colours are written; the layout is the same.

    Returns:
        Lines, each with its line feed.
    """
    lines = [*_plan(plan, color=color)]
    if difference is not None:
        lines += ["", paint(f"Against {printable(against)}", Style.HEADING, color=color)]
        lines += [*_differences(difference, sources, color=color), printable(difference.summary())]
    return "".join(f"{line}\n" for line in lines)


def _plan(plan: Plan, *, color: bool) -> Iterator[str]:
    if not plan.hosts:
        yield "No registry is configured, and none is read."
    else:
        rows = [row for host in plan.hosts for row in (*_check_rows(host), *_copy_rows(host))]
        yield from _table([_HEADINGS, *rows], color=color)
    if plan.superset:
        yield "Made from templates: a superset of what the cluster runs."


def _table(rows: list[_Row], *, color: bool) -> list[str]:
    if not any(row[_LAP_COLUMN] for row in rows[1:]):
        rows = [row[:_LAP_COLUMN] + row[_LAP_COLUMN + 1 :] for row in rows]
    heading = [Cell(text, Style.HEADING) for text in rows[0]]
    return lay_out([heading, *([Cell(text) for text in row] for row in rows[1:])], right={_IMAGES_COLUMN}, color=color)


def _check_rows(host: HostPlan) -> list[_Row]:
    laps = {lap.owner: lap for lap in host.check.forecast.laps} if host.check.forecast else {}
    owners = []
    for ring in host.check.rings:
        lap = laps.get(ring.owner)
        times = f"{format_duration(lap.expected)} ({format_duration(lap.best_case)})" if lap else ""
        owners.append((_named(ring.owner, suspended=ring.suspended), str(len(ring.images)), times))
    return _series_rows(host, Operation.CHECK, host.check, owners)


def _copy_rows(host: HostPlan) -> list[_Row]:
    drain = ""
    if host.copy.forecast is not None and host.copy.queues:
        time = host.copy.forecast.drain
        drain = "never drains" if time is None else f"drains in {format_duration(time)}"
    owners = []
    for queue in host.copy.queues:
        owners.append((_named(queue.owner, suspended=queue.suspended), str(len(queue.images)), drain))
        # the queues of a host share its windows, so they drain together
        drain = ""
    return _series_rows(host, Operation.COPY, host.copy, owners)


def _series_rows(
    host: HostPlan, operation: Operation, series: CheckSeries | CopySeries, owners: list[tuple[str, str, str]]
) -> list[_Row]:
    origin = series.origin if host.clusters == 1 else f"{series.origin}, for {host.clusters} clusters"
    name = _named(host.host, suspended=host.suspended)
    first, *others = owners or [("-", "", "")]
    return [
        (name, operation.value, format_duration(series.interval), *first, origin),
        *(("", "", "", *owner, "") for owner in others),
    ]


def _named(name: str, *, suspended: bool) -> str:
    return f"{name} (suspended)" if suspended else name


def _differences(difference: Diff, sources: Sources | None, *, color: bool) -> Iterator[str]:
    changes = difference.changes
    rows = [_change_row(change, sources) for change in changes]
    rows += [_line(Mark.KEPT, place, "unchanged, keeps its times") for place in _unchanged(difference)]
    lines = lay_out(rows, color=color)
    for change, line in zip(changes, lines, strict=False):
        yield line
        yield from _images(change, color=color)
    yield from lines[len(changes) :]


def _change_row(change: Change, sources: Sources | None) -> list[Cell]:
    place = " ".join(filter(None, (change.host or "plan", change.series)))
    text = " ".join(filter(None, (change.subject, change.text)))
    return _line(change.mark, place, text, (sources(change) if sources else None) or "")


def _line(mark: Mark, place: str, text: str, source: str = "") -> list[Cell]:
    return [Cell(f"{mark} {place}", _STYLES[mark]), Cell(text), Cell(source, Style.QUIET)]


def _unchanged(difference: Diff) -> Iterator[str]:
    """Give what is unchanged: a host of which both series are by its name alone."""
    for host, series in groupby(difference.unchanged, key=lambda s: s[0]):
        operations = [operation for _, operation in series]
        yield host if len(operations) == len(Operation) else f"{host} {operations[0]}"


def _images(change: Change, *, color: bool) -> Iterator[str]:
    if not isinstance(change, ImagesChange):
        return
    listed = (("+", change.gained, Style.ADDED), ("-", change.lost, Style.REMOVED), ("~", change.moved, Style.CHANGED))
    lines = [paint(f"    {mark} {printable(i)}", style, color=color) for mark, images, style in listed for i in images]
    yield from _cut(lines)


def _cut(lines: list[str]) -> Iterable[str]:
    left = len(lines) - _IMAGES_SHOWN
    # a line that says that one line is missing is no shorter than that line
    return lines if left <= 1 else [*lines[:_IMAGES_SHOWN], f"    … and {left} more images"]
