#!/usr/bin/env python3
"""How long ``kuik plan`` takes beside the fastest parser alone, and how much memory.

Made-up clusters of 1,000, 10,000 and 30,000 pods, as one JSON list, one YAML list and as documents, with ten monitors
and mirrors of different selectors. What the plan may cost: three times the parser, under 1 GiB, and linear in the pods.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from make_cluster import FORMATS
from measure import ROOT, Cost, peak, print_table, ratio, run_by_turns, wall

DATA: Final = ROOT / "bench" / ".data"
SIZES: Final = (1_000, 10_000, 30_000)
# below that many pods the start of Python weighs more than the pods do
LIMITS_FROM_PODS: Final = 10_000
RATIO_LIMIT: Final = 3.0
PEAK_LIMIT_MIB: Final = 1024

READ: Final = "import sys; text = open(sys.argv[1], encoding='utf-8').read()"
PARSERS: Final = {
    "json": {"json": f"{READ}; import json; json.loads(text)"},
    "yaml": {
        "yaml-rs": f"{READ}; import yaml_rs; yaml_rs.loads(text)",
        "ryaml": f"{READ}; import ryaml; ryaml.loads(text)",
    },
    "docs": {
        "yaml-rs": f"{READ}; import yaml_rs; yaml_rs.loads(text)",
        "ryaml": f"{READ}; import ryaml; list(ryaml.loads_all(text))",
    },
}
# Python's cyclic collector costs a parser up to half of its time and finds nothing in what parsers make
COLLECTOR_OFF: Final = "import gc; gc.disable(); "


def resources() -> Iterator[dict[str, Any]]:
    """Give five monitors and five mirrors, no two of them with the same selector."""
    apps = [f"app-{number:05d}" for number in range(0, 2000, 7)]
    selectors: list[dict[str, Any]] = [
        {},
        {"matchLabels": {"tier": "web"}},
        {"matchLabels": {"tier": "db"}},
        {"matchExpressions": [{"key": "tier", "operator": "NotIn", "values": ["job"]}]},
        {"matchExpressions": [{"key": "app.kubernetes.io/name", "operator": "In", "values": apps}]},
    ]
    for number, selector in enumerate(selectors):
        yield _resource("ImageMonitor", number, {"podSelector": selector, "excludeImages": ["quay.io/**"]})
        destination = {"path": f"registry.example.com/mirror-{number}"}
        yield _resource("ImageMirror", number, {"podSelector": selector, "destination": destination})


def _resource(kind: str, number: int, spec: dict[str, Any]) -> dict[str, Any]:
    name = f"bench-{number}"
    return {"apiVersion": "kuik.enix.io/v1alpha1", "kind": kind, "metadata": {"name": name}, "spec": spec}


def prepare(pods: int, form: str) -> tuple[Path, Path]:
    """Write the files of a size and a form, unless they are there, and give those of resources and of pods."""
    DATA.mkdir(exist_ok=True)
    owners = DATA / "resources.yaml"
    # JSON is YAML, one document a line
    owners.write_text("".join(f"---\n{json.dumps(r)}\n" for r in resources()), encoding="utf-8")
    cluster = DATA / f"{pods}.{form}{'' if form == 'json' else '.yaml'}"
    if not cluster.exists():
        unfinished = cluster.with_suffix(".part")
        # a process of its own: what this one holds would count in the peak of those that it starts
        with unfinished.open("wb") as file:
            maker = [sys.executable, str(ROOT / "bench" / "make_cluster.py"), "--pods", str(pods), "--format", form]
            subprocess.run(maker, stdout=file, check=True)
        unfinished.rename(cluster)
    return owners, cluster


@dataclass(frozen=True, slots=True)
class Measured:
    """What ``kuik plan`` took, and the fastest parser on the same file: as Python starts it, and with no collector."""

    parser: str
    plain: list[Cost]
    collector_off: list[Cost]
    kuik: list[Cost]


def measure(pods: int, form: str, repeats: int) -> Measured:
    """Run the plan and every parser of a form by turns."""
    owners, cluster = prepare(pods, form)
    kuik = [sys.executable, "-m", "runtime.cli.main", "plan", "-f", str(owners), "-f", str(cluster), "-o", "json"]
    commands: dict[tuple[str, ...], list[str]] = {(): kuik}
    for name, code in PARSERS[form].items():
        for prefix in ("", COLLECTOR_OFF):
            commands[name, prefix] = [sys.executable, "-c", prefix + code, str(cluster)]
    costs = dict(zip(commands, run_by_turns(list(commands.values()), repeats), strict=True))
    parser = min(PARSERS[form], key=lambda name: wall(costs[name, ""]))
    return Measured(parser, costs[parser, ""], costs[parser, COLLECTOR_OFF], costs[()])


def row(pods: int, form: str, repeats: int) -> tuple[str, ...]:
    """Measure one size in one form, and give its line of the table."""
    m = measure(pods, form, repeats)
    size = prepare(pods, form)[1].stat().st_size
    times, mebibytes = ratio(m.kuik, m.plain), peak(m.kuik)
    met = times < RATIO_LIMIT and mebibytes < PEAK_LIMIT_MIB
    return (
        form,
        f"{pods:,}",
        f"{size / 1e6:.1f} MB",
        m.parser,
        f"{wall(m.plain):.2f} s",
        f"{wall(m.kuik):.2f} s",
        f"{times:.2f}",
        f"{ratio(m.kuik, m.collector_off):.2f}",
        f"{wall(m.kuik) / pods * 1e6:.0f} µs",
        f"{mebibytes:.0f} MiB",
        ("yes" if met else "NO") if pods >= LIMITS_FROM_PODS else "",
    )


def main() -> None:
    """Print the table."""
    arguments = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    arguments.add_argument("--pods", type=int, nargs="+", default=SIZES)
    arguments.add_argument("--repeats", type=int, default=5)
    a = arguments.parse_args()
    header = ("form", "pods", "file", "parser", "alone", "kuik plan", "times", "gc off", "per pod", "peak", "met")
    rows = [row(pods, form, a.repeats) for form in FORMATS for pods in a.pods]
    # gc off: the ratio to a parser that runs without Python's cyclic collector
    title = f"kuik plan with 10 owners, medians of {a.repeats} (limits: {RATIO_LIMIT:g} times, {PEAK_LIMIT_MIB} MiB)"
    print_table(title, header, rows)


if __name__ == "__main__":
    main()
