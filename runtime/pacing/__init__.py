"""The pacing of page 1 as a state machine without I/O, in the manner of h11 and h2.

``Engine`` is the surface, ``values`` what goes in and out. Inside, from small to large: a ``Grid`` says when windows
open, a ``Series`` what becomes of each, a ``Ring`` and a ``Queue`` what an owner reads next, ``Answers`` what need not
be asked again, a ``Host`` holds them together.
"""

from __future__ import annotations

from runtime.pacing.engine import Engine
from runtime.pacing.values import (
    Applied,
    CopyFailure,
    Ended,
    Lap,
    Outcome,
    OwnerStatus,
    Policy,
    QueueStatus,
    Read,
    Record,
    Response,
    RingStatus,
    Scan,
    SeriesStatus,
    UnknownRead,
    Verdict,
    Visit,
    Window,
)

__all__ = [
    "Applied",
    "CopyFailure",
    "Ended",
    "Engine",
    "Lap",
    "Outcome",
    "OwnerStatus",
    "Policy",
    "QueueStatus",
    "Read",
    "Record",
    "Response",
    "RingStatus",
    "Scan",
    "SeriesStatus",
    "UnknownRead",
    "Verdict",
    "Visit",
    "Window",
]
