"""A ring: what one owner checks on one host, and where it is in its lap (R1 to R7)."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import Final

from compiler import plan
from compiler.duration import Nanoseconds
from runtime.pacing.answers import Answers
from runtime.pacing.queue import Queue
from runtime.pacing.requests import Key
from runtime.pacing.values import Lap, Response, RingStatus, Visit

__all__ = ["Ring"]

_NEVER: Final = -(2**63)
# makes a Visit of its fields without the call of its constructor: a tenth of the time of a host that shares everything
_new: Final = tuple.__new__


class Ring:
    """The state of one ring.

    A lap has begun without a visit exactly when ``checked`` is 0; then the next visit is that of the first image,
    whatever came since (R4). Otherwise it is that of the first image greater than the cursor (R2), and there is one:
    when none is left the lap has ended. ``position`` is the index of that next image.

    Attributes:
        plan: the ring as the plan has it.
        images: those that are visited; fewer than the plan's for a mirror that has not copied all.
        queue: of the mirror whose copies are re-read; None for a monitor.
        sits_out: takes no turn: the owner is suspended (T4), or a mirror's images are not known yet (R8).
    """

    __slots__ = (
        "_cycle_duration",
        "_cycle_started",
        "_last",
        "_remembered",
        "_visited",
        "checked",
        "cursor",
        "images",
        "keys",
        "owner",
        "plan",
        "position",
        "queue",
        "registry",
        "sits_out",
    )

    def __init__(
        self, registry: str, ring: plan.Ring, queue: Queue | None, now: Nanoseconds, status: RingStatus | None
    ) -> None:
        self.registry, self.owner = registry, ring.owner
        self.plan, self.queue = ring, queue
        self.sits_out = True
        self.images: tuple[str, ...] = ()
        self.keys: tuple[Key, ...] = ()
        # when each image was visited in this process; visits of one window share one number
        self._visited: list[Nanoseconds] = []
        self.position = 0
        self._last: Nanoseconds | None = None
        self._remembered = status
        known = status or RingStatus(registry, 0)
        self.cursor = known.cursor
        self.checked = known.checked if known.cursor is not None else 0
        self._cycle_started = now if known.cycle_started is None else known.cycle_started
        self._cycle_duration = known.cycle_duration

    @property
    def status(self) -> RingStatus:
        """The ring as status shows it; before a mirror's first scan as it stood there (R8)."""
        if self._remembered is not None and not self.images:
            return self._remembered
        return RingStatus(
            self.registry, len(self.images), self.cursor, self.checked, self._cycle_started, self._cycle_duration
        )

    def turn(self, opens: Nanoseconds, answers: Answers, visits: list[Visit], laps: list[Lap]) -> bool:
        """Take a turn: visit what can be reused, and say whether the window is needed for the image at ``position``.

        At most one lap (S4): an image is visited once in a turn.

        Args:
            opens: the opening of the window.
            answers: of the host.
            visits: gains the visits made.
            laps: gains the lap that ended with one of them.
        """
        start = self.position
        if self.keys[start] not in answers.kept:
            return True
        if self._reuse(len(self.images), opens, answers, visits):
            return True
        laps.append(self._end_lap(opens))
        return self._reuse(start, opens, answers, visits)

    def _reuse(self, end: int, opens: Nanoseconds, answers: Answers, visits: list[Visit]) -> bool:
        """Visit by reuse from ``position`` up to an end; say whether an image before it needs a request.

        This is where a host that shares much spends its time: everything is done once a stretch that can be.
        """
        kept, keys, images, visited = answers.kept, self.keys, self.images, self._visited
        owner, queue, started = self.owner, self.queue, self._cycle_started
        position = first = self.position
        while position < end:
            answer = kept.get(keys[position])
            if answer is None:
                break
            since = visited[position]
            if answer.asked <= (started if since == _NEVER else since):
                break
            visited[position] = opens
            visits.append(_new(Visit, (owner, images[position], answer.response, answer.asked, True)))
            answer.waiting -= 1
            if not answer.waiting:
                del kept[keys[position]]
            if queue is not None:
                queue.notice(images[position], answer.response)
            position += 1
        if position > first:
            self._last = opens
            self.cursor = images[position - 1]
            self.checked += position - first
            self.position = position
        return position < end

    def reusable(self, answers: Answers) -> list[str]:
        """Give the images that could be visited now without a request, in order."""
        entries = zip(self.images, self.keys, self._visited, strict=True)
        return [
            image
            for image, key, visited in entries
            if (answer := answers.kept.get(key)) is not None
            and answer.asked > (self._cycle_started if visited == _NEVER else visited)
        ]

    def visit(self, position: int, opens: Nanoseconds, response: Response) -> Lap | None:
        """Visit an image; give the lap that this ends."""
        image = self.images[position]
        self._visited[position] = opens
        self._last = opens
        self.cursor = image
        self.checked += 1
        self.position = position + 1
        if self.queue is not None:
            self.queue.notice(image, response)
        return self._end_lap(opens) if self.position == len(self.images) else None

    def find(self, image: str) -> int | None:
        """Give the position of an image; None when it is not in the ring."""
        images, position = self.images, self.position
        if position < len(images) and images[position] == image:
            return position
        position = bisect_left(images, image)
        return position if position < len(images) and images[position] == image else None

    def change(self, images: tuple[str, ...], keys: tuple[Key, ...], now: Nanoseconds, answers: Answers) -> Lap | None:
        """Hold other images, or the same under other keys; no cursor moves (R7). Give the lap that this ends (R4).

        Args:
            images: in code-point order, each once.
            keys: of the images, in order.
            now: the moment of the change.
            answers: of the host, which learns what is asked for.
        """
        self.sits_out = self.plan.suspended or not images
        if images == self.images and keys == self.keys:
            return None
        self._remembered = None
        if self.images:
            self._exchange(images, keys, answers)
        else:
            self._visited = [_NEVER] * len(images)
            answers.add(keys, self._cycle_started)
        self.images, self.keys = images, keys
        self.position = bisect_right(images, self.cursor) if self.checked and self.cursor is not None else 0
        if not images or self.position < len(images):
            return None
        # the lap ended with the last visit made; at once, if that was before this process
        ended = now if self._last is None else self._last
        if ended > self._cycle_started:
            return self._end_lap(ended)
        self.checked = self.position = 0
        return None

    def _exchange(self, images: tuple[str, ...], keys: tuple[Key, ...], answers: Answers) -> None:
        """Carry the visits of the images that stay over; one that is asked for otherwise counts as new.

        A visit that is forgotten so, or because its image left and came back, allows no reuse too many: what is visited
        behind the cursor comes again in a later lap, which started at that visit or after it.
        """
        before = dict(zip(self.images, zip(self.keys, self._visited, strict=True), strict=True))
        visited, added = list[Nanoseconds](), list[Key]()
        for image, key in zip(images, keys, strict=True):
            was = before.get(image)
            if was is not None and was[0] == key:
                visited.append(was[1])
                del before[image]
            else:
                visited.append(_NEVER)
                added.append(key)
        started = self._cycle_started
        answers.remove((key, started if at == _NEVER else at) for key, at in before.values())
        answers.add(added, started)
        self._visited = visited

    def _end_lap(self, ended: Nanoseconds) -> Lap:
        """Begin the next lap at the moment the last one ended."""
        lap = Lap(self.registry, self.owner, self._cycle_started, ended)
        self._cycle_started = ended
        self._cycle_duration = lap.duration
        self.checked = 0
        self.position = 0
        return lap
