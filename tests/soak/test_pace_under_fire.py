"""The promise, judged at the registries: at most one image in any window, whatever is done to the process.

Half a minute in `make test`, ten in `make soak` (``KUIK_SOAK`` is the number of seconds). The seed is printed; a run
with the same ``KUIK_SEED`` does the same things in the same order.
"""

from __future__ import annotations

import json
import os
import random
import signal
import time
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from compiler.duration import SECOND, parse_duration
from runtime.clock import boot_clock
from tests.support.kuik_process import KuikProcess, kuik_process
from tests.support.recording_registry import Asked, RecordingRegistry, recording_registry
from tests.support.stage import monitor, pod

pytestmark = pytest.mark.slow

LASTS = float(os.environ.get("KUIK_SOAK", "25"))
SEED = int(os.environ.get("KUIK_SEED", str(random.SystemRandom().randrange(10**6))))
HOSTS = 5
IMAGES = 7


@dataclass
class Segment:
    """The check windows of a host from a moment on, until the next segment or the end of the process."""

    anchor: int
    interval: int


@dataclass
class Life:
    """A process, from being elected to its end.

    Attributes:
        log: what it said.
        intervals: of each host when it started, in nanoseconds.
    """

    log: list[dict[str, Any]]
    intervals: dict[str, int]

    def segments(self, host: str) -> list[Segment]:
        leading = next(line for line in self.log if line["message"] == "leading")
        found = [Segment(boot_time(leading["since"]), self.intervals[host])]
        found += (
            Segment(boot_time(line["since"]), parse_duration(line["every"]))
            for line in self.log
            if line["message"] == "windows restart" and (line["host"], line["operation"]) == (host, "Check")
        )
        return found

    @property
    def led(self) -> bool:
        return any(line["message"] == "leading" for line in self.log)

    @property
    def began(self) -> int:
        return self.segments(next(iter(self.intervals)))[0].anchor


@dataclass
class Fire:
    """What is done to a process, and what is known of it afterwards."""

    folder: Path
    registries: list[RecordingRegistry]
    choice: random.Random
    intervals: dict[str, int] = field(default_factory=dict)
    lives: list[Life] = field(default_factory=list)
    done: Counter[str] = field(default_factory=Counter)

    def write_config(self) -> None:
        paced = {
            host: {"insecure": True, "check": {"interval": f"{interval // SECOND}s"}, "copy": {"interval": "1h"}}
            for host, interval in self.intervals.items()
        }
        new = self.folder / ".config.new"
        new.write_text(json.dumps({"registries": paced}))
        new.replace(self.folder / "config.yaml")

    def write_manifests(self) -> None:
        """Let every pod run a random part of the images."""
        images = [f"{r.host}/x/{n}:1" for r in self.registries for n in range(IMAGES)]
        some = [image for image in images if self.choice.random() < 0.9]
        documents = monitor("one"), monitor("two"), pod("p", *some)
        new = self.folder / ".manifests.new"
        new.write_text("\n---\n".join(map(json.dumps, documents)))
        new.replace(self.folder / "manifests" / "all.yaml")

    def edit(self, _: KuikProcess) -> None:
        host = self.choice.choice(list(self.intervals))
        self.intervals[host] = self.choice.randrange(1, 6) * SECOND
        self.write_config()

    def change_pods(self, _: KuikProcess) -> None:
        self.write_manifests()

    def break_config(self, _: KuikProcess) -> None:
        (self.folder / "config.yaml").write_text("registries: [")
        self.pause(1.0)
        self.write_config()

    def freeze(self, process: KuikProcess) -> None:
        process.send(signal.SIGSTOP)
        self.pause(self.choice.uniform(0.2, 4))
        process.send(signal.SIGCONT)

    def ask(self, process: KuikProcess) -> None:
        process.send(signal.SIGHUP)

    @staticmethod
    def pause(seconds: float) -> None:
        time.sleep(seconds)

    def live(self, until: float) -> None:
        """Run one process, do things to it, and end it one way or the other."""
        at_start = dict(self.intervals)
        with kuik_process(self.folder) as process:
            process.wait_for("leading")
            ends = min(until, time.monotonic() + self.choice.uniform(1, 12))
            while (left := ends - time.monotonic()) > 0:
                self.pause(min(left, self.choice.uniform(0.3, 3)))
                act: Callable[[KuikProcess], None] = self.choice.choice(
                    [self.edit, self.edit, self.change_pods, self.break_config, self.freeze, self.ask]
                )
                act(process)
                self.done[act.__name__] += 1
            cleanly = self.choice.random() < 0.3
            code = process.end(signal.SIGTERM if cleanly else signal.SIGKILL)
            assert code == (0 if cleanly else -signal.SIGKILL)
            self.done["stopped" if cleanly else "killed"] += 1
        self.lives.append(Life(process.log, at_start))


def boot_time(text: str) -> int:
    """Read a time of the wall clock as one of the clock of windows."""
    wall = round(datetime.fromisoformat(text).timestamp() * 1_000_000) * 1000
    return wall - (time.time_ns() - boot_clock())


@pytest.fixture
def fire(tmp_path: Path) -> Iterator[Fire]:
    (tmp_path / "manifests").mkdir()
    with ExitStack() as stack:
        registries = [stack.enter_context(recording_registry()) for _ in range(HOSTS)]
        fire = Fire(tmp_path, registries, random.Random(SEED))
        fire.intervals = {registry.host: (n + 1) * SECOND for n, registry in enumerate(registries)}
        fire.write_config()
        fire.write_manifests()
        yield fire


def windows_used(lives: list[Life], host: str, asked: list[Asked]) -> Iterator[tuple[int, int, int]]:
    """Give for each request the life, the segment and the number of the window that it belongs to.

    A request may come in late, never early: so it belongs to the last window that had opened. One that a frozen process
    had in its hands when the segment ended belongs to that one; the series was busy with it until it was answered.
    """
    begins = [life.began - SECOND // 1000 for life in lives]
    for one in asked:
        number = bisect_right(begins, one.at) - 1
        assert number >= 0, "a request before any process led"
        segments = lives[number].segments(host)
        current = max(i for i, s in enumerate(segments) if i == 0 or s.anchor <= one.at)
        window = (one.at - segments[current].anchor) // segments[current].interval
        if window < 1 and current > 0:
            # decided in the segment before, an instant before the reload
            current -= 1
            window = (segments[current + 1].anchor - segments[current].anchor) // segments[current].interval
        yield number, current, window


@pytest.mark.rule("W2")
@pytest.mark.rule("W3")
@pytest.mark.rule("W6")
@pytest.mark.rule("H4")
def test_never_more_than_one_image_a_window(fire: Fire) -> None:
    print(f"KUIK_SEED={SEED} KUIK_SOAK={LASTS}")
    until = time.monotonic() + LASTS
    while time.monotonic() < until:
        fire.live(until)
    lives = [life for life in fire.lives if life.led]
    total = 0
    for registry in fire.registries:
        used = list(windows_used(lives, registry.host, registry.asked))
        total += len(used)
        assert all(one.method == "HEAD" for one in registry.asked)
        # at most one image in any window of the grid
        assert [] == [place for place, count in Counter(used).items() if count > 1]
        # and none before a full interval after a start
        assert [] == [place for place in used if place[2] < 1]
    print(f"{total} requests, {len(lives)} processes, {dict(fire.done)}")
    assert total > LASTS / 4
    assert [] == [line for life in lives for line in life.log if line.get("exception")]
