"""``twigcast admin``: what operators do with the store of a broker that is stopped."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from twigcast.cli.broker_options import requiring
from twigcast.cli.console import leaving_early, output, print_figures, print_json, showing_work
from twigcast.cli.store_option import store_location

if TYPE_CHECKING:
    from pathlib import Path

    from twigcast.broker import Moved

admin = typer.Typer(
    name="admin",
    help="Administer the store of a broker that is stopped.",
    no_args_is_help=True,
)


@admin.command(name="move-store")
def move_store(
    source: Annotated[
        str, typer.Argument(metavar="FROM", help="The store: a folder, or postgresql://…")
    ],
    target: Annotated[
        str, typer.Argument(metavar="TO", help="An empty folder, or an empty database.")
    ],
    json: Annotated[bool, typer.Option("--json", help="The summary as one JSON object.")] = False,
) -> None:
    """Move the store of a broker to another folder or database, with all that it keeps.

    The broker must be stopped.  Afterwards brokers refuse the store that was moved, and say where
    it is now.  A move that is interrupted has moved nothing: run it again.
    """
    with requiring("broker"):
        from twigcast.broker import move_store as move

        stores = _store_at(source, "FROM"), _store_at(target, "TO")
    with showing_work() as show:
        moved = move(*stores, show)
    with leaving_early():
        if json:
            print_json(moved.as_json())
        else:
            _print_summary(moved)


def _store_at(text: str, name: str) -> Path | str:
    from twigcast.broker import StoreConfig
    from twigcast.errors import ConfigError

    try:
        config = StoreConfig(**store_location(text))
    except ConfigError as error:
        raise ConfigError(error.reason, where=name) from None
    return config.folder or config.url


def _print_summary(moved: Moved) -> None:
    counts = {
        "documents": f"documents, {moved.bytes / 1e6:,.1f} MB",
        "durables": "durable subscriptions with their queues",
        "queue": "entries of queues",
        "owed": "documents owed to homes",
        "letters": "letters",
        "publications": "publication ids",
    }
    figures = [(f"{moved.rows(table):,}", what) for table, what in counts.items()]
    figures.append((f"{moved.seconds:,.1f}", "seconds, read back and compared"))
    print_figures(figures)
    output().print(f"The store of {moved.broker} is in {moved.target} now.", soft_wrap=True)
