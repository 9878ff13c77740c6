"""Streams are cut into documents, each read by itself: a broken one costs neither the others nor their lines."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compiler.bounds import DEEPEST, beyond
from compiler.source import Text, decode, read_documents
from compiler.source.parse import Broken, Parsed, parse, repeats_a_key

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
# in YAML << merges, and a key has at most 1024 characters, escapes included
KEY = st.text(st.characters(exclude_categories=["Cs"]), max_size=50).filter(lambda key: key != "<<")
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | TEXT,
    lambda below: st.lists(below) | st.dictionaries(KEY, below),
    max_leaves=10,
)


def values(text: str) -> list[object]:
    return [found.value if isinstance(found, Parsed) else found.reason for found in parse(text)]


@pytest.mark.parametrize(
    "text, expected",
    [
        ("", []),
        ("\n\n", []),
        ("# only a comment\n", []),
        ("---\n", []),
        ("---\n---\n---\n", []),
        ("...\n", []),
        ("a: 1", [{"a": 1}]),
        ("--- {a: 1}\n", [{"a": 1}]),
        ("a: 1\n---\nb: 2\n", [{"a": 1}, {"b": 2}]),
        ("a: 1\n--- # next\nb: 2\n...\n", [{"a": 1}, {"b": 2}]),
        ("a: 1\n...\n# between\n---\nb: 2\n", [{"a": 1}, {"b": 2}]),
        ("a: 1\r\n---\r\nb: 2\r\n", [{"a": 1}, {"b": 2}]),
        ("---\n# Source: nothing\n---\na: 1\n", [{"a": 1}]),
        ("%YAML 1.2\n---\na: 1\n", [{"a": 1}]),
        ("# first\n%YAML 1.2\n---\na: 1\n", [{"a": 1}]),
        ("a: 1\n...\n%YAML 1.2\n---\nb: 2\n", [{"a": 1}, {"b": 2}]),
        ("a: |\n  ---\n  b\n", [{"a": "---\nb\n"}]),
        ("a: ---\n", [{"a": "---"}]),
        ("a: '--- b'\n", [{"a": "--- b"}]),
        ("---a: 1\n", [{"---a": 1}]),
        ("null\n", [None]),
        ("text\n", ["text"]),
        ("- 1\n- 2\n", [[1, 2]]),
    ],
)
def test_a_stream_is_cut_where_yaml_cuts_it(text: str, expected: list[object]) -> None:
    assert expected == values(text)


@pytest.mark.parametrize(
    "text, expected",
    [
        ('{"a": 1}', [{"a": 1}]),
        ('{"a": 1}\n{"b": 2}\n', [{"a": 1}, {"b": 2}]),
        ('{"a": 1}{"b": 2}', [{"a": 1}, {"b": 2}]),
        ('[1, 2]\n\n"3"', [[1, 2], "3"]),
        ("{a: 1, b: [x]}", [{"a": 1, "b": ["x"]}]),  # YAML in flow style begins like JSON
        ('{"a": 1}\n---\n{"b": 2}\n', [{"a": 1}, {"b": 2}]),
        ('{"a": 1,}', [{"a": 1}]),
    ],
)
def test_json_is_read_as_json_and_what_only_looks_like_it_as_yaml(text: str, expected: list[object]) -> None:
    assert expected == values(text)


@given(st.lists(PLAIN.filter(lambda v: isinstance(v, dict | list)), min_size=1, max_size=4))
def test_what_json_writes_is_read_back_alone_in_a_row_and_in_a_stream(documents: list[object]) -> None:
    written = [json.dumps(document) for document in documents]

    assert documents == values("\n".join(written))
    assert documents == values("".join(f"---\n{text}\n" for text in written))


@pytest.mark.parametrize(
    "text, expected",
    [
        ("a: &x {b: 1, c: 2}\nd: {<<: *x, c: 3}\n", {"b": 1, "c": 3}),
        ("a: &x {b: 1}\ne: &y {b: 2, c: 2}\nd: {<<: [*x, *y]}\n", {"b": 1, "c": 2}),
        ("d: {<<: {b: {<<: {c: 1}}}}\n", {"b": {"c": 1}}),
        ("d: {<<: 7, b: 1}\n", {"b": 1}),
    ],
)
def test_merge_keys_are_applied_as_kubectl_applies_them(text: str, expected: object) -> None:
    (found,) = parse(text)

    assert isinstance(found, Parsed)
    assert expected == found.value["d"]


def test_a_broken_document_costs_the_others_nothing() -> None:
    first, second, third = parse("a: 1\n---\nb: [\n---\nc: 3\n")

    assert (True, True, True) == (isinstance(first, Parsed), isinstance(second, Broken), isinstance(third, Parsed))
    assert ({"a": 1}, {"c": 3}) == (first.value, third.value)  # type: ignore[union-attr]


@given(st.lists(st.sampled_from(["a: 1\n", "b: [\n", "# c\n", "- 1\n", "\n", "'x\n", "d: {\n"]), max_size=8))
def test_a_piece_is_what_stands_there(pieces: list[str]) -> None:
    text = "---\n".join(pieces)

    for found in parse(text):
        assert found.piece == text[found.start : found.start + len(found.piece)]
        assert not isinstance(found, Broken) or 0 <= found.offset <= len(found.piece)


@pytest.mark.parametrize(
    "text",
    [
        "- " * 100_000 + "a\n",
        "? " * 100_000 + "a\n",
        "-\t" * 100_000 + "a\n",
        f"a: 1\r{'- ' * 100_000}a\r",
        "".join(f"{' ' * n}a:\n" for n in range(2500)),
        "[" * 100_000,
        "a: " + "{b: " * 100_000,
        '{"a":' * 100_000 + "1" + "}" * 100_000,
    ],
    ids=["dashes", "questions", "tabs", "carriage returns", "indented", "brackets", "braces", "JSON"],
)
def test_what_nests_too_deep_is_refused_and_ends_nothing(text: str) -> None:
    (found,) = parse(text)

    assert isinstance(found, Broken)
    assert "it is nested too deep" == found.reason


@pytest.mark.parametrize(
    "text",
    [
        f"a: {'x' * 5000}\n",
        f"# {'- ' * 3000}\na: 1\n",
        f"a:\n{' ' * 1900}- 1\n",
        "".join(f"{'  ' * n}a:\n" for n in range(200)),
    ],
    ids=["a long line", "in a comment", "far to the right", "deep"],
)
def test_long_lines_and_honest_depth_are_read(text: str) -> None:
    (found,) = parse(text)

    assert isinstance(found, Parsed)


@pytest.mark.parametrize(
    "text, expected",
    [
        ('{"a": 1, "a": 2}', True),
        ('{"a": {"b": [{"c": 1, "c": 1}]}}', True),
        ('{"a": {"b": 1}, "c": {"b": 1}}', False),
        ('{"a": "\\"a\\": 1, \\"a\\""}', False),
        ("{a: 1, a: 2}", False),  # YAML, whose parser says so itself
        ("a: 1\na: 2\n", False),
        ("", False),
    ],
)
def test_json_that_repeats_a_key_is_noticed(text: str, *, expected: bool) -> None:
    assert expected is repeats_a_key(text)


def test_yaml_that_repeats_a_key_gives_the_last_and_says_so() -> None:
    (found,) = parse("a: 1\nb: 2\na: 3\n")

    assert isinstance(found, Parsed)
    assert ({"a": 3, "b": 2}, True) == (found.value, found.has_duplicates)


@pytest.mark.parametrize(
    "text, is_template",
    [
        ("a: {{ .Values.a }}\n", True),
        ("{{- if .a }}\na: 1\n{{- end }}\n", True),
        ("a:\n  {{ toYaml .b }}\n", True),
        ("a: '{{ .Values.a }}'\n", False),
        ("a: |\n  {{ .b }}\n", False),
        ("# {{ .c }}\na: 1\n", False),
    ],
)
def test_a_template_is_told_from_text_that_holds_one(text: str, *, is_template: bool) -> None:
    documents, found = read_documents(Text("a.yaml", text))

    assert (["unrendered-template"] if is_template else []) == [d.code for d in found]
    assert (0 if is_template else 1) == len(documents)


@pytest.mark.parametrize(
    "content, message",
    [
        ("a: 1\n".encode("utf-16"), "this file is UTF-16 or UTF-32"),
        ("a: 1\n".encode("utf-32"), "this file is UTF-16 or UTF-32"),
        (b"a: \xff\n", "this file is not UTF-8: byte 3 is 0xff"),
        (b"a: \0\n", "this file is binary: it contains NUL"),
        (b"a: \xed\xa0\x80\n", "this file is not UTF-8: byte 3 is 0xed"),
    ],
)
def test_what_is_no_text_is_told(content: bytes, message: str) -> None:
    found = decode("a.yaml", content)

    assert not isinstance(found, Text)
    assert (message, "not-text") == (found.message, found.code)


def test_a_byte_order_mark_is_no_content() -> None:
    assert Text("a.yaml", "a: 1\n") == decode("a.yaml", b"\xef\xbb\xbfa: 1\n")


def nested(levels: int) -> object:
    value: object = 1
    for level in range(levels):
        value = [value] if level % 2 else {"a": value}
    return value


@pytest.mark.parametrize(
    "value, expected",
    [
        (nested(DEEPEST), None),
        (nested(DEEPEST + 1), f"this is nested deeper than {DEEPEST} levels"),
        ({"a": 2**63 - 1}, None),
        ({"a": [2**63]}, "this number is larger than 64 bits hold"),
        ({2**63: "a"}, "this number is larger than 64 bits hold"),
        ({(2**64, "a"): "b"}, "this number is larger than 64 bits hold"),
        ({"a": "\ud800"}, "this text holds half of a surrogate pair"),
        ({"\udc00": 1}, "this text holds half of a surrogate pair"),
        ({"a": "\N{PILE OF POO}", "b": [True, None, 1.5, float("nan")]}, None),
    ],
)
def test_bounds_are_where_they_are_said_to_be(value: object, expected: str | None) -> None:
    passed = beyond(value)

    assert expected == (passed[1] if passed is not None else None)
