"""``kuik schema``: the JSON Schemas, for editors and other tools."""

from __future__ import annotations

import json

import click

import schemas

__all__ = ["command"]


@click.command("schema")
@click.argument("name", type=click.Choice(schemas.NAMES), metavar="NAME")
def command(name: str) -> None:
    """Print the JSON Schema NAME: config, imagealternative, imagemirror, imagemonitor, plan or plandiff.

    \b
    Example, for an editor:
      kuik schema config > .vscode/kuik-config.schema.json
    """
    click.echo(json.dumps(schemas.load(name), indent=2, ensure_ascii=False))
