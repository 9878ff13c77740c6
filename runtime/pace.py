"""The pace as a file of the state folder: how ``kuik status`` knows when windows open without asking anybody.

    STATE/pace.json    the anchor and interval of each series, and what queues hold

Its times are those of the wall clock. It is written when something in it changes, not when a window opens: who knows
an anchor and an interval can count on.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runtime.cluster.state import BEING_WRITTEN

__all__ = ["is_led", "publish_into", "read_pace"]

_FILE = "pace.json"


@dataclass(frozen=True, slots=True)
class _Publisher:
    folder: Path

    def __call__(self, pace: dict[str, Any]) -> None:
        # a crash may leave the file before: it was as true a moment ago, so nothing is synced
        temporary = self.folder / f"{BEING_WRITTEN}{_FILE}.{os.getpid()}"
        try:
            temporary.write_text(json.dumps(pace), encoding="utf-8")
            temporary.replace(self.folder / _FILE)
        except OSError:
            temporary.unlink(missing_ok=True)
            raise


def publish_into(folder: Path) -> Callable[[dict[str, Any]], None]:
    """Give what writes the pace into a state folder, which is there by then."""
    return _Publisher(folder)


def read_pace(folder: Path) -> dict[str, Any] | None:
    """Read the pace that a process has published; None where none has."""
    try:
        pace = json.loads((folder / _FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return pace if isinstance(pace, dict) else None


def is_led(folder: Path) -> bool:
    """Say whether a process holds the lock of a state folder at this moment."""
    try:
        lock = (folder / "lock").open("rb")
    except OSError:
        return False
    with lock:
        try:
            # held for no longer than it takes to let go; who comes just then tries again
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return True
    return False
