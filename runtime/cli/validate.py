"""``kuik validate``: the diagnostics, without a plan."""

from __future__ import annotations

import sys

import click

from compiler.diagnostics import Severity
from runtime.cli.forecasts import foreseen
from runtime.cli.options import Inputs, compile_inputs, count, counted, input_options, report

__all__ = ["command"]


@click.command("validate")
@input_options
@click.option(
    "-o", "--output", type=click.Choice(["text", "json", "github"]), default="text", show_default=True, help="The form."
)
@click.option("--strict", is_flag=True, help="Fail on warnings too.")
def command(config: str | None, paths: tuple[str, ...], exclude: tuple[str, ...], output: str, *, strict: bool) -> int:
    """Say what is wrong with a configuration and manifests.

    Exits with 1 when there are errors. Mistakes in workloads, which are somebody else's, are warnings.

    \b
    Examples:
      kuik validate -c config.yaml -f manifests/
      kubectl get imagemonitors,imagemirrors -o yaml | kuik validate -f - --strict
      kuik validate -c config.yaml -f manifests/ -o github
    """
    compilation = foreseen(compile_inputs(Inputs(config, paths, exclude)))
    diagnostics = compilation.diagnostics
    if output == "json":
        from compiler.render import diagnostics_json

        sys.stdout.write(diagnostics_json.render(diagnostics))
    elif output == "github":
        from compiler.render import github

        sys.stdout.write(github.render(diagnostics))
    else:
        report(diagnostics, sys.stdout)
    click.echo(f"{count(diagnostics)}; {counted(compilation.counts)}", err=True)
    failing = {Severity.ERROR, Severity.WARNING} if strict else {Severity.ERROR}
    return 1 if any(d.severity in failing for d in diagnostics) else 0
