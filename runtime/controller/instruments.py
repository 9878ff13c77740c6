"""The instruments of a process: what it reads the time from, and what it shows itself on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from runtime.controller.times import Clocks
from runtime.metrics import Metrics

__all__ = ["Instruments", "Publish"]

Publish: TypeAlias = Callable[[dict[str, Any]], None]
"""Takes the pace as a document; called in a thread. Raises ``OSError`` where it can't be put down."""


@dataclass(frozen=True, slots=True)
class Instruments:
    """One set for all parts of the controller.

    Attributes:
        publish: takes the pace for other processes to read; None where nobody does.
    """

    metrics: Metrics = field(default_factory=Metrics)
    clocks: Clocks = field(default_factory=Clocks)
    publish: Publish | None = None
