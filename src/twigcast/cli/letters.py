"""``twigcast letters``: documents that a live broker has set aside."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from twigcast.cli import broker_options
from twigcast.cli.broker_options import ClientOptions
from twigcast.cli.console import leaving_early, note, print_json
from twigcast.cli.documents_shown import about, content_fields, shown
from twigcast.times import show_time

if TYPE_CHECKING:
    from twigcast.client import Letter

letters = typer.Typer(
    name="letters",
    help="List, show, replay or drop letters: documents that a broker has set aside.",
    no_args_is_help=True,
)

_NUMBERS = Annotated[
    list[int] | None, typer.Argument(metavar="NUMBER", help="The numbers of letters.", min=1)
]
_DURABLE = Annotated[
    str | None, typer.Option(metavar="NAME", help="All letters of this durable subscription.")
]


@letters.command(name="list")
def list_letters(
    broker: broker_options.BROKER = broker_options.DEFAULT_ADDRESS,
    durable: _DURABLE = None,
    token: broker_options.TOKEN = None,
    ca: broker_options.CA = None,
    certificate: broker_options.CERTIFICATE = None,
    key: broker_options.KEY = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON object a letter.")] = False,
) -> None:
    """List letters: those of your durable subscriptions; all, if you administer the broker."""
    with ClientOptions(broker, token, ca, certificate, key).connect_sync() as client:
        listed = client.letters(durable)
    with leaving_early():
        if json:
            for each in listed:
                print_json(_facts(each))
        elif listed:
            for each in listed:
                typer.echo(_lines(each))
        else:
            note("there are no letters")


@letters.command()
def show(
    number: Annotated[int, typer.Argument(metavar="NUMBER", help="The number of a letter.", min=1)],
    broker: broker_options.BROKER = broker_options.DEFAULT_ADDRESS,
    token: broker_options.TOKEN = None,
    ca: broker_options.CA = None,
    certificate: broker_options.CERTIFICATE = None,
    key: broker_options.KEY = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Show a letter: its document on standard output, and why it was set aside."""
    with ClientOptions(broker, token, ca, certificate, key).connect_sync() as client:
        letter = client.read_letter(number)
    assert letter.document is not None, "a letter that is read has a document"
    with leaving_early():
        if json:
            print_json(
                _facts(letter) | about(letter.document) | content_fields(letter.document.content)
            )
        else:
            note(f"{_whose(letter)}: {letter.reason}")
            shown(json=False)(letter.document)


@letters.command()
def replay(
    numbers: _NUMBERS = None,
    broker: broker_options.BROKER = broker_options.DEFAULT_ADDRESS,
    durable: _DURABLE = None,
    token: broker_options.TOKEN = None,
    ca: broker_options.CA = None,
    certificate: broker_options.CERTIFICATE = None,
    key: broker_options.KEY = None,
) -> None:
    """Give letters back to their queues; those that were in none are published anew."""
    _check(numbers, durable)
    with ClientOptions(broker, token, ca, certificate, key).connect_sync() as client:
        note(_counted(client.replay_letters(numbers or (), durable=durable), "replayed"))


@letters.command()
def drop(
    numbers: _NUMBERS = None,
    broker: broker_options.BROKER = broker_options.DEFAULT_ADDRESS,
    durable: _DURABLE = None,
    token: broker_options.TOKEN = None,
    ca: broker_options.CA = None,
    certificate: broker_options.CERTIFICATE = None,
    key: broker_options.KEY = None,
) -> None:
    """Drop letters for good."""
    _check(numbers, durable)
    with ClientOptions(broker, token, ca, certificate, key).connect_sync() as client:
        note(_counted(client.drop_letters(numbers or (), durable=durable), "dropped"))


def _lines(letter: Letter) -> str:
    about = f"{letter.id}  {show_time(letter.at)}  {letter.size:,} bytes"
    return f"{letter.number}  {_whose(letter)}: {letter.reason}\n   {about}"


def _whose(letter: Letter) -> str:
    if letter.durable:
        return f"{letter.durable} #{letter.sequence:,}"
    return f"for {letter.home}" if letter.home else "nobody"


def _facts(letter: Letter) -> dict[str, Any]:
    return {
        "number": letter.number,
        "id": letter.id,
        "durable": letter.durable or None,
        "sequence": letter.sequence or None,
        "keys": list(letter.keys),
        "home": letter.home or None,
        "reason": letter.reason,
        "at": show_time(letter.at),
        "bytes": letter.size,
    }


def _check(numbers: list[int] | None, durable: str | None) -> None:
    if bool(numbers) == bool(durable):
        raise typer.BadParameter("give the numbers of letters, or --durable for all of its letters")


def _counted(numbers: list[int], done: str) -> str:
    return f"{len(numbers):,} {'letter' if len(numbers) == 1 else 'letters'} {done}"
