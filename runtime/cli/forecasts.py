"""Adds what the engine foresees to a compilation; the compiler knows no engine, the controller needs no forecast."""

from __future__ import annotations

from dataclasses import replace

from compiler.checks.forecasts import laps_fit_the_retention, queues_drain_in_a_day
from compiler.compilation import Compilation
from runtime.simulation import forecast

__all__ = ["foreseen"]


def foreseen(compilation: Compilation) -> Compilation:
    """Give a compilation whose plan has forecasts, with the warnings that these give rise to."""
    if compilation.plan is None:
        return compilation
    plan, model = forecast(compilation.plan), compilation.model
    late = (*laps_fit_the_retention(model, plan), *queues_drain_in_a_day(model, plan))
    return replace(compilation, plan=plan).also(late)
