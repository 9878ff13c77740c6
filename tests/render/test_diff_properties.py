"""What holds for the difference of any two plans."""

from __future__ import annotations

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

import schemas
from compiler.changes import ImagesChange, OwnerJoins, OwnerLeaves, SeriesRestarts
from compiler.diff import diff
from compiler.plan import Operation, Plan, without_forecasts
from compiler.plan_document import to_document


@given(data=st.data())
def test_a_plan_does_not_differ_from_itself(data: st.DataObject, plans: st.SearchStrategy[Plan]) -> None:
    plan = data.draw(plans)
    found = diff(plan, plan)
    assert found.is_empty
    assert found.summary() == "Nothing changes."
    assert found.unchanged == tuple((host, operation) for host, operation, _ in plan.series())


@given(data=st.data())
def test_two_plans_differ_exactly_when_something_is_found(
    data: st.DataObject, changes: st.SearchStrategy[tuple[Plan, Plan]]
) -> None:
    old, new = data.draw(changes)
    found = diff(old, new)
    assert found.is_empty == (without_forecasts(old) == without_forecasts(new))
    assert (found.summary() == "Nothing changes.") == found.is_empty


@given(data=st.data())
@pytest.mark.rule("H2")
def test_h2_a_series_restarts_exactly_when_its_effective_interval_changes(
    data: st.DataObject, changes: st.SearchStrategy[tuple[Plan, Plan]]
) -> None:
    old, new = data.draw(changes)
    was = {(host, operation): series.interval for host, operation, series in old.series()}
    expected = {
        (host, operation)
        for host, operation, series in new.series()
        if was.get((host, operation), series.interval) != series.interval
    }
    restarts = [c for c in diff(old, new).registries if isinstance(c, SeriesRestarts)]
    assert {(c.host, c.series) for c in restarts} == expected


@given(data=st.data())
def test_the_changes_lead_from_the_images_of_one_plan_to_those_of_the_other(
    data: st.DataObject, changes: st.SearchStrategy[tuple[Plan, Plan]]
) -> None:
    old, new = data.draw(changes)
    images = images_of(old)
    for change in diff(old, new).resources:
        key = (change.host, change.operation, change.owner)
        match change:
            case OwnerJoins():
                images[key] = set(change.images)
            case OwnerLeaves():
                del images[key]
            case ImagesChange():
                images[key] = images[key] - set(change.lost) | set(change.gained)
                assert len(images[key]) == change.after
    assert images == images_of(new)


@given(data=st.data())
def test_what_is_unchanged_is_the_same_in_both(
    data: st.DataObject, changes: st.SearchStrategy[tuple[Plan, Plan]]
) -> None:
    old, new = data.draw(changes)
    was, now = ({(h, o): s for h, o, s in p.series()} for p in (old, new))
    for key in diff(old, new).unchanged:
        assert was[key] == now[key]


@given(data=st.data())
def test_every_change_is_a_sentence_with_a_place(
    data: st.DataObject, changes: st.SearchStrategy[tuple[Plan, Plan]]
) -> None:
    old, new = data.draw(changes)
    for change in diff(old, new).changes:
        assert change.text
        assert "\n" not in change.text
        assert change.to_document()["reason"] == change.text


@given(data=st.data())
def test_the_document_is_valid_against_its_schema(
    data: st.DataObject, changes: st.SearchStrategy[tuple[Plan, Plan]]
) -> None:
    old, new = data.draw(changes)
    validator().validate({**diff(old, new).to_document(), "plan": to_document(new)})


@cache
def validator() -> Draft202012Validator:
    return Draft202012Validator(schemas.load("plandiff"))


def images_of(plan: Plan) -> dict[tuple[str, Operation, str], set[str]]:
    rings = {(h.host, Operation.CHECK, r.owner): set(r.images) for h in plan.hosts for r in h.check.rings}
    queues = {(h.host, Operation.COPY, q.owner): {c.image for c in q.images} for h in plan.hosts for q in h.copy.queues}
    return rings | queues
