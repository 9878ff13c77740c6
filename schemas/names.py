"""How the kinds are called on the command line of kubectl, and which columns it prints of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

__all__ = ["NAMES", "Column", "Names"]


@dataclass(frozen=True, slots=True)
class Column:
    """A column of ``kubectl get``.

    Attributes:
        name: its head; kubectl prints it in upper case.
        type: ``string``, ``integer``, ``boolean`` or ``date``, as OpenAPI has them.
        path: where its value stands in the object, as a JSONPath of kubectl.
        description: one sentence for whoever reads the definition.
        priority: above 0 it is shown with ``-o wide`` only.
    """

    name: str
    type: str
    path: str
    description: str
    priority: int = 0


@dataclass(frozen=True, slots=True)
class Names:
    """The names of a kind; ``short`` are what kubectl takes instead of the plural."""

    plural: str
    short: tuple[str, ...]
    columns: tuple[Column, ...]


def _condition(name: str, description: str, priority: int = 0) -> Column:
    return Column(name, "string", f'.status.conditions[?(@.type=="{name}")].status', description, priority)


_READY: Final = _condition("Ready", "Whether the spec is in force.")
_AGE: Final = Column("Age", "date", ".metadata.creationTimestamp", "How long the resource has existed.")
_SUSPENDED: Final = Column("Suspended", "boolean", ".spec.suspend", "Whether it takes no turn.", 1)

# what an operator asks first stands in the narrow table: is anything wrong, and is the spec in force
NAMES: Final[Mapping[str, Names]] = {
    "ImageMonitor": Names(
        "imagemonitors",
        ("imon",),
        (
            Column("Images", "integer", ".status.images.tracked", "Images that are checked."),
            Column("Unavailable", "integer", ".status.images.unavailable", "Images that could not be read."),
            Column("Drifted", "integer", ".status.images.drifted", "Images whose tag has moved."),
            Column("Unknown", "integer", ".status.images.unknown", "Images without a verdict yet.", 1),
            _SUSPENDED,
            _READY,
            _AGE,
        ),
    ),
    "ImageMirror": Names(
        "imagemirrors",
        ("imir",),
        (
            Column("Destination", "string", ".spec.destination.path", "Where the copies go."),
            Column("Desired", "integer", ".status.images.desired", "Images that are wanted there."),
            Column("Copied", "integer", ".status.images.copied", "Images that are there."),
            Column("Pending", "integer", ".status.images.pending", "Images that are not there yet.", 1),
            Column("Drift", "string", ".spec.driftPolicy", "What is done about a tag that moved.", 1),
            _SUSPENDED,
            _condition("DestinationInSync", "Whether every wanted image is there.", 1),
            _READY,
            _AGE,
        ),
    ),
    "ImageAlternative": Names(
        "imagealternatives",
        ("ialt",),
        (
            Column("Policy", "string", ".spec.rewritePolicy", "When a pod is sent to another place."),
            Column("Pods", "integer", ".status.pods.tracked", "Pods that it applies to."),
            Column("Rewritten", "integer", ".status.pods.rewritten", "Pods that were sent to another place."),
            Column("Unserved", "integer", ".status.pods.noAlternatives", "Pods whose image no place served."),
            _SUSPENDED,
            _READY,
            _AGE,
        ),
    ),
}
