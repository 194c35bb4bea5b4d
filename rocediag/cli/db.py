"""`rocediag db`: care of the findings store."""

import asyncio

import typer

from rocediag.cli import ask, options


def build() -> typer.Typer:
    """Put the group together."""
    group = typer.Typer(help="Care of the findings store.", no_args_is_help=True)
    group.command("upgrade")(upgrade)
    group.callback()(_group)
    return group


def _group() -> None:
    """Care of the findings store."""


def upgrade(store: options.StoreUrl = None) -> None:
    """Make the store, or renew its form.

    The daemon does the same as it starts.
    """
    from rocediag.store import upgrade as to_newest

    asyncio.run(to_newest(store or ask.configured_store()))
    print("the store is up to date")
