"""Says whether what a tag points at is complete, by reading all of it."""

from __future__ import annotations

import json
from typing import Any

from tests.support.images import digest, fetch

__all__ = ["is_whole"]


def is_whole(host: str, repository: str, reference: str) -> bool:
    """Say whether a manifest is there; fail if anything that it needs is not."""
    body = fetch(host, f"{repository}/manifests/{reference}")
    if body is None:
        return False
    document: dict[str, Any] = json.loads(body)
    for child in document.get("manifests", []):
        assert is_whole(host, repository, child["digest"])
    for blob in [document["config"], *document["layers"]] if "layers" in document else []:
        content = fetch(host, f"{repository}/blobs/{blob['digest']}")
        assert content is not None
        assert blob["digest"] == digest(content)
    return True
