"""A controller's compilation: one team's mistake stops nobody else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from compiler.compilation import Compilation, compile_state
from compiler.config import Config
from compiler.model import Model
from compiler.reference import parse_reference
from compiler.resources import ImageMonitor
from compiler.source import Document, Object
from compiler.workloads import Workload


def resource(kind: str, name: str, spec: Mapping[str, Any], created: str = "") -> Object:
    metadata = {"name": name, **({"creationTimestamp": created} if created else {})}
    value = {"apiVersion": "kuik.enix.io/v1alpha1", "kind": kind, "metadata": metadata, "spec": spec}
    return Object(value, Document(f"{kind}/{name}", 1, value).place, kind, "kuik.enix.io/v1alpha1")


def mirror(name: str, path: str, created: str = "") -> Object:
    return resource("ImageMirror", name, {"destination": {"path": path}}, created)


def compiled(*resources: Object) -> Compilation:
    workload = Workload("shop", {}, (parse_reference("nginx:1.29"),))
    return compile_state(Config(), resources, [workload], {})


def owners(compilation: Compilation) -> list[str]:
    assert compilation.plan is not None
    return [q.owner for h in compilation.plan.hosts for q in h.copy.queues]


def test_a_resource_with_a_mistake_is_left_out_and_the_others_go_on() -> None:
    compilation = compiled(mirror("good", "r.tld/good"), mirror("bad", "https://r.tld/bad"))

    assert ["ImageMirror/good"] == owners(compilation)
    assert {"ImageMirror/bad"} == set(compilation.refused)


def test_of_two_mirrors_whose_destinations_nest_the_older_one_stays() -> None:
    old = mirror("b", "r.tld/m", "2026-01-01T00:00:00Z")
    new = mirror("a", "r.tld/m/x", "2026-02-01T00:00:00Z")

    for resources in ((old, new), (new, old)):
        compilation = compiled(*resources)
        assert ["ImageMirror/b"] == owners(compilation)
        assert {"ImageMirror/a"} == set(compilation.refused)


def test_of_a_resource_that_is_there_twice_the_first_stays() -> None:
    compilation = compiled(mirror("m", "r.tld/one"), mirror("m", "r.tld/two"))

    assert ["ImageMirror/m"] == owners(compilation)
    assert {"ImageMirror/m"} == set(compilation.refused)
    assert "second time" in compilation.refused["ImageMirror/m"][0].message


def test_a_revision_changes_the_model_before_the_plan_is_made() -> None:
    def keep_redis(model: Model) -> Model:
        (monitor,) = model.monitors
        return replace(model, resources=(replace(monitor, retained=(parse_reference("redis:8"),)),))

    monitor = resource("ImageMonitor", "all", {})
    compilation = compile_state(Config(), [monitor], [], {}, keep_redis)

    assert compilation.plan is not None
    assert isinstance(compilation.model.resources[0], ImageMonitor)
    (host,) = compilation.plan.hosts
    assert ("docker.io/library/redis:8",) == host.check.rings[0].images
