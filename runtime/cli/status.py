"""``kuik status``: where the windows, rings and queues of a state folder stand."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import click

from compiler.render import yaml
from compiler.render.columns import Cell, lay_out
from compiler.terminal import Style
from runtime.cli.options import cluster_options, colored
from runtime.cluster.state import read_statuses
from runtime.overview import Document, overview, read_moment
from runtime.pace import is_led, read_pace

__all__ = ["command"]

_AGAIN_AFTER: Final = 1.0  # seconds
_CLEAR: Final = "\x1b[H\x1b[2J\x1b[3J"
_CLOCK: Final = "%H:%M:%S"


@click.command("status")
@click.option(
    "--state",
    metavar="DIR",
    type=click.Path(exists=True, file_okay=False),
    help="The state folder of kuik run; without it a cluster is asked.",
)
@cluster_options
@click.option("--watch", is_flag=True, help="Show it again every second.")
@click.option(
    "-o", "--output", type=click.Choice(["table", "json", "yaml"]), default="table", show_default=True, help="The form."
)
def command(state: str | None, output: str, kubeconfig: str | None, context: str | None, *, watch: bool) -> int:
    """Show hosts with their next windows, rings with the progress of their laps, queues, and what is wrong.

    With --state it reads what kuik run has written there, and asks nobody.
    In a cluster the resources' status says it all but for the windows, which the leader alone knows.

    \b
    Example:
      kuik status --state /var/lib/kuik --watch
      kuik status --context production
    """
    if state is not None and (kubeconfig or context):
        raise click.UsageError("--state is of this machine, --kubeconfig and --context name a cluster")
    while True:
        document = _look(Path(state)) if state is not None else _look_at_cluster(kubeconfig, context)
        text = _render(document, output, color=colored(sys.stdout))
        if watch and sys.stdout.isatty():
            text = _CLEAR + text
        click.echo(text, nl=False)
        if not watch:
            return 0
        sys.stdout.flush()
        time.sleep(_AGAIN_AFTER)


def _look(folder: Path) -> Document:
    statuses, _ = read_statuses(folder)
    return overview(read_pace(folder), statuses, datetime.now(UTC), is_led=is_led(folder))


def _look_at_cluster(kubeconfig: str | None, context: str | None) -> Document:
    from runtime.cli.clusters import statuses_of_cluster

    return overview(None, statuses_of_cluster(kubeconfig, context), datetime.now(UTC), is_led=True)


def _render(document: Document, output: str, *, color: bool) -> str:
    match output:
        case "json":
            return json.dumps(document) + "\n"
        case "yaml":
            return f"---\n{yaml.dump(document)}"
        case _:
            return _table(document, color=color)


def _table(document: Document, *, color: bool) -> str:
    parts = [
        *_section(("HOST", "OPERATION", "EVERY", "NEXT WINDOWS"), map(_host, document["hosts"]), (), color=color),
        *_section(
            ("RING", "HOST", "LAP", "IMAGES", "LAST VISITED", "LAST LAP"),
            map(_ring, document["rings"]),
            (2, 3),
            color=color,
        ),
        *_section(("QUEUE", "HOST", "PENDING", "OF"), map(_queue, document["queues"]), (2, 3), color=color),
        *_section(("WRONG", "IMAGE", "REASON", "SINCE", "FOR"), map(_anomaly, document["anomalies"]), (), color=color),
        *_section(("NOT READY", "REASON", "MESSAGE"), map(_not_ready, document["notReady"]), (), color=color),
    ]
    if not document["running"]:
        parts.insert(0, "No process runs on this state folder.\n")
    return "\n".join(parts)


def _section(heading: Sequence[str], rows: Iterator[list[Cell]], right: Sequence[int], *, color: bool) -> Iterator[str]:
    cells = [*rows]
    if cells:
        lines = lay_out([[Cell(name, Style.HEADING) for name in heading], *cells], right=right, color=color)
        yield "\n".join(lines) + "\n"


def _host(host: Document) -> list[Cell]:
    if host.get("suspended"):
        windows = Cell("suspended", Style.QUIET)
    elif "heldUntil" in host:
        windows = Cell(f"held until {_clock(host['heldUntil'])}", Style.WARNING)
    else:
        windows = Cell("  ".join(_clock(w) for w in host["next"]) or "-")
    return [Cell(str(host["registry"])), Cell(host["operation"]), Cell(host["interval"]), windows]


def _ring(ring: Document) -> list[Cell]:
    images, checked = ring.get("images", 0), ring.get("checked", 0)
    return [
        *_texts(ring["owner"], ring.get("registry", "")),
        Cell(f"{100 * checked // images if images else 0}%"),
        *_texts(f"{checked}/{images}", ring.get("cursor", "-"), ring.get("cycleDuration", "-")),
    ]


def _queue(queue: Document) -> list[Cell]:
    pending = queue.get("pending", 0)
    style = Style.WARNING if pending else None
    return [*_texts(queue.get("owner"), queue.get("registry")), Cell(str(pending), style), Cell(str(queue["desired"]))]


def _anomaly(anomaly: Document) -> list[Cell]:
    since = _clock(anomaly["since"], dated=True) if "since" in anomaly else "-"
    return [
        Cell(anomaly["kind"], Style.ERROR),
        *_texts(anomaly.get("image"), anomaly["reason"], since, anomaly["owner"]),
    ]


def _not_ready(line: Document) -> list[Cell]:
    return [Cell(line["owner"], Style.WARNING), *_texts(line["reason"], line["message"])]


def _texts(*values: Any) -> list[Cell]:
    return [Cell(str(value)) for value in values]


def _clock(text: str, *, dated: bool = False) -> str:
    """Write a time as the clock on the wall shows it."""
    moment = read_moment(text)
    if moment is None:
        return "-"
    local = moment.astimezone()
    return f"{local:%Y-%m-%d {_CLOCK}}" if dated else f"{local:{_CLOCK}}"
