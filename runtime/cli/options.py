"""Options that commands share, and what becomes of them."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TextIO, TypeVar

import click

from compiler.changes import plural
from compiler.compilation import Compilation, compile_plan
from compiler.diagnostics import Diagnostic
from compiler.gathering import Counts
from compiler.render import text
from compiler.source import Text
from runtime.files import STDIN, read_file, read_files

__all__ = ["Inputs", "cluster_options", "colored", "compile_inputs", "count", "counted", "input_options", "report"]

_F = TypeVar("_F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Inputs:
    """What -c, -f and --exclude say, or --cluster instead of the latter two."""

    config: str | None
    paths: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    cluster: bool = False
    kubeconfig: str | None = None
    context: str | None = None


def input_options(command: _F) -> _F:
    """Add -c, -f and --exclude to a command, which gets them as ``config``, ``paths`` and ``exclude``."""
    for option in reversed(
        (
            click.option(
                "-c",
                "--config",
                metavar="FILE",
                help="The configuration. Without it, the defaults hold for every host.",
            ),
            click.option(
                "-f",
                "--filename",
                "paths",
                metavar="PATH",
                multiple=True,
                help="A file, a folder with all below it, or - for standard input: resources, workloads. Repeatable.",
            ),
            click.option(
                "--exclude",
                metavar="GLOB",
                multiple=True,
                help="Leave out files whose path, name or folder matches, such as 'charts/*'. Repeatable.",
            ),
        )
    ):
        command = option(command)
    return command


def cluster_options(command: _F) -> _F:
    """Add --kubeconfig and --context to a command."""
    for option in (
        click.option("--context", metavar="NAME", help="The context of the kubeconfig; its current one unless named."),
        click.option("--kubeconfig", metavar="FILE", help="The way to the cluster; as kubectl, unless named."),
    ):
        command = option(command)
    return command


def compile_inputs(inputs: Inputs) -> Compilation:
    """Read and compile what a command was given; what can't be read is among the diagnostics.

    Raises:
        click.UsageError: standard input is named twice.
    """
    if inputs.config == STDIN and STDIN in inputs.paths:
        raise click.UsageError("standard input can't be both the configuration and a manifest")
    # one big allocation and then the end of the process: collecting garbage on the way only costs time
    gc.disable()
    config, unread = None, list[Diagnostic]()
    if inputs.config is not None:
        read = read_file(inputs.config)
        if isinstance(read, Text):
            config = read
        else:
            unread.append(read)
    files = read_files(inputs.paths, exclude=inputs.exclude, besides=inputs.config)
    return compile_plan(config, files.texts).also((*unread, *files.diagnostics))


def report(diagnostics: Sequence[Diagnostic], stream: TextIO | None = None) -> None:
    """Print diagnostics for people, to standard error unless told otherwise."""
    stream = stream or sys.stderr
    if diagnostics:
        stream.write(text.render(diagnostics, color=colored(stream)))


def count(diagnostics: Sequence[Diagnostic]) -> str:
    """Count errors and warnings: ``2 errors, 1 warning``."""
    return text.count(diagnostics) or "no errors"


def counted(counts: Counts) -> str:
    """Say what the input held, so that a forgotten file shows."""
    skipped = sum(counts.skipped.values())
    others = f"; {plural(skipped, 'object')} of {plural(len(counts.skipped), 'other kind')} skipped" if skipped else ""
    read = [plural(counts.texts, "file"), plural(counts.resources, "resource"), plural(counts.workloads, "workload")]
    return f"read {', '.join(read)}{others}"


def colored(stream: TextIO) -> bool:
    """Say whether a stream takes colours: a terminal, unless NO_COLOR is set (no-color.org)."""
    return stream.isatty() and not os.environ.get("NO_COLOR")
