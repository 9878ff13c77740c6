"""``kuik run``: the controller."""

from __future__ import annotations

import asyncio
import gc
import signal
import sys
from contextlib import suppress
from pathlib import Path

import click

from compiler.duration import InvalidDuration, Nanoseconds, parse_duration
from runtime import log
from runtime.cli.options import Inputs, colored, input_options, report
from runtime.cluster.local import LocalCluster, Sources
from runtime.cluster.port import Cluster
from runtime.controller import Controller, Instruments, InvalidConfiguration, Settings
from runtime.files import STDIN
from runtime.pace import publish_into
from runtime.server import AddressInUse, serve

__all__ = ["command"]


class _Duration(click.ParamType[Nanoseconds]):
    """A Go duration on the command line."""

    name = "duration"

    def convert(
        self, value: str | Nanoseconds, param: click.Parameter | None, ctx: click.Context | None
    ) -> Nanoseconds:
        if isinstance(value, int):
            return value
        try:
            return parse_duration(value)
        except InvalidDuration as error:
            self.fail(str(error), param, ctx)


@click.command("run")
@input_options
@click.option(
    "--state",
    metavar="DIR",
    required=True,
    type=click.Path(file_okay=False),
    help="The folder for status, made if need be; its lock is the lease.",
)
@click.option("--registry-config", metavar="FILE", help="A Docker config.json for secrets that no manifest holds.")
@click.option("--listen", metavar="HOST:PORT", default="127.0.0.1:8080", show_default=True, help="Metrics and probes.")
@click.option("--grace", type=_Duration(), default="20s", show_default=True, help="For reads in flight at a stop.")
def command(
    config: str | None,
    paths: tuple[str, ...],
    exclude: tuple[str, ...],
    state: str,
    registry_config: str | None,
    listen: str,
    grace: Nanoseconds,
) -> int:
    """Read registries by the plan, on this machine.

    Resources and workloads are the files given with -f, which are watched, as is the configuration.
    SIGTERM stops cleanly, SIGHUP looks at the configuration.

    \b
    Example:
      kuik run -c config.yaml -f manifests/ --state /var/lib/kuik
    """
    if config == STDIN:
        raise click.UsageError("a configuration that is watched can't come from standard input")
    if not paths:
        raise click.UsageError("name the manifests to read with -f")
    host, port = _address(listen)
    log.configure(color=colored(sys.stderr))
    inputs = Inputs(config, paths, exclude)
    sources = Sources(inputs.paths, inputs.exclude, inputs.config, registry_config)
    cluster = LocalCluster(sources, Path(state))
    instruments = Instruments(publish=publish_into(Path(state)))
    with suppress(KeyboardInterrupt):
        return asyncio.run(_run(Settings(config, grace, _keep_what_is_there), cluster, instruments, host, port))
    return 130


async def _run(settings: Settings, cluster: Cluster, instruments: Instruments, host: str, port: int) -> int:
    try:
        controller = Controller(settings, cluster, instruments)
    except InvalidConfiguration as error:
        report(error.diagnostics)
        return 1
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
