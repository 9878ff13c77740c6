"""``kuik crds``: the CustomResourceDefinitions."""

from __future__ import annotations

import click

import schemas
from compiler.render.yaml import dump

__all__ = ["command"]


@click.command("crds")
def command() -> None:
    """Print the CustomResourceDefinitions as YAML.

    \b
    Example:
      kuik crds | kubectl apply -f -
    """
    for index, crd in enumerate(schemas.crds()):
        click.echo(("---\n" if index else "") + dump(crd), nl=False)
