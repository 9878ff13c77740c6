"""Commands that look at a cluster instead of files."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import click

from compiler.compilation import Compilation, compile_state
from compiler.config import Config
from compiler.diagnostics import Diagnostic
from compiler.reading import read_config
from runtime.cluster.errors import ClusterError
from runtime.cluster.kube import read_cluster
from runtime.cluster.port import Snapshot
from runtime.files import read_file

__all__ = ["compile_cluster", "statuses_of_cluster"]


def compile_cluster(config: str | None, kubeconfig: str | None, context: str | None) -> Compilation:
    """Compile what a cluster runs, with a configuration from a file.

    Raises:
        click.ClickException: the cluster can't be read.
    """
    settings, found = Config(), list[Diagnostic]()
    if config is not None:
        text = read_file(config)
        read, found = (None, [text]) if isinstance(text, Diagnostic) else read_config(text)
        settings = read or settings
    snapshot = _read(settings.insecure, kubeconfig, context)
    workloads = tuple(s.workload for s in snapshot.sightings)
    compilation = compile_state(settings, snapshot.resources, workloads, snapshot.namespaces)
    counted = replace(compilation, counts=replace(compilation.counts, workloads=len(workloads)))
    return counted.also((*found, *snapshot.diagnostics))


def statuses_of_cluster(kubeconfig: str | None, context: str | None) -> Mapping[str, Mapping[str, Any]]:
    """Give the status of every resource of kuik's kinds, by owner.

    Raises:
        click.ClickException: the cluster can't be read.
    """
    snapshot = _read(frozenset(), kubeconfig, context)
    found = {r.label: r.value.get("status") for r in snapshot.resources}
    return {owner: status for owner, status in found.items() if isinstance(status, dict)}


def _read(insecure: frozenset[str], kubeconfig: str | None, context: str | None) -> Snapshot:
    try:
        return asyncio.run(read_cluster(insecure, kubeconfig, context))
    except ClusterError as error:
        raise click.ClickException(f"the cluster can't be read: {error}") from None
