"""YAML that every reader reads back as what was written."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml as pyyaml
import yaml_rs
from hypothesis import example, given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from compiler.diff import diff
from compiler.plan import Plan
from compiler.plan_document import from_document, to_document
from compiler.render import yaml

# what one version or the other takes for something else, and what breaks a line, a quote or a flow mapping
TRAPS = (
    "", " ", "null", "Null", "~", "true", "yes", "NO", "on", "Off", "y", "N", "012", "0o17", "0x1f", "0b1", "1_000",
    "1e3", "12e03", "1.5", ".5", "1.", "-1", "+1", ".inf", ".nan", "1:30", "190:20:30", "2001-01-01",
    "2001-12-14t21:59:43Z", "=", "<<", "-", "- a", "? a", ": a", "a:", "a: b", "a #b", "#a", "&a", "*a", "!a", "|", ">",
    "%a", "@a", "`a`", "'a'", '"a"', "{a: 1}", "[a]", "a, b", "a]", "---", "--- a", "...", "a\nb", "a\n", "\ta", "a\r",
    "\\", "\x00", "\x1b[2J", "\x7f", "\x85", "\xa0", "\u2028", "\u202e", "\ufeff", "\ufffe", "😀", "日本",
    "x" * 1100, "[::1]:5000/a:1", "é: x",
)  # fmt: skip
texts = st.one_of(
    st.sampled_from(TRAPS),
    st.text("0123456789abcdefnoxTZ:.-_+/~@# ", max_size=10),
    # half a surrogate pair is no text in UTF-8; what becomes of it is a test of its own
    st.text(st.characters(exclude_categories=["Cs"]), max_size=12),
)
scalars = st.one_of(st.none(), st.booleans(), st.integers(-(2**62), 2**62), texts)
values = st.recursive(
    scalars, lambda v: st.one_of(st.lists(v, max_size=4), st.dictionaries(texts, v, max_size=4)), max_leaves=12
)


def readers() -> dict[str, Any]:
    ruamel = YAML(typ="safe", pure=True)
    return {
        "1.2, ruamel": ruamel.load,
        "1.1, PyYAML": pyyaml.safe_load,
        # quoted dates are dates to it otherwise
        "1.2, yaml-rs": lambda text: yaml_rs.loads(text, parse_datetime=False),
    }


@given(values)
@example({trap: trap for trap in TRAPS})
@example([{"image": trap, "to": "a"} for trap in TRAPS])
@example([{trap: "a"} for trap in TRAPS])
@example([[], {}, [[]], [{}], {"a": []}, [[[1], 2], {"a": [[3]]}]])
def test_every_reader_of_either_version_reads_back_what_was_written(value: Any) -> None:
    text = yaml.dump(value)
    assert text.endswith("\n")
    for name, read in readers().items():
        # by JSON, which tells True from 1 and keeps the order of keys
        assert (name, json.dumps(read(text))) == (name, json.dumps(value))


@given(data=st.data())
def test_a_plan_and_a_diff_read_back_equal(data: st.DataObject, changes: st.SearchStrategy[tuple[Plan, Plan]]) -> None:
    old, new = data.draw(changes)
    assert from_document(pyyaml.safe_load(yaml.dump(to_document(new)))) == new
    document = diff(old, new).to_document()
    assert pyyaml.safe_load(yaml.dump(document)) == document


def test_a_plan_is_written_as_people_write_it(before: Plan) -> None:
    lines = yaml.dump(to_document(before)).splitlines()
    del lines[2:5]  # digests
    short = [line for line in lines if "image-" not in line or "image-000" in line]
    assert short[:21] == [
        "apiVersion: kuik.enix.io/v1alpha1",
        "kind: WindowPlan",
        "hosts:",
        "- host: docker.io",
        "  check:",
        "    interval: 1m0s",
        "    timeout: 10s",
        "    from: registries.docker.io.check.interval",
        "    rings:",
        "    - owner: ImageMirror/prod",
        "      images:",
        "      - docker.io/library/image-000:1",
        "    - owner: ImageMonitor/all",
        "      images:",
        "      - docker.io/library/image-000:1",
        "    forecast:",
        "      windowsPerDay: 1440",
        "      requests: 173",
        "      laps:",
        "      - {owner: ImageMirror/prod, bestCase: 41m0s, expected: 1h22m0s}",
        "      - {owner: ImageMonitor/all, bestCase: 2h53m0s, expected: 2h53m0s}",
    ]
    assert (
        "      - {image: docker.io/library/image-000:1, to: registry.tld/mirror/docker.io/library/image-000:1}" in lines
    )


@pytest.mark.parametrize(
    "text",
    [
        "docker.io/library/nginx:1.27",
        "123456789012.dkr.ecr.eu-west-1.amazonaws.com/app:v1",
        f"localhost:5000/a/b:1_cluster-a@sha256:{'0a' * 32}",
        "registry.tld:5000/mirror/docker.io/library/nginx:kuik-sha256-00",
        "10m0s",
        "1.5s",
        "0s",
        "ImageMonitor/all",
        "/etc/kuik/ca.pem",
        "/",
        "kuik.enix.io/v1alpha1",
    ],
)
def test_what_plans_consist_of_stands_without_quotes(text: str) -> None:
    assert yaml.dump([text, {"a": text}]) == f"- {text}\n- {{a: {text}}}\n"


def test_a_mapping_in_a_list_is_on_one_line_when_it_is_small_and_plain() -> None:
    small, large = {"a": "b", "c": None, "d": True}, {"a": 1, "b": 2, "c": 3, "d": 4}
    assert yaml.dump([small, large, {"a": "b: c"}, {"a": []}]) == (
        '- {a: b, c: null, d: true}\n- a: 1\n  b: 2\n  c: 3\n  d: 4\n- a: "b: c"\n- a: []\n'
    )


def test_half_a_surrogate_pair_is_written_as_an_escape() -> None:
    text = yaml.dump("\udc80")
    assert text == '"\\udc80"\n'
    assert pyyaml.safe_load(text) == "\udc80"


@pytest.mark.parametrize("value", [1.5, {"a": {1, 2}}, [b"a"]])
def test_what_is_no_plain_value_is_refused(value: Any) -> None:
    with pytest.raises(TypeError):
        yaml.dump(value)
