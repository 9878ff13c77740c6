"""The engine in virtual time: ``kuik simulate``, and the forecasts of a plan. No clock, no network, no file."""

from __future__ import annotations

from runtime.simulation.driver import Reload, Simulation
from runtime.simulation.forecast import forecast
from runtime.simulation.lines import Line, to_document
from runtime.simulation.script import Entry, InvalidScript, parse_script
from runtime.simulation.situation import Situation, policy_of, situation_of
from runtime.simulation.summary import QueueSummary, RingSummary, SeriesSummary, Summary

__all__ = [
    "Entry",
    "InvalidScript",
    "Line",
    "QueueSummary",
    "Reload",
    "RingSummary",
    "SeriesSummary",
    "Simulation",
    "Situation",
    "Summary",
    "forecast",
    "parse_script",
    "policy_of",
    "situation_of",
    "to_document",
]
