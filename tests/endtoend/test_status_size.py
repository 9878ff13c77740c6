"""A status never nears etcd's limit of 1.5 MiB, whatever happens to registries and to pods (page 3, "Status")."""

from __future__ import annotations

import json

from compiler.duration import HOUR, SECOND
from compiler.resources import ImageMonitor, Selection
from compiler.selectors import Selector
from compiler.source import Document
from runtime.controller.ledger import Ledger
from runtime.controller.preparing import Use
from runtime.controller.retention import LONGEST, Retained, retain
from runtime.controller.statuses import LISTED, Finding, monitor_status
from runtime.pacing import OwnerStatus, Response, Verdict

ETCD_LIMIT = 3 * 2**19
NOW = 1_800_000_000 * SECOND
OWNER = "ImageMonitor/all"
EVERYTHING = Selector()
PLACE = Document("cluster", 1, {}).place
MONITOR = ImageMonitor("all", Selection(EVERYTHING, EVERYTHING), suspended=False, place=PLACE)


def size(use: Use, ledger: Ledger) -> int:
    finding = Finding(
        OWNER, None, {"quay.io": [*use.pods, *use.retained]}, OwnerStatus(), ledger, lambda moment: moment
    )
    status, conditions = monitor_status(MONITOR, use, finding)
    return len(json.dumps({**status, "conditions": [c._asdict() for c in conditions]}))


def gone(count: int, length: int) -> dict[str, Retained]:
    """Images that pods used until a moment ago, each a second longer unused than the one before."""
    names = (f"quay.io/{n:05}/{'x' * (length - 17)}:1" for n in range(count))
    return {ref: Retained(ref, NOW - n * SECOND, f"sha256:{n:064x}") for n, ref in enumerate(names)}


def test_ten_thousand_unavailable_images_stay_under_100_kib() -> None:
    ledger, pods = Ledger(), {f"quay.io/a-team-with-a-long-name/an-application-{n:05}:v1.2.3": 3 for n in range(10_000)}
    for image in pods:
        ledger.visited(OWNER, image, Response(Verdict.NOT_FOUND), NOW)
    running = {image: frozenset({f"sha256:{n:064x}"}) for n, image in enumerate(pods)}

    status, _ = monitor_status(MONITOR, Use(pods, running), Finding(OWNER, None, {}, OwnerStatus(), ledger, int))

    assert 10_000 == status["images"]["unavailable"]
    assert LISTED == len(status["unavailableImages"])
    assert size(Use(pods, running), ledger) < 100 * 1024


def test_retained_images_are_complete_to_5000() -> None:
    retained, is_truncated = retain(gone(LONGEST, 100), frozenset(), HOUR * 24, NOW)

    assert (LONGEST, False) == (len(retained), is_truncated)
    assert size(Use(retained=retained), Ledger()) < ETCD_LIMIT


def test_retained_images_of_the_longest_names_are_as_many_as_etcd_takes() -> None:
    candidates = gone(LONGEST, 380)

    retained, is_truncated = retain(candidates, frozenset(), HOUR * 24, NOW)

    assert is_truncated
    assert 2000 < len(retained)
    assert sorted(retained) == sorted([*candidates][: len(retained)]), "those that are unused longest went first"
    assert size(Use(retained=retained), Ledger()) < ETCD_LIMIT - 100 * 1024
