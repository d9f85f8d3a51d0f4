"""``twigcast network status``: what brokers tell of themselves and of the overlay."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated, Any, Final, Self, TypeAlias

import typer
from rich.console import Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from twigcast.cli.broker_options import (
    CA,
    CERTIFICATE,
    DEFAULT_ADDRESS,
    KEY,
    TOKEN,
    ClientOptions,
    noting_signals,
)
from twigcast.cli.console import complain, leaving_early, output, print_json, wide_output
from twigcast.errors import TwigcastError

if TYPE_CHECKING:
    from twigcast.client import SyncClient

_EVERY: Final = 1.0
_STEP: Final = 0.1
_PATIENCE: Final = 5.0
_MOST_EXPRESSIONS: Final = 3

Told: TypeAlias = dict[str, Any]
"""What a broker tells; under ``error``, why it tells nothing."""


def status(
    brokers: Annotated[
        list[str] | None,
        typer.Option(
            "--broker",
            metavar="HOST:PORT",
            envvar="TWIGCAST_BROKER",
            help=f"A broker to ask, {DEFAULT_ADDRESS} by default; can be given several times.",
        ),
    ] = None,
    watch: Annotated[
        bool, typer.Option("--watch", help="Show it anew each second, until Ctrl-C.")
    ] = False,
    token: TOKEN = None,
    ca: CA = None,
    certificate: CERTIFICATE = None,
    key: KEY = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON object a broker.")] = False,
) -> None:
    """Show what brokers know: the overlay, links, documents, tables and queues.

    Every broker knows the whole overlay, but figures of its own only.
    """
    addresses = list(dict.fromkeys(brokers or [DEFAULT_ADDRESS]))
    reached = [ClientOptions(address, token, ca, certificate, key) for address in addresses]
    with ExitStack() as stack:
        asked = [stack.enter_context(_Asked(each)) for each in reached]
        if watch:
            _watch(asked, json=json)
            return
        told = [each.ask() for each in asked]
    answered = [each for each in told if "error" not in each]
    if json:
        for each in told:
            print_json(each)
    elif answered:
        wide_output().print(_shown(answered))
    if len(answered) < len(told):
        for each in told:
            if "error" in each:
                complain(each["error"])
        raise typer.Exit(1 if answered else 2)


class _Asked:
    """A broker that is asked, perhaps again and again; it may be away at times."""

    def __init__(self, options: ClientOptions) -> None:
        self._options = options
        self._client: SyncClient | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._client is not None:
            self._client.close()

    def ask(self) -> Told:
        """What the broker tells now."""
        try:
            if self._client is None:
                self._client = self._options.connect_sync(_PATIENCE)
            told = self._client.status()
        except TwigcastError as error:
            return {"address": self._options.address, "error": str(error)}
        return {"address": self._client.address, **told}


def _watch(asked: Sequence[_Asked], *, json: bool) -> None:
    with leaving_early(), noting_signals() as signals, ExitStack() as stack:
        live = None
        if not json:
            live = stack.enter_context(Live(console=output(), auto_refresh=False))
        while not signals:
            told = [each.ask() for each in asked]
            if live is None:
                for each in told:
                    print_json(each)
                sys.stdout.flush()
            else:
                live.update(_shown(told), refresh=True)
            again = time.monotonic() + _EVERY
            while not signals and time.monotonic() < again:
                time.sleep(_STEP)


def _shown(told: Sequence[Told]) -> RenderableType:
    """Everything as tables; those that would be empty are left out."""
    answered = [each for each in told if "error" not in each]
    parts: list[RenderableType] = [_brokers(answered)]
    links = [(each["broker"], link) for each in answered for link in each["links"]]
    if links:
        parts.append(_links(links))
    queues = [(each["broker"], queue) for each in answered for queue in each["durable"]]
    if queues:
        parts.append(_queues(queues))
    parts += [Text(problem, style="yellow") for problem in _problems(answered)]
    parts += [Text(each["error"], style="red") for each in told if "error" in each]
    return Group(*parts)


def _brokers(answered: Sequence[Told]) -> Table:
    """All brokers that are known; figures of those that were asked."""
    table = Table(title="brokers", title_justify="left")
    table.add_column("broker", overflow="fold")
    table.add_column("address", no_wrap=True)
    table.add_column("links", overflow="fold")
    for column in ("up", "clients", "in", "out", "forwarded", "patterns", "told", "owed"):
        table.add_column(column, justify="right")
    known: dict[str, Sequence[str]] = {}
    for each in answered:
        for name, neighbours in each["topology"].items():
            known[name] = known.get(name) or sorted(neighbours)
    by_name = {each["broker"]: each for each in answered}
    for name, neighbours in sorted(known.items()):
        links = ", ".join(neighbours)
        if name in by_name:
            table.add_row(Text(name), *map(Text, _figures(by_name[name], links)))
        else:
            table.add_row(Text(name), "", Text(links), style="dim")
    return table


def _figures(told: Told, links: str) -> Iterator[str]:
    documents, tables = told["documents"], told["tables"]
    yield told["address"]
    yield links
    yield _span(told["uptime_seconds"])
    yield f"{max(told['clients'] - 1, 0):,}"  # besides the one that asks
    for name in ("in", "out", "forwarded"):
        yield f"{documents[name]:,}"
    yield f"{tables['patterns']:,}"
    yield f"{tables['told']:,}"
    yield f"{sum(told['owed'].values()):,}"


def _links(links: Sequence[tuple[str, Told]]) -> Table:
    table = Table(title="links", title_justify="left")
    for column in ("broker", "neighbour", "address"):
        table.add_column(column, overflow="fold")
    for column in ("cost", "up", "sent", "received", "waiting", "dropped"):
        table.add_column(column, justify="right")
    for broker, link in links:
        table.add_row(
            Text(broker),
            Text(link["broker"]),
            Text(link["address"]),
            f"{link['cost']:g}",
            _span(link["up_seconds"]),
            *(
                f"{link[name]:,}"
                for name in ("documents_sent", "documents_received", "waiting", "dropped")
            ),
        )
    return table


def _queues(queues: Sequence[tuple[str, Told]]) -> Table:
    table = Table(title="durable subscriptions", title_justify="left")
    for column in ("broker", "name", "owner", "expressions"):
        table.add_column(column, overflow="fold")
    for column in ("queued", "acknowledged", "waiting", "missed"):
        table.add_column(column, justify="right")
    table.add_column("client")
    for broker, queue in queues:
        expressions = [xpath for _, xpath in sorted(queue["expressions"].items())]
        shown = ", ".join(expressions[:_MOST_EXPRESSIONS])
        if len(expressions) > _MOST_EXPRESSIONS:
            shown += f" … and {len(expressions) - _MOST_EXPRESSIONS:,} more"
        table.add_row(
            *map(Text, (broker, queue["name"], queue["owner"], shown)),
            *(f"{queue[name]:,}" for name in ("last", "acknowledged", "waiting", "missed")),
            "here" if queue["attached"] else "away",
        )
    return table


def _problems(answered: Sequence[Told]) -> Iterator[str]:
    for each in answered:
        for home, count in each["owed"].items():
            yield f"{each['broker']} owes {home} {count:,} documents"
        for address, reason in each["problems"].items():
            yield f"{each['broker']} cannot link to {address}: {reason}"


def _span(seconds: float) -> str:
    """How long, in the two largest units."""
    whole = int(seconds)
    days, hours, minutes = whole // 86_400, whole // 3600 % 24, whole // 60 % 60
    if days:
        return f"{days}d {hours}h"
    if hours:
        return f"{hours}h {minutes}m"
    return f"{minutes}m {whole % 60}s" if minutes else f"{whole}s"
