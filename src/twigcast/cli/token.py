"""``twigcast token``: a secret for a client, and what a broker keeps of it."""

from __future__ import annotations

import sys
from json import dumps
from typing import Annotated

import typer

from twigcast.cli.broker_options import requiring
from twigcast.cli.console import print_json


def token(
    name: Annotated[str, typer.Argument(help="Who is to have it.")] = "client",
    json: Annotated[
        bool, typer.Option("--json", help="One JSON object instead of lines for a configuration.")
    ] = False,
) -> None:
    """Make a token: the first line is for its owner, the others for the broker's configuration.

    The token is shown this once; the broker has its hash only.
    """
    with requiring("broker"):
        from twigcast.broker import PrincipalConfig, new_token
    secret, hashed = new_token()
    PrincipalConfig(name, (hashed,))  # refuses what a configuration could not have
    if json:
        print_json({"name": name, "token": secret, "hash": hashed})
        return
    sys.stdout.write(
        f"{secret}\n\n[[principals]]\nname = {dumps(name, ensure_ascii=False)}\n"
        f'token = "{hashed}"\n'
    )
