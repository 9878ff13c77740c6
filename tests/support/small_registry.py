"""A registry that holds what was pushed to it, behind the interface of the hostile one: what it is told, it keeps."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

from tests.support.hostile import Reply, Seen
from tests.support.images import Content, digest

__all__ = ["SmallRegistry"]


class SmallRegistry:
    """Manifests and blobs by repository; to be an ``otherwise`` of a ``Hostile``.

    Attributes:
        manifests: by (repository, tag or digest): media type and body.
        blobs: by digest.
    """

    def __init__(self) -> None:
        self.manifests: dict[tuple[str, str], tuple[str, bytes]] = {}
        self.blobs: dict[str, bytes] = {}

    def put(self, repository: str, tag: str, content: Content) -> None:
        """Hold an image with all that it needs."""
        for need in content.needs:
            assert isinstance(need, Content)
            if need.is_manifest:
                self.put(repository, need.digest, need)
            else:
                self.blobs[need.digest] = need.body
        for reference in (tag, content.digest):
            self.manifests[repository, reference] = (content.media_type, content.body)

    def tags(self, repository: str) -> set[str]:
        return {tag for name, tag in self.manifests if name == repository and not tag.startswith("sha256:")}

    def __call__(self, seen: Seen) -> Reply:
        name, what, rest = self._split(seen.path)
        if what == "manifests":
            return self._put_manifest(name, rest, seen) if seen.method == "PUT" else self._manifest(name, rest)
        if rest.startswith("uploads"):
            return self._upload(name, seen)
        body = self.blobs.get(rest)
        return Reply(404) if body is None else Reply(200, {"Docker-Content-Digest": rest}, body)

    def _split(self, path: str) -> tuple[str, str, str]:
        for what in ("manifests", "blobs"):
            name, found, rest = path.removeprefix("/v2/").partition(f"/{what}/")
            if found:
                return name, what, rest
        return "", "", ""

    def _manifest(self, name: str, reference: str) -> Reply:
        found = self.manifests.get((name, reference))
        if found is None:
            return Reply(404)
        media_type, body = found
        return Reply(200, {"Content-Type": media_type, "Docker-Content-Digest": digest(body)}, body)

    def _put_manifest(self, name: str, reference: str, seen: Seen) -> Reply:
        for key in (reference, digest(seen.body)):
            self.manifests[name, key] = (seen.headers["content-type"], seen.body)
        return Reply(201, {"Docker-Content-Digest": digest(seen.body)})

    def _upload(self, name: str, seen: Seen) -> Reply:
        if seen.method == "POST":
            return Reply(202, {"Location": f"/v2/{name}/blobs/uploads/1"})
        (wanted,) = parse_qs(urlsplit(seen.target).query)["digest"]
        assert wanted == digest(seen.body)
        self.blobs[wanted] = seen.body
        return Reply(201, {"Docker-Content-Digest": wanted})
