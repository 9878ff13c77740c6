"""The rules that look at two things: what they refuse, what they warn of, and what they leave to the schema."""

from __future__ import annotations

import json
from typing import Any

import pytest

from compiler.compilation import Compilation, compile_plan
from compiler.source import Text

GROUP = "kuik.enix.io/v1alpha1"


def resource(kind: str, spec: Any, name: str = "one") -> Text:
    value = {"apiVersion": GROUP, "kind": kind, "metadata": {"name": name}, "spec": spec}
    return Text(f"{kind}-{name}.json", json.dumps(value))


def codes(compilation: Compilation) -> list[str]:
    return [str(d.code) for d in compilation.diagnostics]


@pytest.mark.parametrize("alternatives", [5, 1.5, True, "text", {"imagePrefix": "a/"}, ["a/", 5]])
def test_alternatives_that_are_no_list_of_mappings_are_refused_by_their_type(alternatives: Any) -> None:
    compilation = compile_plan(None, [resource("ImageAlternative", {"alternatives": alternatives})])

    assert {"wrong-type"} == set(codes(compilation))


def test_the_host_of_a_destination_is_no_unused_host() -> None:
    config = Text("config.yaml", "registries: {'registry.tld:443': {caFile: /ca.pem}, quay.io: {clusters: 2}}")
    mirror = resource("ImageMirror", {"destination": {"path": "registry.tld/mirror"}})

    (warning,) = compile_plan(config, [mirror]).diagnostics

    assert "nothing in the input is read from quay.io" == warning.message


def test_a_misspelled_host_may_be_that_of_a_destination() -> None:
    config = Text("config.yaml", "registries: {registry.tdl: {caFile: /ca.pem}}")
    mirror = resource("ImageMirror", {"destination": {"path": "registry.tld/mirror"}})

    (warning,) = compile_plan(config, [mirror]).diagnostics

    assert 'did you mean "registry.tld"?' == warning.help


@pytest.mark.rule("N1")
@pytest.mark.parametrize("clusters", [1, 2])
def test_an_effective_interval_is_no_longer_than_a_duration_can_be(clusters: int) -> None:
    entry = f"{{copy: {{interval: 2000000h}}, clusters: {clusters}}}"
    compilation = compile_plan(Text("config.yaml", f"registries: {{quay.io: {entry}}}"), [])

    assert ["unused-host" if clusters == 1 else "invalid-duration"] == codes(compilation)
    assert "config.yaml:1:" in str(compilation.diagnostics[0].position)


@pytest.mark.parametrize("written, meant", [("in", "In"), ("notin", "NotIn"), ("doesnotexist", "DoesNotExist")])
def test_an_operator_in_another_case_is_recognised(written: str, meant: str) -> None:
    expression = {"key": "app", "operator": written, "values": ["a"]}
    compilation = compile_plan(None, [resource("ImageMonitor", {"podSelector": {"matchExpressions": [expression]}})])

    assert [f'did you mean "{meant}"?'] == [d.help for d in compilation.diagnostics]


def test_in_a_stream_the_object_of_a_nested_list_is_named() -> None:
    monitor = {"apiVersion": GROUP, "kind": "ImageMonitor", "metadata": {"name": "all"}, "spec": {"suspended": True}}
    inner = {"apiVersion": "v1", "kind": "List", "items": [{"apiVersion": "v1", "kind": "Service"}, monitor]}
    outer = {"apiVersion": "v1", "kind": "List", "items": [inner]}
    (error,) = compile_plan(None, [Text("<stdin>", json.dumps(outer), is_stream=True)]).diagnostics

    assert "document 1 (ImageMonitor/all)" == error.position.file


@pytest.mark.parametrize("label, remedy", [("a: 5", "put the value in quotes"), ("5: a", "put the key in quotes")])
def test_a_label_that_is_not_text_is_a_warning_that_says_what_to_quote(label: str, remedy: str) -> None:
    pod = f"apiVersion: v1\nkind: Pod\nmetadata: {{name: web, labels: {{{label}}}}}\nspec: {{containers: []}}\n"

    assert [remedy] == [d.help for d in compile_plan(None, [Text("pod.yaml", pod)]).diagnostics]


@pytest.mark.parametrize("cluster", ["a\n", "a b", "", "a_b", "x" * 33])
def test_a_cluster_has_an_id_that_tags_can_end_in(cluster: str) -> None:
    compilation = compile_plan(Text("config.json", json.dumps({"clusterID": cluster})), [])

    assert ["invalid-value"] == codes(compilation)


def test_a_number_where_text_belongs_is_shown_as_it_was_written() -> None:
    spec = "{podSelector: {matchLabels: {version: 1.10}}}"
    monitor = f"apiVersion: {GROUP}\nkind: ImageMonitor\nmetadata: {{name: all}}\nspec: {spec}\n"

    (error,) = compile_plan(None, [Text("monitor.yaml", monitor)]).diagnostics

    assert 'write it in quotes: "1.10"' == error.help
