"""``twigcast ask``: the documents in a live broker's store that match."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from twigcast.cli import broker_options
from twigcast.cli.binding_options import (
    NAMESPACE,
    RELATIVE_TO,
    VARIABLE,
    XPATH_VERSION,
    chosen_bindings,
    parse_expressions,
)
from twigcast.cli.broker_options import ClientOptions, parse_since
from twigcast.cli.console import leaving_early, note, print_json
from twigcast.cli.documents_shown import shown
from twigcast.cli.interruptible import run_interruptible


def ask(
    xpath: Annotated[str, typer.Argument(help="The expression that documents are to match.")],
    broker: broker_options.BROKER = broker_options.DEFAULT_ADDRESS,
    namespace: NAMESPACE = None,
    variable: VARIABLE = None,
    relative_to: RELATIVE_TO = None,
    xpath_version: XPATH_VERSION = None,
    limit: Annotated[
        int | None, typer.Option(min=1, max=2**32 - 1, help="At most so many, the newest.")
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(
            metavar="WHEN",
            help="Only what was stored since a time as 2026-01-31T14:30 (UTC), or so long ago as "
            "2h.",
        ),
    ] = None,
    count: Annotated[
        bool, typer.Option("--count", help="Print how many there are, not the documents.")
    ] = False,
    token: broker_options.TOKEN = None,
    ca: broker_options.CA = None,
    certificate: broker_options.CERTIFICATE = None,
    key: broker_options.KEY = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON object a document.")] = False,
) -> None:
    """Ask a broker which of the documents it keeps match an XPath expression, newest first.

    A broker keeps what durable subscriptions want; started with --keep all, everything.  Standard
    error says how many documents it looked at.
    """
    options = ClientOptions(broker, token, ca, certificate, key)
    bindings = chosen_bindings(namespace, variable, relative_to, xpath_version)
    (pattern,) = parse_expressions([xpath], bindings)
    start = None if since is None else parse_since(since)
    show = shown(json=json)

    async def follow() -> tuple[int, int]:
        matched = 0
        async with options.connect() as client:
            asked = client.ask(pattern, limit=limit or 0, since=start)
            if count:
                return await asked.count(), asked.examined
            async for document in asked:
                matched += 1
                show(document)
            return matched, asked.examined

    with leaving_early():
        matched, examined = run_interruptible(follow())
        if count and json:
            print_json({"matched": matched, "examined": examined})
        elif count:
            sys.stdout.write(f"{matched}\n")
        note(f"{matched:,} matched; looked at {examined:,}")
