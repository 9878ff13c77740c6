"""``kuik plan``: the dry run, for people, for machines and for the comment on a pull request."""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass

import click

from compiler.changes import Change
from compiler.compilation import Compilation
from compiler.diff import Diff, diff
from compiler.origins import Origins
from compiler.plan import Plan, without_forecasts
from compiler.plan_document import to_document
from compiler.reading import read_plan
from compiler.source import Text
from runtime.cli.forecasts import foreseen
from runtime.cli.options import Inputs, cluster_options, colored, compile_inputs, count, counted, input_options, report
from runtime.files import STDIN, read_file

__all__ = ["command"]

_DIFFERS = 2


@click.command("plan")
@input_options
@click.option("--cluster", is_flag=True, help="Take resources and pods from a cluster instead of files.")
@cluster_options
@click.option(
    "-o",
    "--output",
    type=click.Choice(["table", "yaml", "json", "markdown"]),
    default="table",
    show_default=True,
    help="The form.",
)
@click.option("--against", metavar="PLAN", help="A plan printed before; show what changes, and why.")
@click.option("--check", metavar="PLAN", help="Fail when this committed plan is not the one of the input.")
@click.option("--detailed-exitcode", is_flag=True, help="Exit with 2 when the plan differs from that of --against.")
def command(
    config: str | None,
    paths: tuple[str, ...],
    exclude: tuple[str, ...],
    output: str,
    against: str | None,
    check: str | None,
    kubeconfig: str | None,
    context: str | None,
    *,
    cluster: bool,
    detailed_exitcode: bool,
) -> int:
    """Print the window plan of a configuration and manifests.

    \b
    Examples:
      kuik plan -c config.yaml -f manifests/
      helm template . | kuik plan -c config.yaml -f - -o yaml > plan.yaml
      kuik plan -c config.yaml -f manifests/ --against plan.yaml -o markdown
      kuik plan -c config.yaml -f manifests/ --check plan.yaml
      kuik plan -c config.yaml --cluster --context production
    """
    if detailed_exitcode and against is None:
        raise click.UsageError("--detailed-exitcode needs --against")
    if [config, *set(paths), against, check].count(STDIN) > 1:
        raise click.UsageError("standard input can be one of -c, -f, --against and --check only")
    if cluster and (paths or exclude):
        raise click.UsageError("--cluster takes the place of -f and --exclude")
    if (kubeconfig or context) and not cluster:
        raise click.UsageError("--kubeconfig and --context go with --cluster")
    inputs = Inputs(config, paths, exclude, cluster, kubeconfig, context)
    compilation = foreseen(_compile(inputs))
    report(compilation.diagnostics)
    if compilation.plan is None:
        click.echo(f"no plan: {count(compilation.diagnostics)}", err=True)
        return 1
    click.echo(counted(compilation.counts), err=True)
    old = _read_other(against, _printing(against)) if against is not None else None
    committed = _read_other(check, _mending(check, inputs)) if check is not None else None
    difference = diff(old, compilation.plan) if old is not None else None
    view = _View(compilation, compilation.plan, difference, against or "")
    sys.stdout.write(view.render(output))
    if check and committed is not None and without_forecasts(committed) != without_forecasts(compilation.plan):
        click.echo(f"{check} is stale; mend it with:\n  {_mending(check, inputs)}", err=True)
        return 1
    differs = difference is not None and not difference.is_empty
    return _DIFFERS if detailed_exitcode and differs else 0


def _compile(inputs: Inputs) -> Compilation:
    if not inputs.cluster:
        return compile_inputs(inputs)
    from runtime.cli.clusters import compile_cluster

    return compile_cluster(inputs.config, inputs.kubeconfig, inputs.context)


@dataclass(frozen=True, slots=True)
class _View:
    compilation: Compilation
    plan: Plan
    difference: Diff | None
    against: str

    def render(self, output: str) -> str:
        """Write the plan in a form; only that form's module is imported."""
        if output in {"yaml", "json"}:
            document = to_document(self.plan)
            if self.difference is not None:
                document = {**self.difference.to_document(), "plan": document}
            if output == "json":
                from compiler.render import json

                return json.dump(document)
            from compiler.render import yaml

            return yaml.dump(document)
        if output == "markdown":
            from compiler.render import markdown

            return markdown.render(self.plan, self.difference, against=self.against, sources=self._sources())
        from compiler.render import table

        color = colored(sys.stdout)
        return table.render(self.plan, self.difference, against=self.against, sources=self._sources(), color=color)

    def _sources(self) -> _Sources:
        return _Sources(Origins(self.compilation.model))


@dataclass(frozen=True, slots=True)
class _Sources:
    """Tells where a change was written, as ``file:line``."""

    origins: Origins

    def __call__(self, change: Change) -> str | None:
        position = self.origins.find(change.causes)
        return f"{position.file}:{position.line}" if position is not None and position.line else None


def _read_other(path: str, mending: str) -> Plan:
    """Read a plan that was printed before.

    Args:
        path: a file, or ``-``.
        mending: the command that writes it.

    Raises:
        click.exceptions.Exit: it can't be read or is none; why has been printed.
    """
    read = read_file(path)
    plan, diagnostics = read_plan(read) if isinstance(read, Text) else (None, [read])
    report(diagnostics)
    if plan is None:
        click.echo(f"{path} is no plan; make one with:\n  {mending}", err=True)
        raise click.exceptions.Exit(1)
    return plan


def _printing(path: str) -> str:
    """Give the command that prints some plan into a file."""
    return f"kuik plan … -o {_form(path)} > {path}"


def _form(path: str) -> str:
    return "json" if path.endswith(".json") else "yaml"


def _mending(path: str, inputs: Inputs) -> str:
    """Give the command that writes the plan of these inputs."""
    words = ["kuik", "plan"]
    words += ["-c", inputs.config] if inputs.config is not None else []
    words += ["--cluster"] if inputs.cluster else []
    for option, values in (
        ("-f", inputs.paths),
        ("--exclude", inputs.exclude),
        ("--kubeconfig", [inputs.kubeconfig] if inputs.kubeconfig else []),
        ("--context", [inputs.context] if inputs.context else []),
    ):
        for value in values:
            words += [option, value]
    words += ["-o", _form(path)]
    before = "… | " if STDIN in inputs.paths or inputs.config == STDIN else ""
    return f"{before}{shlex.join(words)} > {shlex.quote(path)}"
