"""Time that passes only when nothing else is to be done, on a loop with real sockets and threads.

The clock jumps to the next timer when no socket of the loop has anything to read and no thread works for it. Both ends
of a test's connections are on the loop, so what was sent is there to be read before the clock moves.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor
from typing import Any, TypeVar

__all__ = ["VirtualTimeLoop", "run_in_virtual_time"]

T = TypeVar("T")
# for the kernel to hand over what was sent, and for a thread to come back
MOMENT = 0.0005


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """A loop whose clock jumps to the next timer instead of waiting for it."""

    def __init__(self) -> None:
        self.now = 1_000.0
        self.threads = 0
        super().__init__(_Selector(self))

    def time(self) -> float:
        return self.now

    def nanoseconds(self) -> int:
        return round(self.now * 1_000_000_000)

    def run_in_executor(self, executor: Executor | None, func: Callable[..., T], *args: Any) -> asyncio.Future[T]:
        self.threads += 1
        future = super().run_in_executor(executor, func, *args)
        future.add_done_callback(self._came_back)
        return future

    def _came_back(self, _: asyncio.Future[Any]) -> None:
        self.threads -= 1


class _Selector(selectors.DefaultSelector):
    def __init__(self, loop: VirtualTimeLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is not None and timeout <= 0:
            return super().select(0)
        ready = super().select(MOMENT)
        if not ready and timeout is not None and not self._loop.threads:
            self._loop.now += timeout
        return ready


def run_in_virtual_time(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine on a loop of virtual time."""
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        return runner.run(coroutine)
