"""``kuik simulate``: the real engine in virtual time."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import click

from compiler.compilation import Compilation
from compiler.diagnostics import Code, Diagnostic
from compiler.duration import Nanoseconds, format_duration
from compiler.render.columns import Cell, lay_out
from compiler.source import Document, Text, read_documents
from compiler.terminal import Style
from runtime.cli.durations import GoDuration
from runtime.cli.options import Inputs, colored, compile_inputs, count, input_options, report
from runtime.files import read_file
from runtime.pacing import Outcome
from runtime.simulation import (
    Entry,
    InvalidScript,
    Line,
    Simulation,
    Situation,
    Summary,
    parse_script,
    situation_of,
    to_document,
)

__all__ = ["command"]

_PROGRESS_EVERY: Final = 0.1  # seconds


@click.command("simulate")
@input_options
@click.option("--for", "duration", type=GoDuration(), required=True, metavar="DURATION", help="How long, such as 24h.")
@click.option("--script", metavar="FILE", help="What happens meanwhile: a YAML list, see docs/simulate.md.")
@click.option(
    "-o", "--output", type=click.Choice(["table", "jsonl"]), default="table", show_default=True, help="The form."
)
def command(
    config: str | None,
    paths: tuple[str, ...],
    exclude: tuple[str, ...],
    duration: Nanoseconds,
    script: str | None,
    output: str,
) -> int:
    """Run the engine in virtual time: every window with -o jsonl, or a summary.

    Nothing is read from any registry. Reads take no time and find what they look for, unless a script says otherwise.

    \b
    Examples:
      kuik simulate -c config.yaml -f manifests/ --for 168h
      kuik simulate -c config.yaml -f manifests/ --for 2h --script outage.yaml -o jsonl
    """
    inputs = Inputs(config, paths, exclude)
    compilation = compile_inputs(inputs)
    entries, found = _read_script(script, compilation)
    report(tuple(sorted((*compilation.diagnostics, *found), key=lambda d: d.sort_key)))
    if compilation.plan is None or entries is None:
        click.echo(f"no simulation: {count((*compilation.diagnostics, *found))}", err=True)
        return 1
    situation = situation_of(compilation.model, compilation.plan)
    simulation = Simulation(situation, entries, _Reloader(inputs, Path(script or ".").parent))
    for line in _shown(simulation.run(duration), duration):
        if output == "jsonl":
            sys.stdout.write(f"{json.dumps(to_document(line), ensure_ascii=False)}\n")
    if output == "table":
        sys.stdout.write(_table(simulation.summary(), duration, color=colored(sys.stdout)))
    return 0


def _read_script(path: str | None, compilation: Compilation) -> tuple[tuple[Entry, ...] | None, list[Diagnostic]]:
    """Read a script; None when it is wrong."""
    if path is None:
        return (), []
    read = read_file(path)
    if not isinstance(read, Text):
        return None, [read]
    documents, found = read_documents(read)
    if found:
        return None, found
    root = documents[0] if documents else Document(read.name, 1, None)
    try:
        return parse_script(root.value, compilation.model.config.insecure), []
    except InvalidScript as error:
        place = root.place / error.index if isinstance(root.value, list) else root.place
        return None, [place.error(Code.INVALID_SCRIPT, str(error))]


@dataclass(frozen=True, slots=True)
class _Reloader:
    """Compiles what a script names; its paths are relative to the script.

    Attributes:
        inputs: what the simulation began with.
        folder: of the script.
    """

    inputs: Inputs
    folder: Path

    def __call__(self, config: str | None, resources: tuple[str, ...] | None) -> Situation | None:
        """Compile; None, told on standard error, for what is refused."""
        inputs = self.inputs
        if config is not None:
            inputs = replace(inputs, config=str(self.folder / config))
        if resources is not None:
            inputs = replace(inputs, paths=tuple(str(self.folder / r) for r in resources), exclude=())
        compilation = compile_inputs(inputs)
        if compilation.plan is None:
            report(compilation.diagnostics)
            click.echo("refused; the simulation goes on with the last good one", err=True)
            return None
        return situation_of(compilation.model, compilation.plan)


def _shown(lines: Iterator[Line], duration: Nanoseconds) -> Iterator[Line]:
    """Show how far a long simulation is, on a terminal only."""
    if not sys.stderr.isatty():
        yield from lines
        return
    with click.progressbar(length=max(duration, 1), label="simulating", file=sys.stderr) as bar:
        due = time.monotonic() + _PROGRESS_EVERY
        for line in lines:
            yield line
            if (now := time.monotonic()) >= due:
                bar.update(line.t - bar.pos)
                due = now + _PROGRESS_EVERY
        bar.update(duration - bar.pos)


def _table(summary: Summary, duration: Nanoseconds, *, color: bool) -> str:
    """Write windows by outcome, laps beside their best case, and queues."""
    outcomes = [*Outcome]
    windows = [
        [s.host, s.operation.value, _or_dash(s.interval), *(str(s.windows.get(o, 0)) for o in outcomes)]
        for s in summary.series
    ]
    laps = [
        [r.host, r.owner, str(r.images), str(r.laps), _or_dash(r.last), _or_dash(r.best_case), _ratio(r.ratio)]
        for r in summary.rings
    ]
    queues = [
        [q.host, q.owner, str(q.copied), str(q.pending), str(q.failed), _or_dash(q.drained)] for q in summary.queues
    ]
    parts = [
        _section(
            ["HOST", "OPERATION", "EVERY", *(o.value.upper() for o in outcomes)], windows, range(3, 8), color=color
        ),
        _section(["HOST", "RING OF", "IMAGES", "LAPS", "LAST", "BEST", "RATIO"], laps, (2, 3, 6), color=color),
        _section(["HOST", "QUEUE OF", "COPIED", "PENDING", "FAILED", "DRAINED AT"], queues, (2, 3, 4), color=color),
    ]
    return "\n".join(part for part in parts if part) + f"{format_duration(duration)} simulated.\n"


def _section(heading: list[str], rows: list[list[str]], right: Collection[int], *, color: bool) -> str:
    if not rows:
        return ""
    head = [Cell(h, Style.HEADING) for h in heading]
    body = [[Cell(text) for text in row] for row in rows]
    return "".join(f"{line}\n" for line in lay_out([head, *body], right=right, color=color))


def _or_dash(duration: Nanoseconds | None) -> str:
    return "-" if duration is None else format_duration(duration)


def _ratio(ratio: float | None) -> str:
    return "-" if ratio is None else f"{ratio:.3f}"
