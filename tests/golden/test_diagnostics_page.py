"""docs/diagnostics.md explains every code, no other, and shows what kuik really prints."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from compiler.diagnostics import Code

SECTION = re.compile(r"^### (?P<code>\S+)\n(?P<body>.*?)(?=^##|\Z)", re.MULTILINE | re.DOTALL)
EXAMPLE = re.compile(r"^```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)

# these are about files and not about their content, or about a script; tests/cli shows them
OF_FILES = {Code.UNREADABLE, Code.NOT_TEXT, Code.TOO_LARGE, Code.EMPTY_INPUT, Code.INVALID_SCRIPT}


@pytest.fixture(scope="module")
def page(root: Path) -> str:
    return (root / "docs" / "diagnostics.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def printed(root: Path) -> str:
    """What the golden cases print, all of it."""
    return "\n".join(p.read_text(encoding="utf-8") for p in sorted((root / "golden").glob("*/diagnostics.txt")))


def test_every_code_has_a_section_in_its_order_and_no_section_is_too_much(page: str) -> None:
    assert [str(code) for code in Code] == [m["code"] for m in SECTION.finditer(page)]


@pytest.mark.parametrize("code", Code)
def test_a_section_says_what_it_means_shows_an_example_and_how_to_mend_it(code: Code, page: str) -> None:
    body = next(m["body"] for m in SECTION.finditer(page) if m["code"] == code)
    meaning, example, remedy = EXAMPLE.split(body)

    assert meaning.strip()
    assert f"[{code}]" in example.splitlines()[0]
    assert remedy.strip()


@pytest.mark.parametrize("code", sorted(set(Code) - OF_FILES))
def test_an_example_is_what_a_golden_case_prints(code: Code, page: str, printed: str) -> None:
    body = next(m["body"] for m in SECTION.finditer(page) if m["code"] == code)

    assert EXAMPLE.findall(body)[0] in printed
