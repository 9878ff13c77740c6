"""Composes the comment: without a difference the plan; with one the changes, and the plan folded below."""

from __future__ import annotations

from typing import Final

from compiler.changes import plural
from compiler.diff import Diff, Sources
from compiler.plan import Plan
from compiler.render.markdown.blocks import fold, join, paragraph, section
from compiler.render.markdown.difference import difference_blocks
from compiler.render.markdown.names import code, prose
from compiler.render.markdown.plan import costs, images, registries, resources

__all__ = ["LIMIT", "render"]

LIMIT: Final = 60_000
"""The most bytes of a comment. GitHub takes 65,536 characters; the rest is for what a workflow adds around it."""

_SUPERSET: Final = "\n\nMade from templates: a superset of what the cluster runs."


def render(
    plan: Plan,
    difference: Diff | None = None,
    *,
    against: str = "",
    sources: Sources | None = None,
    limit: int = LIMIT,
) -> str:
    """Write a plan, and what changes, as a comment.

    Args:
        plan: the new plan.
        difference: how it differs from another plan.
        against: the name of that other plan.
        sources: tells where a change was written.
        limit: the most bytes of UTF-8, at least 10,000. What has no room is left out line by line, and the comment says
            how much that was.
    """
    note = _SUPERSET if plan.superset else ""
    plans = {"Registries": registries(plan), "Resources": resources(plan), "What it costs": costs(plan)}
    if difference is None:
        blocks = [paragraph(f"## Window plan\n\n{_size(plan)}{note}")]
        blocks += [*(section(name, block) for name, block in plans.items()), images(plan)]
    else:
        title = f"## Window plan, against {code(against)}\n\n{prose(difference.summary())}{note}"
        blocks = [paragraph(title), *difference_blocks(difference, sources)]
        blocks += [fold(f"The plan: {name.lower()}", block) for name, block in plans.items()]
    return join(blocks, limit)


def _size(plan: Plan) -> str:
    owners = {ring.owner for h in plan.hosts for ring in h.check.rings}
    owners |= {queue.owner for h in plan.hosts for queue in h.copy.queues}
    registries = f"{len(plan.hosts)} {'registry' if len(plan.hosts) == 1 else 'registries'}"
    return f"{registries}, read by {plural(len(owners), 'resource')}."
