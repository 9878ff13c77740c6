"""The index that a mirror with chosen platforms writes in place of the whole one.

It is an OCI index with the wanted entries as they stand, annotated with the digest of the index it was made from. The
same input gives the same bytes, so that it has one digest.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Final

from runtime.registry.manifest import OCI_INDEX, Descriptor, Manifest, read_manifest
from runtime.registry.platforms import Platform

__all__ = ["SOURCE_DIGEST", "select", "source_digest"]

SOURCE_DIGEST: Final = "kuik.enix.io/source-digest"
# BuildKit's link from an attestation to the image that it is about
_ATTESTED: Final = "vnd.docker.reference.digest"


def select(index: Manifest, wanted: Collection[Platform]) -> Manifest | None:
    """Leave out of an index what nobody wants.

    Attestations go with the image that they are about, and an entry that names no platform is kept, because nothing
    speaks against it.

    Returns:
        The index itself when nothing is left out; None when none of its platforms is wanted.
    """
    images = {d.digest for d in index.needs if d.platform and any(w.covers(d.platform) for w in wanted)}
    kept = [d for d in index.needs if d.platform is None or d.digest in images or _attests(d) in images]
    if len(kept) == len(index.needs):
        return index
    if not images:
        return None
    annotations = index.document.get("annotations")
    document = {
        **index.document,
        "mediaType": OCI_INDEX,
        "manifests": [dict(d.document) for d in kept],
        "annotations": {**(annotations if isinstance(annotations, dict) else {}), SOURCE_DIGEST: index.digest},
    }
    return read_manifest(json.dumps(document, separators=(",", ":")).encode())


def _attests(entry: Descriptor) -> str | None:
    annotations = entry.document.get("annotations")
    digest = annotations.get(_ATTESTED) if isinstance(annotations, dict) else None
    return digest if isinstance(digest, str) else None


def source_digest(manifest: Manifest) -> str:
    """Give the digest of what a manifest was made from: its own, unless platforms were left out."""
    annotations = manifest.document.get("annotations")
    digest = annotations.get(SOURCE_DIGEST) if isinstance(annotations, dict) else None
    return digest if isinstance(digest, str) else manifest.digest
