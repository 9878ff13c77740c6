"""Diagnostics for people, for GitHub and for programs."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compiler.diagnostics import Code, Diagnostic, Position, Severity
from compiler.render import diagnostics_json, github, text

ERROR = Diagnostic(
    Severity.ERROR,
    Code.INVALID_DURATION,
    '"5 m" is not a duration',
    Position("config.yaml", 7, 23, "    check: {interval: 5 m}", 3),
    "write one such as 30s, 5m or 1h30m",
)
WARNING = Diagnostic(
    Severity.WARNING, Code.UNUSED_HOST, "nobody reads quay.io", Position("config.yaml", 9, 3, "  quay.io:", 7)
)
NOWHERE = Diagnostic(Severity.ERROR, Code.UNREADABLE, "permission denied", Position("a/b.yaml"))


def shown(excerpt: str, column: int, width: int = 1) -> list[str]:
    """Give the line of the input and its underline, without the gutter."""
    rendered = text.render([replace(NOWHERE, position=Position("f", 12, column, excerpt, width))]).splitlines()
    assert [line[:6] for line in rendered[1:]] == ["  12 |", "     |"]
    return [line[7:] for line in rendered[1:]]


class TestText:
    def test_place_message_line_underline_and_help(self) -> None:
        assert text.render([WARNING, ERROR, NOWHERE]) == (
            "a/b.yaml: error[unreadable]: permission denied\n"
            "\n"
            'config.yaml:7:23: error[invalid-duration]: "5 m" is not a duration\n'
            "  7 |     check: {interval: 5 m}\n"
            "    |                       ^^^\n"
            "help: write one such as 30s, 5m or 1h30m\n"
            "\n"
            "config.yaml:9:3: warning[unused-host]: nobody reads quay.io\n"
            "  9 |   quay.io:\n"
            "    |   ^^^^^^^\n"
        )

    def test_nothing_is_nothing(self) -> None:
        assert text.render([]) == ""
        assert text.count([]) == ""

    def test_they_are_counted_by_severity(self) -> None:
        assert text.count([ERROR, NOWHERE, WARNING]) == "2 errors, 1 warning"
        assert text.count([ERROR]) == "1 error"
        assert text.count([WARNING, WARNING]) == "2 warnings"

    def test_a_tab_is_four_blanks_and_the_underline_follows(self) -> None:
        assert shown("\tinterval:\t5 m", 12, 3) == ["    interval:    5 m", "                 ^^^"]

    def test_what_does_not_print_is_shown_as_an_escape_and_underlined_whole(self) -> None:
        assert shown("a: \x1b[2J", 4) == [r"a: \x1b[2J", "   ^^^^"]
        assert shown("a:\xa0b", 3) == [r"a:\xa0b", "  ^^^^"]

    def test_wide_characters_are_underlined_whole(self) -> None:
        assert shown("名前: 日本", 5, 2) == ["名前: 日本", "      ^^^^"]

    def test_what_is_missing_is_meant_behind_the_line(self) -> None:
        assert shown("interval:", 11, 5) == ["interval:", "         ^"]

    @pytest.mark.parametrize("column", [1, 30, 5000, 9990, 10001])
    def test_a_long_line_is_cut_around_the_place(self, column: int) -> None:
        line = "".join(chr(ord("a") + number % 26) for number in range(10_000))
        excerpt, underline = shown(line, column, 4)
        assert len(excerpt) <= 102
        assert excerpt.strip("…") in line
        start, end = underline.index("^"), len(underline)
        assert excerpt[start:end] == line[column - 1 : column + 3]

    def test_a_long_place_is_cut_too(self) -> None:
        excerpt, underline = shown("x" * 5000, 50, 4000)
        assert len(excerpt) == len(underline) + 1
        assert excerpt.endswith("…")

    def test_colours_are_only_colours(self) -> None:
        painted = text.render([ERROR, WARNING], color=True)
        assert "\x1b[1;31merror[invalid-duration]\x1b[0m" in painted
        assert re.sub(r"\x1b\[[0-9;]*m", "", painted) == text.render([ERROR, WARNING])


class TestGitHub:
    def test_one_command_a_line(self) -> None:
        assert github.render([WARNING, ERROR, NOWHERE]).splitlines() == [
            "::error file=a/b.yaml,title=kuik unreadable::permission denied",
            (
                '::error file=config.yaml,line=7,col=23,title=kuik invalid-duration::"5 m" is not a duration'
                "%0Ahelp: write one such as 30s, 5m or 1h30m"
            ),
            "::warning file=config.yaml,line=9,col=3,title=kuik unused-host::nobody reads quay.io",
        ]

    def test_what_would_end_a_property_or_a_command_is_escaped(self) -> None:
        diagnostic = replace(NOWHERE, message="50% of a:b,c", position=Position("a,b:c%.yaml"))
        assert github.render([diagnostic]) == ("::error file=a%2Cb%3Ac%25.yaml,title=kuik unreadable::50%25 of a:b,c\n")


class TestJson:
    def test_counts_and_places(self) -> None:
        assert json.loads(diagnostics_json.render([WARNING, ERROR, NOWHERE])) == {
            "errors": 2,
            "warnings": 1,
            "diagnostics": [
                {"severity": "error", "code": "unreadable", "message": "permission denied", "file": "a/b.yaml"},
                {
                    "severity": "error",
                    "code": "invalid-duration",
                    "message": '"5 m" is not a duration',
                    "file": "config.yaml",
                    "line": 7,
                    "column": 23,
                    "width": 3,
                    "excerpt": "    check: {interval: 5 m}",
                    "help": "write one such as 30s, 5m or 1h30m",
                },
                {
                    "severity": "warning",
                    "code": "unused-host",
                    "message": "nobody reads quay.io",
                    "file": "config.yaml",
                    "line": 9,
                    "column": 3,
                    "width": 7,
                    "excerpt": "  quay.io:",
                },
            ],
        }


anything = st.text(st.characters() | st.sampled_from("\x1b\x9b\u202e\ud800\t\r\n日"), max_size=20)
diagnostics = st.lists(
    st.builds(
        Diagnostic,
        st.sampled_from(Severity),
        st.sampled_from(Code),
        anything,
        st.builds(Position, anything, st.integers(0, 9), st.integers(0, 30), anything, st.integers(1, 30)),
        anything,
    ),
    max_size=4,
)


@given(diagnostics, st.randoms())
@pytest.mark.parametrize("render", [text.render, github.render, diagnostics_json.render])
def test_nothing_in_the_input_acts_on_a_terminal_and_their_order_does_not_matter(render, found, random) -> None:  # noqa: ANN001
    rendered = render(found)
    assert all(line.isprintable() for line in rendered.split("\n"))
    rendered.encode()
    shuffled = random.sample(found, len(found))
    assert sorted(render(shuffled).split("\n")) == sorted(rendered.split("\n"))


@given(diagnostics)
def test_github_gets_one_line_for_each(found: list[Diagnostic]) -> None:
    assert len(github.render(found).split("\n")) == len(found) + 1


@given(diagnostics)
def test_json_has_the_message_as_it_is(found: list[Diagnostic]) -> None:
    read = json.loads(diagnostics_json.render(found))
    assert sorted(d["message"] for d in read["diagnostics"]) == sorted(d.message for d in found)
