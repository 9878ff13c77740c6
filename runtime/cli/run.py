"""``kuik run``: the controller."""

from __future__ import annotations

import asyncio
import gc
import signal
import sys
from pathlib import Path

import click

from compiler.duration import Nanoseconds
from runtime import log
from runtime.cli.durations import GoDuration
from runtime.cli.options import cluster_options, colored, input_options, report
from runtime.cluster.errors import ClusterError
from runtime.cluster.local import LocalCluster, Sources
from runtime.cluster.port import Cluster
from runtime.controller import Controller, Instruments, InvalidConfiguration, Settings
from runtime.files import STDIN
from runtime.pace import publish_into
from runtime.server import AddressInUse, serve

__all__ = ["command"]


@click.command("run")
@input_options
@click.option(
    "--state",
    metavar="DIR",
    type=click.Path(file_okay=False),
    help="Run on this machine: the folder for status, made if need be; its lock is the lease.",
)
@click.option("--registry-config", metavar="FILE", help="With --state: a Docker config.json for other secrets.")
@cluster_options
@click.option("--namespace", default="kuik-system", show_default=True, help="Of the lease and of secrets.")
@click.option("--listen", metavar="HOST:PORT", help="Metrics, probes; 127.0.0.1:8080 with --state, else :8080.")
@click.option("--grace", type=GoDuration(), default="20s", show_default=True, help="For reads in flight at a stop.")
def command(
    config: str | None,
    paths: tuple[str, ...],
    exclude: tuple[str, ...],
    state: str | None,
    registry_config: str | None,
    kubeconfig: str | None,
    context: str | None,
    namespace: str,
    listen: str | None,
    grace: Nanoseconds,
) -> int:
    """Read registries by the plan: on this machine with --state and -f, else for a cluster.

    On this machine, resources and workloads are the files given with -f, which are watched.
    For a cluster, they are its objects; whichever of several processes holds the lease leads.
    The configuration is watched in both cases. SIGTERM stops cleanly, SIGHUP looks at the configuration.

    \b
    Examples:
      kuik run -c config.yaml -f manifests/ --state /var/lib/kuik
      kuik run -c config.yaml --kubeconfig ~/.kube/config --context production
    """
    if config == STDIN:
        raise click.UsageError("a configuration that is watched can't come from standard input")
    if state is None and (paths or exclude or registry_config):
        raise click.UsageError("-f, --exclude and --registry-config need --state; without it a cluster is run for")
    if state is not None and not paths:
        raise click.UsageError("name the manifests to read with -f")
    if state is not None and (kubeconfig or context):
        raise click.UsageError("--state runs on this machine, --kubeconfig and --context name a cluster")
    host, port = _address(listen or ("127.0.0.1:8080" if state is not None else ":8080"))
    log.configure(color=colored(sys.stderr))
    settings = Settings(config, grace, _keep_what_is_there)
    if state is not None:
        sources = Sources(paths, exclude, config, registry_config)
        running = _run_here(settings, sources, Path(state), host, port)
    else:
        running = _run_for_cluster(settings, (namespace, kubeconfig, context), host, port)
    try:
        return asyncio.run(running)
    except ClusterError as error:
        click.echo(f"Error: {error}", err=True)
        return 1
    except KeyboardInterrupt:
        return 130


async def _run_here(settings: Settings, sources: Sources, state: Path, host: str, port: int) -> int:
    cluster = LocalCluster(sources, state)
    return await _run(settings, cluster, Instruments(publish=publish_into(state)), host, port)


async def _run_for_cluster(settings: Settings, where: tuple[str, str | None, str | None], host: str, port: int) -> int:
    from runtime.cluster.kube import open_cluster

    async with open_cluster(*where) as cluster:
        return await _run(settings, cluster, Instruments(), host, port)


async def _run(settings: Settings, cluster: Cluster, instruments: Instruments, host: str, port: int) -> int:
    try:
        controller = Controller(settings, cluster, instruments)
    except InvalidConfiguration as error:
        report(error.diagnostics)
        return 1
    # Everything that was imported lives as long as the process. A collection that walks it all stops the event loop,
    # and with it the windows: 127 ms at worst with 5,000 pods, against 54 ms with what is here now left out.
    gc.collect()
    gc.freeze()
    loop = asyncio.get_running_loop()
    for number, react in (
        (signal.SIGTERM, controller.stop),
        (signal.SIGINT, controller.stop),
        (signal.SIGHUP, controller.reload),
    ):
        loop.add_signal_handler(number, react)
    try:
        async with serve(host, port, instruments.metrics, lambda: controller.plan, lambda: True):
            return await controller.run()
    except AddressInUse as error:
        click.echo(f"Error: {error}; choose another address with --listen", err=True)
        return 1


def _keep_what_is_there() -> None:
    """Let the garbage collector pass over what stays to the end, mostly imported code.

    Going over all of it took 50 to 120 ms now and then, for which no window opened.
    """
    gc.collect()
    gc.freeze()


def _address(listen: str) -> tuple[str, int]:
    host, _, port = listen.rpartition(":")
    if not port.isdecimal() or int(port) > 65535:
        raise click.UsageError(f"--listen takes HOST:PORT, such as 127.0.0.1:8080, not {listen}")
    return host.strip("[]") or "0.0.0.0", int(port)  # noqa: S104  ":8080" means every address, as in Go
