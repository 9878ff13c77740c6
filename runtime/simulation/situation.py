"""What a simulation starts from, and what a reload replaces it by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from compiler.plan import Plan
from runtime.pacing import Policy, Record, RingStatus

if TYPE_CHECKING:
    # who has a model has these; who has only a plan needs no reader of YAML
    from compiler.model import Model
    from compiler.resources import ImageMirror, ImageMonitor

__all__ = ["Situation", "policy_of", "situation_of"]


@dataclass(frozen=True, slots=True)
class Situation:
    """A configuration with resources and workloads, as far as the engine is concerned.

    Attributes:
        records: by owner, the cursors that status in the input tells; laps start with the simulation.
    """

    plan: Plan
    policy: Policy = field(default_factory=Policy)
    records: Mapping[str, Record] = field(default_factory=dict)


def situation_of(model: Model, plan: Plan) -> Situation:
    """Give the situation of a model and the plan that was compiled of it."""
    readers: list[ImageMirror | ImageMonitor] = [*model.mirrors, *model.monitors]
    records = {
        # status doesn't tell the time here; a cursor alone says that a lap is under way
        reader.owner: Record(tuple(RingStatus(host, 0, cursor, checked=1) for host, cursor in reader.cursors))
        for reader in readers
        if reader.cursors
    }
    return Situation(plan, policy_of(model), records)


def policy_of(model: Model) -> Policy:
    """Give what the engine must know of a model beside its plan."""
    config = model.config
    return Policy(
        check_interval=config.check.interval,
        copy_interval=config.copy.interval,
        synced=frozenset(mirror.owner for mirror in model.mirrors if mirror.drift_policy == "Sync"),
        retry_base=config.mirroring.retry_base,
        retry_longest=config.mirroring.retry_max,
    )
