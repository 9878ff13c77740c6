"""The configuration as it is in force, and the looks at its file: one that is wrong is refused whole (H5)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Final

from compiler.config import Config
from compiler.diagnostics import Diagnostic
from compiler.duration import SECOND
from compiler.reading import read_config
from compiler.source import Text
from runtime.cluster.port import Cluster, Report, Severity
from runtime.controller.instruments import Instruments
from runtime.files import read_file
from runtime.log import diagnostic_keys, log_diagnostics

__all__ = ["Configuration", "InvalidConfiguration", "load"]

log: Final = logging.getLogger(__name__)


class InvalidConfiguration(Exception):
    """The file is no configuration; ``diagnostics`` say why."""

    def __init__(self, diagnostics: Sequence[Diagnostic]) -> None:
        super().__init__("; ".join(d.message for d in diagnostics))
        self.diagnostics = tuple(diagnostics)


def load(path: str | None) -> tuple[Text | None, Config, list[Diagnostic]]:
    """Read a configuration; without a path it is all defaults.

    Returns:
        Its text, what it says, and what is odd about it.

    Raises:
        InvalidConfiguration: it can't be read, or is wrong.
    """
    if path is None:
        return None, Config(), []
    read = read_file(path)
    config, found = (None, [read]) if isinstance(read, Diagnostic) else read_config(read)
    if config is None or isinstance(read, Diagnostic):
        raise InvalidConfiguration(found)
    return read, config, found


class Configuration:
    """The configuration in force.

    Args:
        path: of its file; None is all defaults, for ever.
        cluster: told of one that is refused.
        instruments: show whether the last one was taken.

    Raises:
        InvalidConfiguration: there is none to start with.
    """

    def __init__(self, path: str | None, cluster: Cluster, instruments: Instruments) -> None:
        self.path = path
        self._cluster, self._metrics, self._clocks = cluster, instruments.metrics, instruments.clocks
        self._text, self.config, found = load(path)
        self._told = log_diagnostics(log, found, frozenset())
        self._refused: tuple[Diagnostic, ...] = ()
        self._taken()

    async def look(self, *, asked: bool = False) -> bool:
        """Look at the file.

        Args:
            asked: somebody wants to know: what is wrong is told again.

        Returns:
            Whether another configuration is in force now. A comment or an order is none (H1).
        """
        try:
            text, config, found = await asyncio.to_thread(load, self.path)
        except InvalidConfiguration as error:
            if asked or error.diagnostics != self._refused:
                await self._refuse(error.diagnostics)
            return False
        if text == self._text and not self._refused:
            return False
        has_changed = config != self.config
        self._text, self.config, self._refused = text, config, ()
        self._told = log_diagnostics(log, found, self._told)
        self._taken()
        log.info("configuration reloaded", extra={"file": self.path, "changed": has_changed})
        return has_changed

    def _taken(self) -> None:
        self._metrics.reloaded(taken=True, at=self._clocks.wall() / SECOND)

    async def _refuse(self, found: tuple[Diagnostic, ...]) -> None:
        """Go on with the last good one, and say so."""
        self._refused = found
        self._metrics.reloaded(taken=False, at=0)
        for diagnostic in found:
            log.error("configuration refused", extra=diagnostic_keys(diagnostic))
        message = f"{found[0].position}: {found[0].message}; the last good configuration stays in force"
        await self._cluster.report(Report(Severity.WARNING, "ReloadFailed", message))
