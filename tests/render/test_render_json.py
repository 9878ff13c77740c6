"""JSON that reads back the same and does nothing to a terminal."""

from __future__ import annotations

import json as stdlib
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from compiler.render import json

values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(st.characters())),
    lambda v: st.one_of(st.lists(v, max_size=3), st.dictionaries(st.text(max_size=5), v, max_size=3)),
    max_leaves=8,
)


@given(values)
def test_it_reads_back_the_same_and_is_text(value: Any) -> None:
    text = json.dump(value)
    assert stdlib.loads(text.encode()) == value
    assert text.endswith("\n")


def test_letters_stay_letters_and_keys_keep_their_order() -> None:
    assert json.dump({"b": "é → 日本", "a": []}) == '{\n  "b": "é → 日本",\n  "a": []\n}\n'


@given(st.text(st.characters(categories=["Cc", "Cf", "Cs", "Zl", "Zp"]), min_size=1))
def test_nothing_acts_on_a_terminal(text: str) -> None:
    assert all(line.isprintable() for line in json.dump([text]).split("\n"))
