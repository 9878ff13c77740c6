"""Every folder of golden/ is a small situation: configuration and manifests, and what the compiler makes of them.

`make golden` rewrites the expectations, so that a change of behaviour shows as a diff in review.
"""

from __future__ import annotations

import json
import os
import random
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import jsonschema
import pytest

import schemas
from compiler.compilation import Compilation, compile_plan
from compiler.diagnostics import Code
from compiler.diff import Diff, diff
from compiler.origins import Origins
from compiler.plan import Plan, without_forecasts
from compiler.plan_document import to_document
from compiler.reading import read_plan
from compiler.render import markdown, table, text, yaml
from compiler.source import Text
from compiler.source.parse import parse
from runtime.cli.forecasts import foreseen
from runtime.files import read_files

GOLDEN = Path(__file__).resolve().parents[2] / "golden"
EXPECTED = ("plan.yaml", "plan.md", "plan.txt", "diagnostics.txt")
REWRITE = os.environ.get("KUIK_GOLDEN") == "rewrite"


@dataclass(frozen=True)
class Case:
    """One folder; `against.yaml` in it is an older plan that the new one is compared with."""

    folder: Path

    @property
    def config(self) -> Text | None:
        path = self.folder / "config.yaml"
        return Text("config.yaml", path.read_text(encoding="utf-8")) if path.exists() else None

    @property
    def manifests(self) -> list[Text]:
        exclude = ("config.yaml", "against.yaml", *EXPECTED)
        files = read_files([str(self.folder)], exclude=exclude)
        assert not files.diagnostics
        return [Text(str(Path(t.name).relative_to(self.folder)), t.content) for t in files.texts]

    @property
    def against(self) -> Plan | None:
        path = self.folder / "against.yaml"
        return read_plan(Text("against.yaml", path.read_text(encoding="utf-8")))[0] if path.exists() else None

    def compile(self) -> Compilation:
        return foreseen(compile_plan(self.config, self.manifests))


CASES = [Case(f) for f in sorted(GOLDEN.iterdir()) if f.is_dir()]
PLANS = [c for c in CASES if (c.folder / "plan.yaml").exists()]


def named(case: Case) -> str:
    return case.folder.name


def produce(case: Case) -> dict[str, str]:
    """Make everything that a case can expect; what doesn't apply is the empty text."""
    compilation = case.compile()
    made = dict.fromkeys(EXPECTED, "")
    made["diagnostics.txt"] = text.render(compilation.diagnostics)
    if compilation.plan is not None:
        difference = diff(case.against, compilation.plan) if case.against is not None else None
        made["plan.yaml"] = yaml.dump(to_document(compilation.plan))
        made["plan.md"] = view(markdown, compilation, compilation.plan, difference)
        made["plan.txt"] = view(table, compilation, compilation.plan, difference)
    return made


def view(module: object, compilation: Compilation, plan: Plan, difference: Diff | None) -> str:
    origins = Origins(compilation.model)

    def sources(change: object) -> str | None:
        position = origins.find(change.causes)
        return f"{position.file}:{position.line}" if position is not None and position.line else None

    return module.render(plan, difference, against="against.yaml", sources=sources)


@pytest.mark.parametrize("case", CASES, ids=named)
def test_a_case_gives_what_it_expects(case: Case) -> None:
    for name, content in produce(case).items():
        path = case.folder / name
        if REWRITE:
            path.write_text(content, encoding="utf-8") if content else path.unlink(missing_ok=True)
        assert (path.read_text(encoding="utf-8") if path.exists() else "") == content, path


@pytest.mark.parametrize("case", CASES, ids=named)
def test_the_same_input_gives_the_same_bytes(case: Case) -> None:
    assert produce(case) == produce(case)


@pytest.mark.parametrize("case", CASES, ids=named)
def test_the_order_of_files_and_documents_means_nothing(case: Case) -> None:
    expected = case.compile()
    for seed in range(3):
        compilation = foreseen(compile_plan(case.config, shuffled(case.manifests, seed)))
        assert expected.plan == compilation.plan
        assert sorted(d.code for d in expected.diagnostics) == sorted(d.code for d in compilation.diagnostics)


def shuffled(texts: list[Text], seed: int) -> list[Text]:
    order = random.Random(seed)
    mixed = []
    for one in texts:
        documents = [alone(p.piece) for p in parse(one.content)]
        order.shuffle(documents)
        mixed.append(Text(one.name, "".join(documents)))
    order.shuffle(mixed)
    return mixed


def alone(document: str) -> str:
    """Write a document so that it can stand anywhere in a stream: between ``---`` or its directives, and ``...``."""
    begins_itself = document.startswith("---") or any(line.startswith("%") for line in document.splitlines())
    return f"{document}\n...\n" if begins_itself else f"---\n{document}\n...\n"


@pytest.mark.parametrize("case", PLANS, ids=named)
def test_a_plan_is_valid_against_its_schema_and_reads_back_equal(case: Case) -> None:
    plan = case.compile().plan
    assert plan is not None
    document = to_document(plan)
    validator("plan").validate(document)
    for printed in (yaml.dump(document), json.dumps(document)):
        assert (plan, []) == read_plan(Text("plan.yaml", printed))


@pytest.mark.parametrize("case", PLANS, ids=named)
def test_a_difference_is_valid_against_its_schema(case: Case) -> None:
    plan = case.compile().plan
    assert plan is not None
    for old, new in ((case.against or Plan(), plan), (plan, case.against or Plan())):
        validator("plandiff").validate({**diff(old, new).to_document(), "plan": to_document(new)})


@cache
def validator(name: str) -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(schemas.load(name))


@pytest.mark.parametrize("case", PLANS, ids=named)
def test_a_plan_differs_in_nothing_from_itself(case: Case) -> None:
    plan = case.compile().plan
    assert plan is not None
    assert diff(plan, plan).is_empty
    assert diff(without_forecasts(plan), plan).is_empty


def test_every_kind_of_mistake_has_a_case() -> None:
    found = {d.code for case in CASES for d in case.compile().diagnostics}
    # these are about files, not about what is in them: tests/cli shows them on the command line
    of_files = {Code.UNREADABLE, Code.NOT_TEXT, Code.TOO_LARGE, Code.EMPTY_INPUT, Code.INVALID_SCRIPT}
    assert set() == set(Code) - found - of_files


def test_there_are_enough_cases() -> None:
    assert len(CASES) >= 40
