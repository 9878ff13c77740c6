"""A mistake in one item of a long List is found on its line, without a look at the other items.

ruamel knows lines and is slow, so that it gets the one item that is cut out of the text; a cut in the wrong place
would point at somebody else's line.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable

import pytest

from compiler.compilation import compile_plan
from compiler.diagnostics import Diagnostic
from compiler.source import Text
from compiler.source.items import cut_item

LONG = 40  # items: more than the text that is small enough to be looked at whole


def monitor(index: int, *, wrong: bool) -> dict[str, object]:
    spec: dict[str, object] = {"podSelector": {"matchLabels": {"app": f"app-{index}"}}}
    return {
        "apiVersion": "kuik.enix.io/v1alpha1",
        "kind": "ImageMonitor",
        "metadata": {"name": f"monitor-{index}", "annotations": {"note": "- items:\n- a: 1\n"}},
        "spec": {**spec, "wrong": True} if wrong else spec,
    }


def as_json(**style: object) -> Callable[[int], str]:
    def write(mistaken: int) -> str:
        items = [monitor(n, wrong=n == mistaken) for n in range(LONG)]
        return json.dumps({"apiVersion": "v1", "items": items, "kind": "List", "metadata": {}}, **style)

    return write


def as_yaml(*, indent: str = "", head: str = "apiVersion: v1\nkind: List\n", end: str = "") -> Callable[[int], str]:
    def write(mistaken: int) -> str:
        items = "".join(item(n, wrong=n == mistaken) for n in range(LONG))
        return f"{head}items:\n{textwrap.indent(items, indent)}{end}"

    return write


def item(index: int, *, wrong: bool) -> str:
    return textwrap.dedent(f"""\
        # monitor {index}
        - apiVersion: kuik.enix.io/v1alpha1
          kind: ImageMonitor
          metadata:
            name: monitor-{index}
            annotations:
              note: |
                items:
                - a: 1

                - b: 2
          spec:
            excludeImages:
            - docker.io/library/*
            - quay.io/**
            {"wrong: true" if wrong else "suspend: false"}
        """)


FORMS = {
    "kubectl's JSON": as_json(indent=4),
    "JSON on one line": as_json(),
    "JSON without spaces": as_json(separators=(",", ":")),
    "kubectl's YAML": as_yaml(),
    "YAML, items indented": as_yaml(indent="  "),
    "YAML, items first": as_yaml(head="", end="kind: List\napiVersion: v1\nmetadata: {resourceVersion: ''}\n"),
    "YAML with a comment": as_yaml(head="kind: List # all of them\napiVersion: v1\n", end="# the end\n"),
}


def found(content: str, *, is_stream: bool = False) -> Diagnostic:
    assert len(content) > 4096
    (diagnostic,) = compile_plan(None, [Text("list.yaml", content, is_stream=is_stream)]).diagnostics
    return diagnostic


@pytest.mark.parametrize("mistaken", [0, 1, LONG // 2, LONG - 1])
@pytest.mark.parametrize("form", FORMS)
def test_a_mistake_in_an_item_is_found_on_its_line(form: str, mistaken: int) -> None:
    content = FORMS[form](mistaken)
    position = found(content).position

    line = content.split("\n")[position.line - 1]
    assert line == position.excerpt
    assert "wrong" == line[position.column - 1 :].lstrip('"')[:5]


@pytest.mark.parametrize("form", FORMS)
def test_in_a_stream_the_object_is_named(form: str) -> None:
    position = found(f"---\n{{}}\n---\n{FORMS[form](7)}" if "YAML" in form else FORMS[form](7), is_stream=True).position

    assert f"document {2 if 'YAML' in form else 1} (ImageMonitor/monitor-7)" == position.file


@pytest.mark.parametrize("form", FORMS)
def test_only_the_one_item_is_cut(form: str) -> None:
    content = FORMS[form](7)
    cut = cut_item(content, 7)

    assert cut is not None
    text, offset = cut
    assert "monitor-7" in text
    assert "monitor-6" not in text.replace("# monitor 6", "")
    assert '"monitor-8"' not in text
    assert "name: monitor-8" not in text
    # what was in front of the item on its line is blank, so that columns stay
    assert content[offset : offset + len(text)].strip().endswith(text.strip())


@pytest.mark.parametrize(
    "content",
    ["items: [{a: 1}]", "items:\n", "{}", '{"items": 1}', '{"items": [', '{"items": [{}]}', "kind: List\n", ""],
)
def test_what_has_no_such_item_is_not_cut(content: str) -> None:
    assert cut_item(content, 1) is None


def test_duplicate_keys_of_one_item_are_its_own_only() -> None:
    content = as_yaml()(-1).replace("name: monitor-5\n", "name: monitor-5\n    name: monitor-5\n", 1)

    diagnostic = found(content)

    assert "duplicate-key" == diagnostic.code
    assert "    name: monitor-5" == diagnostic.position.excerpt
