"""Label selectors against the rules of Kubernetes, by tables and against a naive second reading of those rules."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compiler.selectors import (
    InvalidSelector,
    Operator,
    Path,
    Requirement,
    Selector,
    dns_subdomain_error,
    label_key_error,
    label_value_error,
    parse_selector,
    selector_errors,
)


def expression(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": list(values)}


WEB = {"app": "web", "tier": "front", "empty": ""}
MATCHES: list[tuple[Any, bool]] = [
    # absent and empty match everything
    (None, True),
    ({}, True),
    ({"matchLabels": {}}, True),
    ({"matchLabels": None, "matchExpressions": None}, True),
    ({"matchExpressions": []}, True),
    ({"matchLabels": {"app": "web"}}, True),
    ({"matchLabels": {"app": "db"}}, False),
    ({"matchLabels": {"app": "Web"}}, False),
    ({"matchLabels": {"missing": ""}}, False),
    ({"matchLabels": {"empty": ""}}, True),
    ({"matchLabels": {"app": "web", "tier": "front"}}, True),
    ({"matchLabels": {"app": "web", "tier": "back"}}, False),
    ({"matchExpressions": [expression("app", "In", "db", "web")]}, True),
    ({"matchExpressions": [expression("app", "In", "db")]}, False),
    ({"matchExpressions": [expression("missing", "In", "db")]}, False),
    ({"matchExpressions": [expression("missing", "In", "")]}, False),
    ({"matchExpressions": [expression("empty", "In", "")]}, True),
    ({"matchExpressions": [expression("app", "NotIn", "db")]}, True),
    ({"matchExpressions": [expression("app", "NotIn", "db", "web")]}, False),
    # without the key there is nothing that could be in the list
    ({"matchExpressions": [expression("missing", "NotIn", "db")]}, True),
    ({"matchExpressions": [expression("missing", "NotIn", "")]}, True),
    ({"matchExpressions": [expression("empty", "NotIn", "")]}, False),
    ({"matchExpressions": [expression("empty", "Exists")]}, True),
    ({"matchExpressions": [expression("missing", "Exists")]}, False),
    ({"matchExpressions": [{"key": "app", "operator": "Exists"}]}, True),
    ({"matchExpressions": [{"key": "app", "operator": "Exists", "values": None}]}, True),
    ({"matchExpressions": [expression("empty", "DoesNotExist")]}, False),
    ({"matchExpressions": [expression("missing", "DoesNotExist")]}, True),
    # everything must be met
    ({"matchLabels": {"app": "web"}, "matchExpressions": [expression("tier", "Exists")]}, True),
    ({"matchLabels": {"app": "web"}, "matchExpressions": [expression("tier", "DoesNotExist")]}, False),
    ({"matchExpressions": [expression("app", "In", "web"), expression("app", "NotIn", "web")]}, False),
]
REFUSED: list[tuple[Any, list[tuple[Path, str]]]] = [
    ([], [((), "must be a mapping, not a list")]),
    ("app=web", [((), 'must be a mapping, not "app=web"')]),
    ({"app": "web"}, [(("app",), "known are matchLabels, matchExpressions")]),
    ({"matchlabels": {"app": "web"}}, [(("matchlabels",), 'unknown field "matchlabels"')]),
    ({"matchLabels": ["app"]}, [(("matchLabels",), "must be a mapping, not a list")]),
    ({"matchLabels": {"app": 1}}, [(("matchLabels", "app"), 'must be text, not 1; write "1"')]),
    ({"matchLabels": {"app": True}}, [(("matchLabels", "app"), 'must be text, not true; write "true"')]),
    ({"matchLabels": {"app": None}}, [(("matchLabels", "app"), "must be text, not empty")]),
    ({"matchLabels": {"app": {"in": []}}}, [(("matchLabels", "app"), "must be text, not a mapping")]),
    ({"matchLabels": {1: "web"}}, [(("matchLabels", 1), 'must be text, not 1; write "1"')]),
    ({"matchLabels": {"-app": "web"}}, [(("matchLabels", "-app"), "is not a label key")]),
    ({"matchLabels": {"app": "a b"}}, [(("matchLabels", "app"), "is not a label value")]),
    ({"matchExpressions": {"key": "app"}}, [(("matchExpressions",), "must be a list, not a mapping")]),
    ({"matchExpressions": ["app"]}, [(("matchExpressions", 0), "must be a mapping")]),
    (
        {"matchExpressions": [{}]},
        [(("matchExpressions", 0), "needs a key"), (("matchExpressions", 0), "needs an operator: In, NotIn")],
    ),
    (
        {"matchExpressions": [expression("app", "in", "web")]},
        [(("matchExpressions", 0, "operator"), 'unknown operator "in"; did you mean "In"?')],
    ),
    (
        {"matchExpressions": [expression("app", "Equals", "web")]},
        [(("matchExpressions", 0, "operator"), "known are In, NotIn, Exists, DoesNotExist")],
    ),
    (
        {"matchExpressions": [{"key": "app", "operator": ["In"], "values": ["web"]}]},
        [(("matchExpressions", 0, "operator"), "unknown operator a list")],
    ),
    (
        {"matchExpressions": [expression("app", "In")]},
        [(("matchExpressions", 0, "values"), "In needs at least one value")],
    ),
    (
        {"matchExpressions": [{"key": "app", "operator": "NotIn"}]},
        [(("matchExpressions", 0), "NotIn needs at least one value")],
    ),
    (
        {"matchExpressions": [expression("app", "Exists", "web")]},
        [(("matchExpressions", 0, "values"), "Exists takes no values")],
    ),
    (
        {"matchExpressions": [expression("app", "DoesNotExist", "")]},
        [(("matchExpressions", 0, "values"), "DoesNotExist takes no values")],
    ),
    (
        {"matchExpressions": [{"key": "app", "operator": "In", "values": "web"}]},
        [(("matchExpressions", 0, "values"), 'must be a list, not "web"')],
    ),
    (
        {"matchExpressions": [{"key": "app", "operator": "In", "values": ["web", 2, "a b"], "value": "x"}]},
        [
            (("matchExpressions", 0, "value"), 'unknown field "value"'),
            (("matchExpressions", 0, "values", 1), "must be text, not 2"),
            (("matchExpressions", 0, "values", 2), "is not a label value"),
        ],
    ),
    (
        {"matchLabels": {"a/b/c": "x"}, "matchExpressions": [expression("app", "In", "web"), expression("", "Exists")]},
        [(("matchLabels", "a/b/c"), "is not a DNS subdomain"), (("matchExpressions", 1, "key"), "it has no name")],
    ),
]
KEYS = [
    ("app", True),
    ("a", True),
    ("1-num", True),
    ("1234", True),
    ("simple/simple", True),
    ("now-with-dashes/simple", True),
    ("now.with.dots/simple", True),
    ("1-num.2-num/3-num", True),
    ("app.kubernetes.io/name", True),
    ("only/one/slash", False),
    ("Example.com/an", True),
    ("example.com/Uc_it-DOES.9", True),
    (f"{'a' * 63}", True),
    (f"{'a' * 64}", False),
    (f"{'a' * 253}/a", True),
    (f"{'a' * 254}/a", False),
    ("", False),
    ("/name", False),
    ("prefix/", False),
    ("a b", False),
    ("-a", False),
    ("a-", False),
    ("_a", False),
    ("a.", False),
    ("a\n", False),
    ("ä", False),
    ("under_score.io/a", False),
    ("a..b/c", False),
    ("-a.b/c", False),
]


@pytest.mark.parametrize("selector,selected", MATCHES)
def test_a_selector_selects_as_kubernetes_does(selector: Any, selected: bool) -> None:
    assert selected == parse_selector(selector).matches(WEB)


@pytest.mark.parametrize("selector,faults", REFUSED)
def test_everything_wrong_is_named_with_its_place(selector: Any, faults: list[tuple[Path, str]]) -> None:
    found = selector_errors(selector)
    assert [path for path, _ in faults] == [path for path, _ in found]
    assert [part for _, part in faults] == [
        part for (_, part), (_, message) in zip(faults, found, strict=True) if part in message
    ]


@pytest.mark.parametrize("selector,faults", REFUSED)
def test_a_selector_with_a_fault_is_refused_for_the_first(selector: Any, faults: list[tuple[Path, str]]) -> None:
    with pytest.raises(InvalidSelector) as refusal:
        parse_selector(selector)
    assert faults[0][0] == refusal.value.path
    assert faults[0][1] in str(refusal.value)


@pytest.mark.parametrize("key,is_legal", [k for k in KEYS if k[0] != "Example.com/an"])
def test_a_label_key_is_a_qualified_name(key: str, is_legal: bool) -> None:
    assert is_legal == (label_key_error(key) is None)


def test_the_prefix_of_a_label_key_is_lower_case() -> None:
    assert "DNS subdomain" in str(label_key_error("Example.com/an"))


@pytest.mark.parametrize("value", ["", "a", "1", "Simple.1_b-c", "a" * 63])
def test_a_label_value_is_empty_or_a_name(value: str) -> None:
    assert label_value_error(value) is None


@pytest.mark.parametrize("value", ["a" * 64, "-a", "a.", "_", "a b", "a/b", "a\n", "ä", " "])
def test_another_label_value_is_refused(value: str) -> None:
    assert "is not a label value" in str(label_value_error(value))


@pytest.mark.parametrize("name", ["a", "a.b", "a-b.c1", "1.2.3.4", "a" * 253])
def test_a_dns_subdomain_is_lower_case_labels(name: str) -> None:
    assert dns_subdomain_error(name) is None


@pytest.mark.parametrize("name", ["", "A", "a.", ".a", "a..b", "a-.b", "a_b", "a\n", "a b", "a" * 254])
def test_another_name_is_refused(name: str) -> None:
    assert dns_subdomain_error(name) is not None


def test_selectors_that_say_the_same_are_equal() -> None:
    one = {"matchLabels": {"b": "2", "a": "1"}, "matchExpressions": [expression("c", "In", "x", "y")]}
    other = {
        "matchExpressions": [expression("c", "In", "y", "x", "x"), expression("a", "In", "1")],
        "matchLabels": {"a": "1", "b": "2"},
    }
    assert parse_selector(one) == parse_selector(other)
    assert hash(parse_selector(one)) == hash(parse_selector(other))


def test_only_a_selector_without_requirements_is_everything() -> None:
    assert parse_selector(None).is_everything
    assert parse_selector({"matchLabels": {}}).is_everything
    assert not parse_selector({"matchExpressions": [expression("a", "DoesNotExist")]}).is_everything


def test_the_keys_are_all_that_is_looked_at() -> None:
    selector = {
        "matchLabels": {"b": "2"},
        "matchExpressions": [expression("a", "DoesNotExist"), expression("b", "Exists")],
    }
    assert ("a", "b") == parse_selector(selector).keys()


def test_a_selector_is_written_as_kubectl_takes_it() -> None:
    selector = {
        "matchLabels": {"app": "web"},
        "matchExpressions": [
            expression("env", "NotIn", "dev", "ci"),
            expression("kind", "In", "b", "a"),
            expression("old", "DoesNotExist"),
            expression("tier", "Exists"),
            expression("zone", "NotIn", "x"),
        ],
    }
    assert "app=web,env notin (ci,dev),kind in (a,b),!old,tier,zone!=x" == str(parse_selector(selector))


NAMES = st.sampled_from(["a", "b", "c.io/a"])
VALUES = st.sampled_from(["", "x", "y"])
LABELS = st.dictionaries(NAMES, VALUES)
EXPRESSIONS = st.one_of(
    st.builds(
        lambda k, o, v: expression(k, o, *v), NAMES, st.sampled_from(["In", "NotIn"]), st.lists(VALUES, min_size=1)
    ),
    st.builds(expression, NAMES, st.sampled_from(["Exists", "DoesNotExist"])),
)
SELECTORS = st.fixed_dictionaries(
    {}, optional={"matchLabels": LABELS, "matchExpressions": st.lists(EXPRESSIONS, max_size=4)}
)


def naive(selector: dict[str, Any], labels: dict[str, str]) -> bool:
    """Decide as the prose of the Kubernetes documentation does, one sentence a case."""
    for key, value in selector.get("matchLabels", {}).items():
        if key not in labels or labels[key] != value:
            return False
    for e in selector.get("matchExpressions", []):
        is_there = e["key"] in labels
        is_listed = is_there and labels[e["key"]] in e["values"]
        met = {"In": is_listed, "NotIn": not is_listed, "Exists": is_there, "DoesNotExist": not is_there}
        if not met[e["operator"]]:
            return False
    return True


@given(SELECTORS, LABELS)
def test_a_naive_reading_of_the_rules_agrees(selector: dict[str, Any], labels: dict[str, str]) -> None:
    assert naive(selector, labels) == parse_selector(selector).matches(labels)


@given(SELECTORS, st.randoms(use_true_random=False))
def test_the_order_of_conditions_says_nothing(selector: dict[str, Any], random: Any) -> None:
    shuffled = {
        "matchExpressions": list(selector.get("matchExpressions", [])),
        "matchLabels": selector.get("matchLabels"),
    }
    random.shuffle(shuffled["matchExpressions"])
    assert parse_selector(selector) == parse_selector(shuffled)
    assert str(parse_selector(selector)) == str(parse_selector(shuffled))


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["matchLabels", "matchExpressions", "key", "operator", "values"]) | st.integers(), inner
        )
    ),
)


@given(PLAIN)
def test_any_plain_value_is_read_or_refused(value: Any) -> None:
    faults = selector_errors(value)
    if faults:
        with pytest.raises(InvalidSelector):
            parse_selector(value)
    else:
        assert isinstance(parse_selector(value), Selector)


def test_a_requirement_is_a_value() -> None:
    assert Requirement("a", Operator.IN, frozenset("x")) == parse_selector({"matchLabels": {"a": "x"}}).requirements[0]
