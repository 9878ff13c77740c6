#!/usr/bin/env python3
"""What a start of kuik costs in CPU time, beside a bare start of Python."""

from __future__ import annotations

import argparse
import sys
from typing import Final

from measure import ROOT, cpu, peak, print_table, run_by_turns

QUICKSTART: Final = ROOT / "examples" / "quickstart"
# seconds of CPU
LIMITS: Final = {"python -c pass": None, "kuik --help": 0.2, "kuik validate": 0.5, "kuik plan": None}


def commands() -> dict[str, list[str]]:
    """Give the commands to measure, by the names of ``LIMITS``."""
    kuik = [sys.executable, "-m", "runtime.cli.main"]
    files = ["-c", str(QUICKSTART / "config.yaml"), "-f", str(QUICKSTART)]
    return {
        "python -c pass": [sys.executable, "-c", "pass"],
        "kuik --help": [*kuik, "--help"],
        "kuik validate": [*kuik, "validate", *files],
        "kuik plan": [*kuik, "plan", *files],
    }


def main() -> None:
    """Print the table."""
    arguments = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    arguments.add_argument("--repeats", type=int, default=15)
    repeats = arguments.parse_args().repeats
    measured = commands()
    costs = run_by_turns(list(measured.values()), repeats)
    bare = cpu(costs[0])
    rows = []
    for name, each in zip(measured, costs, strict=True):
        limit = LIMITS[name]
        met = "" if limit is None else ("yes" if cpu(each) < limit else "NO")
        shown = "" if limit is None else f"{limit:.1f} s"
        cells = (f"{cpu(each):.3f} s", f"{cpu(each) / bare:.1f}", f"{peak(each):.0f} MiB", shown, met)
        rows.append((name, *cells))
    header = ("command", "cpu", "times python", "peak", "limit", "met")
    print_table(f"starts, medians of {repeats}, quickstart as input", header, rows)


if __name__ == "__main__":
    main()
