"""The ``kuik`` command: finds the subcommand and keeps the promises that hold for all of them.

Exit codes: 0 done, 1 any error (a mistyped flag too), 2 only by ``--detailed-exitcode``, 130 interrupted.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Final, TextIO

import click

__all__ = ["kuik", "main"]

_COMMANDS: Final[Mapping[str, tuple[str, str]]] = {
    "plan": ("runtime.cli.plan", "Print the window plan of a configuration and manifests."),
    "validate": ("runtime.cli.validate", "Say what is wrong with a configuration and manifests."),
    "run": ("runtime.cli.run", "Read registries by the plan."),
    "status": ("runtime.cli.status", "Show where windows, rings and queues stand."),
    "simulate": ("runtime.cli.simulate", "Run the engine in virtual time and print what every window does."),
    "schema": ("runtime.cli.schema", "Print a JSON Schema."),
    "crds": ("runtime.cli.crds", "Print the CustomResourceDefinitions."),
}
"""Every command with the module that defines it as ``command``, and its line in the overview."""

_INTERRUPTED: Final = 130


class _LazyGroup(click.Group):
    """A group whose commands are imported when they are called: ``kuik --help`` needs none of them."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in _COMMANDS:
            return None
        command: click.Command = importlib.import_module(_COMMANDS[cmd_name][0]).command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in _COMMANDS.items()])


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="kuik", message="kuik %(version)s")
def kuik() -> None:
    """Read container registries at a pace that is planned, reviewed and kept.

    \b
    Example, in CI:
      kubectl kustomize deploy | kuik plan -c config.yaml -f - --against plan.yaml -o markdown
    """


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Args:
        arguments: without the program's name; None takes the process's own.

    Returns:
        The exit code.
    """
    _prepare_streams()
    try:
        result = kuik.main(args=None if arguments is None else list(arguments), prog_name="kuik", standalone_mode=False)
        sys.stdout.flush()  # a disk that is full says so here, not at the interpreter's exit
    except click.ClickException as error:
        error.show()
        return 1
    except (click.Abort, KeyboardInterrupt):
        return _INTERRUPTED
    except BrokenPipeError:
        # the reader has gone (kuik plan | head): nothing more to say
        _discard_output()
        return 1
    except OSError as error:
        click.echo(f"Error: {error.strerror or error}", err=True)
        _discard_output()
        return 1
    return result if isinstance(result, int) else 0


def _prepare_streams() -> None:
    """Let a lone surrogate or a narrow locale show as an escape, and a closed stream swallow what is written."""
    sys.stdout = sys.stdout or _nowhere()
    sys.stderr = sys.stderr or _nowhere()
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(encoding="utf-8", errors="backslashreplace")


def _nowhere() -> TextIO:
    return open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123  it is open as long as the process is


def _discard_output() -> None:
    """Keep the interpreter from complaining at its exit of what is left in the buffer."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(main())
