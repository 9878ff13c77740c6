"""Runs processes and says what they cost: wall time, CPU time, peak memory; in pairs, so that a ratio means something.

A machine's speed drifts while a benchmark runs. So what is compared runs by turns, each run with one of the other side
next to it, and a ratio is the median of the ratios of such pairs.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
# Linux counts the peak in KiB, macOS in bytes
MAXRSS_UNIT: Final = 1 if sys.platform == "darwin" else 1024


class Failed(Exception):
    """A measured process did not exit with 0; the message is the end of what it said."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What one run of a process took: seconds, seconds, bytes."""

    wall: float
    cpu: float
    peak: int


def run(command: Sequence[str]) -> Cost:
    """Run a command from the project's folder, its output thrown away.

    Raises:
        Failed: it exited with something other than 0.
    """
    with tempfile.TemporaryFile() as errors:
        began = time.perf_counter()
        process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors
        )
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            errors.seek(0)
            raise Failed(
                f"{' '.join(command)[:200]} exited with {process.returncode}:\n{errors.read()[-600:].decode()}"
            )
    return Cost(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * MAXRSS_UNIT)


def run_by_turns(commands: Sequence[Sequence[str]], repeats: int) -> list[list[Cost]]:
    """Run each command ``repeats`` times, all of them by turns, after one run each that warms the caches.

    Returns:
        For each command its costs, in the order of the rounds: equal indices ran next to each other.
    """
    for command in commands:
        run(command)
    rounds = [[run(command) for command in commands] for _ in range(repeats)]
    return [list(costs) for costs in zip(*rounds, strict=True)]


def wall(costs: Sequence[Cost]) -> float:
    """Give the median wall time in seconds."""
    return median(c.wall for c in costs)


def cpu(costs: Sequence[Cost]) -> float:
    """Give the median CPU time in seconds, user and system."""
    return median(c.cpu for c in costs)


def peak(costs: Sequence[Cost]) -> float:
    """Give the largest peak of memory in MiB."""
    return max(c.peak for c in costs) / 2**20


def ratio(costs: Sequence[Cost], base: Sequence[Cost]) -> float:
    """Give the median of the ratios of wall times of runs next to each other."""
    return median(c.wall / b.wall for c, b in zip(costs, base, strict=True))


def print_table(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print columns, the first ones to the left and numbers to the right."""
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    print(f"\n{title}\n")
    for row in (header, *rows):
        cells = [cell.rjust(w) if i else cell.ljust(w) for i, (cell, w) in enumerate(zip(row, widths, strict=True))]
        print("  ".join(cells).rstrip())
