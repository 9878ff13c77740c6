"""What can differ between two plans: one type for each kind of change, and the sentence that says what it means.

The sentences live here and not in a renderer, so that the table, the comment on a pull request and the document of
``-o json`` say the same thing. What a reviewer has to know of a change is what it does to the windows: only a changed
interval restarts a series (H2), whatever else is written differently moves no window and no cursor (H3, H6, T4).
"""

from compiler.changes.change import Change, Document, Mark, plural
from compiler.changes.cost import Cost, DrainChanges, LapChanges, WindowsChange, compare_costs, windows_a_day
from compiler.changes.owners import compare_owners
from compiler.changes.paces import compare_paces
from compiler.changes.registry import (
    DefaultChanges,
    HostAppears,
    HostGoes,
    OriginMoves,
    Pace,
    RegistryChange,
    SeriesRestarts,
    Setting,
    SettingChanges,
    SupersetChanges,
    TimeoutChanges,
)
from compiler.changes.resource import (
    AccessChanges,
    ImagesChange,
    OrderChanges,
    OwnerJoins,
    OwnerLeaves,
    OwnerSuspends,
    ResourceChange,
)
from compiler.changes.summary import summarize

__all__ = [
    "AccessChanges",
    "Change",
    "Cost",
    "DefaultChanges",
    "Document",
    "DrainChanges",
    "HostAppears",
    "HostGoes",
    "ImagesChange",
    "LapChanges",
    "Mark",
    "OrderChanges",
    "OriginMoves",
    "OwnerJoins",
    "OwnerLeaves",
    "OwnerSuspends",
    "Pace",
    "RegistryChange",
    "ResourceChange",
    "SeriesRestarts",
    "Setting",
    "SettingChanges",
    "SupersetChanges",
    "TimeoutChanges",
    "WindowsChange",
    "compare_costs",
    "compare_owners",
    "compare_paces",
    "plural",
    "summarize",
    "windows_a_day",
]
