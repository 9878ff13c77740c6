"""SIGKILL in the middle of copies: no tag points at something incomplete, status is whole, the next start goes on.

A few kills in `make test`, 200 in `make soak` (``KUIK_KILLS``). Both registries are Debian's.
"""

from __future__ import annotations

import json
import os
import random
import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

import pytest

from compiler.source import Text, read_documents
from tests.support import images
from tests.support.debian import Unavailable, find_tool, give_up, serve_registry
from tests.support.images import image, index, layer
from tests.support.kuik_process import KuikProcess, kuik_process
from tests.support.stage import assert_fits_its_schema, mirror, pod
from tests.support.whole import is_whole

pytestmark = pytest.mark.slow

KILLS = int(os.environ.get("KUIK_KILLS", "6"))
SEED = int(os.environ.get("KUIK_SEED", str(random.SystemRandom().randrange(10**6))))
# seconds from the opening of a window in which its image, of 4 MB, is about to be, is being, or was just copied
MOMENTS = (-0.02, 0.35)
BYTES = 1_000_000


@dataclass(frozen=True)
class Place:
    """Where everything is.

    Attributes:
        names: of the images, in the order in which they are copied.
        whole: those whose copies were found complete, which nobody writes again.
    """

    folder: Path
    source: str
    target: str
    names: tuple[str, ...]
    whole: set[str] = field(default_factory=set)

    def copied(self) -> list[str]:
        """Give the images whose copies are there; each has to be complete."""
        base = f"m/{self.source.replace(':', '_')}"
        self.whole.update(n for n in self.names if n not in self.whole and is_whole(self.target, f"{base}/{n}", "1"))
        return [name for name in self.names if name in self.whole]


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    try:
        tool = find_tool("docker-registry")
    except Unavailable as reason:
        give_up(reason)
    names = tuple(f"x/{number:03}" for number in range(KILLS + 2))
    with ExitStack() as stack:
        source = stack.enter_context(serve_registry(tool, tmp_path / "source"))
        target = stack.enter_context(serve_registry(tool, tmp_path / "target"))
        for number, name in enumerate(names):
            layers = [layer(number * 10 + i, BYTES) for i in range(3)]
            platforms = ("linux/amd64", "linux/arm64")
            content = index([image([layers[0], one], platform=p) for one, p in zip(layers[1:], platforms, strict=True)])
            images.push(source, name, ["1"], content)
        (tmp_path / "manifests").mkdir()
        documents = mirror(f"{target}/m"), pod("p", *(f"{source}/{name}:1" for name in names))
        (tmp_path / "manifests" / "all.yaml").write_text("\n---\n".join(map(json.dumps, documents)))
        paced = {source: {"insecure": True, "check": {"interval": "1h"}, "copy": {"interval": "2s"}}}
        config = {"registries": paced, "mirror": {"destinationScan": {"interval": "1s"}}}
        (tmp_path / "config.yaml").write_text(json.dumps(config))
        yield Place(tmp_path, source, target, names)


def wait_for_window(process: KuikProcess, number: int, shift: float) -> None:
    """Wait until so long after the opening of a copy window."""
    opens = datetime.fromisoformat(process.wait_for("leading")["since"]).timestamp() + 2 * number
    time.sleep(max(0.0, opens + shift - time.time()))


def assert_status_is_whole(place: Place) -> None:
    """Hold every file of the state folder against its form."""
    for path in (place.folder / "state" / "status").rglob("*.yaml"):
        documents, wrong = read_documents(Text(str(path), path.read_text()))
        assert [] == wrong
        assert_fits_its_schema(path.parent.name, documents[0].value["status"])
    json.loads((place.folder / "state" / "pace.json").read_text())


@pytest.mark.rule("C3")
def test_a_controller_that_is_killed_while_it_copies_leaves_nothing_half_done(place: Place) -> None:
    print(f"KUIK_SEED={SEED} KUIK_KILLS={KILLS}")
    choice = random.Random(SEED)
    resumed, there = 0, place.copied()
    for _ in range(KILLS):
        missing = [name for name in place.names if name not in there]
        with kuik_process(place.folder) as process:
            wait_for_window(process, 1, choice.uniform(*MOMENTS))
            process.end(signal.SIGKILL)
        assert_status_is_whole(place)
        begun = [line["image"] for line in process.log if line["message"] == "copied"]
        # the next start resumes at the first image that is not there
        assert begun in ([], [f"{place.source}/{missing[0]}:1"])
        resumed += len(begun)
        before, there = there, place.copied()
        assert there in (before, [*before, missing[0]])
    with kuik_process(place.folder) as process:
        process.wait_for("copied", image=f"{place.source}/{place.names[-1]}:1", within=60 + 2 * len(place.names))
        assert 0 == process.end()
    place.whole.clear()
    assert list(place.names) == place.copied()
    print(f"{resumed} of {KILLS} kills came after the copy")
