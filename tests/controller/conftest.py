"""Runs a test on a stage, in virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from tests.support.hostile import hostile
from tests.support.stage import Stage, has_everything
from tests.support.virtual_time import VirtualTimeLoop, run_in_virtual_time

Act = Callable[[Stage], Coroutine[Any, Any, None]]
Play = Callable[[Act], None]


@pytest.fixture
def play(tmp_path: Path) -> Play:
    """Give what lets a test act on a stage of its own."""

    async def run(act: Act) -> None:
        async with hostile({}) as registry:
            registry.otherwise = has_everything
            loop = asyncio.get_running_loop()
            assert isinstance(loop, VirtualTimeLoop)
            await act(Stage(tmp_path, loop, registry))

    return lambda act: run_in_virtual_time(run(act))
