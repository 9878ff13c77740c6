"""Where something in a plan was written: the way back from a change to a file and a line."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from compiler.config import Config
from compiler.diagnostics import Position
from compiler.model import Model
from compiler.source import Place

__all__ = ["Origins"]


class Origins:
    """Finds the places in the input that a plan was made of."""

    def __init__(self, model: Model) -> None:
        self._config = model.config
        self._owners = {r.owner: r.place for r in model.resources}

    def find(self, causes: Iterable[str]) -> Position | None:
        """Look up the first cause that is in the input.

        Args:
            causes: paths in the configuration (``registries.docker.io.check.interval``) or ``Kind/name`` of a resource.
        """
        for cause in causes:
            place = self._owners.get(cause) or _setting(self._config, cause)
            if place is not None:
                # a setting is found by its key, a resource by the first line of its document
                return place.position(key=bool(place.path) and cause not in self._owners)
        return None


def _setting(config: Config, cause: str) -> Place | None:
    for name, place in config.places.items():
        written = place.path[-1]
        for spelling in (name, written):
            base = f"registries.{spelling}"
            if cause == base or cause.startswith(f"{base}."):
                steps = cause[len(base) + 1 :].split(".") if cause != base else []
                return place.at(steps) if _exists(place, steps) else None
    return None


def _exists(place: Place, steps: Iterable[str]) -> bool:
    value: Any = place.document.value
    for step in (*place.path, *steps):
        if not isinstance(value, dict) or step not in value:
            return False
        value = value[step]
    return True
