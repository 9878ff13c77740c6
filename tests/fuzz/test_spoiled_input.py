"""Spoiled copies of good input never end in a traceback, and whatever is refused says where.

A seed is a copy: what fails is repeated by its number.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from compiler.compilation import Compilation, compile_plan
from compiler.diagnostics import Diagnostic, Severity
from compiler.diff import diff
from compiler.plan import Plan
from compiler.plan_document import to_document
from compiler.reading import read_plan
from compiler.render import diagnostics_json, github, markdown, table, text, yaml
from compiler.render import json as json_form
from compiler.source import Text
from runtime.cli.forecasts import foreseen
from tests.fuzz.mutations import spoil

ROOT = Path(__file__).resolve().parents[2]
SEEDS, CHUNK, FAST = 2000, 50, 300
CHUNKS = [
    pytest.param(range(begin, begin + CHUNK), id=f"from-{begin}", marks=[] if begin < FAST else [pytest.mark.slow])
    for begin in range(0, SEEDS, CHUNK)
]
DERIVED = {"plan.yaml", "plan.md", "plan.txt", "diagnostics.txt"}


@cache
def good() -> list[tuple[Text | None, list[Text], Plan]]:
    """Give what compiles without an error: the quickstart and the golden cases; with each, its plan."""
    folders = [ROOT / "examples" / "quickstart", *sorted(p.parent for p in ROOT.glob("golden/*/plan.yaml"))]
    found = []
    for folder in folders:
        files = [p for p in sorted(folder.rglob("*")) if p.suffix in {".yaml", ".json"} and p.name not in DERIVED]
        texts = {str(p.relative_to(folder)): p.read_text(encoding="utf-8") for p in files if p.name != "against.yaml"}
        config = Text("config.yaml", texts.pop("config.yaml")) if "config.yaml" in texts else None
        manifests = [Text(name, content) for name, content in texts.items()]
        plan = compile_plan(config, manifests).plan
        assert plan is not None
        found.append((config, manifests, plan))
    return found


def spoiled(seed: int) -> tuple[Text | None, list[Text], Plan]:
    """Spoil one text of one good input."""
    order = random.Random(seed)
    config, manifests, plan = order.choice(good())
    at = order.randrange(-1 if config is not None else 0, len(manifests))
    if at < 0 and config is not None:
        return Text(config.name, spoil(config.content, order), is_stream=order.random() < 0.1), manifests, plan
    one = manifests[at]
    worse = Text(one.name, spoil(one.content, order), is_stream=order.random() < 0.1)
    return config, [*manifests[:at], worse, *manifests[at + 1 :]], plan


@pytest.mark.parametrize("seeds", CHUNKS)
def test_spoiled_input_is_planned_or_refused_with_a_place(seeds: range) -> None:
    for seed in seeds:
        config, manifests, before = spoiled(seed)
        try:
            compilation = foreseen(compile_plan(config, manifests))
            check_diagnostics(compilation, [*([config] if config else []), *manifests])
            if compilation.plan is not None:
                check_forms(compilation.plan, before)
        except Exception as error:
            error.add_note(f"seed {seed}")
            raise


def check_diagnostics(compilation: Compilation, texts: list[Text]) -> None:
    errors = [d for d in compilation.diagnostics if d.severity is Severity.ERROR]
    assert bool(errors) == (compilation.plan is None)
    for diagnostic in compilation.diagnostics:
        check_place(diagnostic, texts)
    forms = (text.render(compilation.diagnostics), text.render(compilation.diagnostics, color=True))
    for form in (*forms, github.render(compilation.diagnostics)):
        check_printable(form)
    assert len(compilation.diagnostics) == len(
        json.loads(diagnostics_json.render(compilation.diagnostics))["diagnostics"]
    )


def check_place(diagnostic: Diagnostic, texts: list[Text]) -> None:
    position = diagnostic.position
    named = [t for t in texts if t.name == position.file]
    assert named or (any(t.is_stream for t in texts) and position.file.startswith("document ")), diagnostic
    assert position.line >= 1, diagnostic
    assert position.column >= 1, diagnostic
    if named and not named[0].is_stream:
        line = named[0].content.split("\n")[position.line - 1]
        assert position.excerpt == line.rstrip("\r"), diagnostic
        assert position.column <= len(line) + 1, diagnostic


def check_forms(plan: Plan, before: Plan) -> None:
    document = to_document(plan)
    difference = diff(before, plan)
    for printed in (yaml.dump(document), json_form.dump(document)):
        check_printable(printed)
        assert (plan, []) == read_plan(Text("plan.yaml", printed))
    for view in (
        table.render(plan, difference, against="before.yaml"),
        table.render(plan, difference, against="before.yaml", color=True),
        markdown.render(plan, difference, against="before.yaml"),
        json_form.dump({**difference.to_document(), "plan": document}),
    ):
        check_printable(view)
    assert len(markdown.render(plan, difference).encode()) < 60_000


def check_printable(form: str) -> None:
    """What reaches a terminal or a page encodes, and has no control characters but line feeds and kuik's colours."""
    form.encode("utf-8")
    assert not [c for c in form.replace("\n", "").replace("\x1b[", "") if ord(c) < 32 or 127 <= ord(c) < 160]


def plans() -> Iterator[Text]:
    for path in sorted(ROOT.glob("golden/*/plan.yaml")):
        yield Text("plan.yaml", path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("seeds", CHUNKS[: 600 // CHUNK])
def test_a_spoiled_plan_is_read_or_refused_with_a_place(seeds: range) -> None:
    known = list(plans())
    for seed in seeds:
        order = random.Random(-seed - 1)
        old = order.choice(known)
        worse = Text(old.name, spoil(old.content, order))
        try:
            plan, diagnostics = read_plan(worse)
            assert bool(diagnostics) == (plan is None)
            for diagnostic in diagnostics:
                if "here are 0" not in diagnostic.message:  # a plan of which nothing is left has no place
                    check_place(diagnostic, [worse])
            if plan is not None:
                check_forms(order.choice(good())[2], plan)
                check_forms(plan, order.choice(good())[2])
        except Exception as error:
            error.add_note(f"seed {seed}")
            raise
