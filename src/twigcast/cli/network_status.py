"""``twigcast network status``: what brokers report about themselves and the overlay."""

from __future__ import annotations

import sys
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias
from urllib.parse import unquote

import typer
from rich.console import Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from twigcast.cli import broker_options
from twigcast.cli.broker_options import ClientOptions, noting_signals
from twigcast.cli.console import complain, leaving_early, make_table, output, print_json
from twigcast.cli.units_shown import (
    gateways_of,
    in_order,
    named_home,
    parts_of_units,
    problems_of_units,
    seen_from,
    units_table,
)
from twigcast.delivery import broker_of
from twigcast.errors import TwigcastError

if TYPE_CHECKING:
    from twigcast.client import SyncClient

_EVERY: Final = 1.0
_STEP: Final = 0.1
_PATIENCE: Final = 5.0
_MOST_EXPRESSIONS: Final = 3

Status: TypeAlias = dict[str, Any]
"""The status of a broker; under ``error``, why there is none."""


def status(
    brokers: Annotated[
        list[str] | None,
        typer.Option(
            "--broker",
            metavar="HOST:PORT",
            envvar="TWIGCAST_BROKER",
            help=f"A broker to ask, {broker_options.DEFAULT_ADDRESS} by default; several with "
            "commas between are all asked.  Can be given several times.",
        ),
    ] = None,
    watch: Annotated[
        bool, typer.Option("--watch", help="Show it anew each second, until Ctrl-C.")
    ] = False,
    token: broker_options.TOKEN = None,
    ca: broker_options.CA = None,
    certificate: broker_options.CERTIFICATE = None,
    key: broker_options.KEY = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON object a broker.")] = False,
) -> None:
    """Show what brokers know: the overlay, units, links, documents, tables and queues.

    A broker knows the overlay of its unit, a gateway those of the units around it, too.  Figures it
    has of its own only.
    """
    named = [each for several in brokers or () for each in several.split(",") if each]
    addresses = list(dict.fromkeys(named or [broker_options.DEFAULT_ADDRESS]))
    reached = [ClientOptions(address, token, ca, certificate, key) for address in addresses]
    with ExitStack() as stack:
        asked = [stack.enter_context(closing(_Asked(each))) for each in reached]
        if watch:
            _watch(asked, json=json)
            return
        statuses = [each.ask() for each in asked]
    answered = [each for each in statuses if "error" not in each]
    if json:
        for each in statuses:
            print_json(each)
    elif answered:
        output().print(_shown(answered))
    if len(answered) < len(statuses):
        for each in statuses:
            if "error" in each:
                complain(each["error"])
        raise typer.Exit(1 if answered else 2)


class _Asked:
    """A broker that is asked, perhaps again and again; it may be away at times."""

    def __init__(self, options: ClientOptions) -> None:
        self._options = options
        self._client: SyncClient | None = None

    def close(self) -> None:
        if self._client is not None:
            self._client.close()

    def ask(self) -> Status:
        """The status of the broker now."""
        try:
            if self._client is None:
                self._client = self._options.connect_sync(_PATIENCE)
            status = self._client.status()
        except TwigcastError as error:
            return {"address": self._options.address, "error": str(error)}
        return {"address": self._client.address, **status}


def _watch(asked: Sequence[_Asked], *, json: bool) -> None:
    with leaving_early(), noting_signals() as signals, ExitStack() as stack:
        live = None
        if not json:
            live = stack.enter_context(Live(console=output(), auto_refresh=False))
        while not signals:
            statuses = [each.ask() for each in asked]
            if live is None:
                for each in statuses:
                    print_json(each)
                sys.stdout.flush()
            else:
                live.update(_shown(statuses), refresh=True)
            again = time.monotonic() + _EVERY
            while not signals and time.monotonic() < again:
                time.sleep(_STEP)


def _shown(statuses: Sequence[Status]) -> RenderableType:
    """Everything as tables that fit a narrow terminal; those that would be empty are left out."""
    # Whichever door of a group is asked, the same broker answers.
    answered = list(
        {
            (each["broker"], each["incarnation"]): each for each in statuses if "error" not in each
        }.values()
    )
    units = parts_of_units(answered)
    parts: list[RenderableType] = [_brokers(answered, gateways_of(answered, units))]
    if units:
        parts.append(units_table(units))
    if groups := [each for each in answered if each["door"]]:
        parts.append(_doors(groups))
    parts.append(_documents(answered))
    links = [(each["broker"], link) for each in answered for link in each["links"]]
    if links:
        parts.append(_links(links))
    queues = [(each["broker"], queue) for each in answered for queue in each["durable"]]
    if queues:
        parts.append(_queues(queues))
    problems = [*problems_of_units(answered, units), *_problems(answered)]
    parts += [Text(problem, style="yellow") for problem in problems]
    parts += [Text(each["error"], style="red") for each in statuses if "error" in each]
    return Group(*parts)


def _table(title: str, words: Sequence[str], numbers: Sequence[str]) -> Table:
    return make_table([*words, *numbers], numbers=numbers, title=title)


def _brokers(answered: Sequence[Status], gateways: Mapping[str, str]) -> Table:
    """All brokers that are known, and how those are that were asked."""
    stands_for = ("gateway of",) if gateways else ()
    words = ("broker", *stands_for, "address", "links")
    title = "brokers, in the units of those asked" if gateways else "brokers"
    table = _table(title, words, ("up", "clients", "owed"))
    known = _known(answered)
    reached = _reached([each["broker"] for each in answered], known)
    by_name = {each["broker"]: each for each in answered}
    for name in in_order(known):
        neighbours = known[name]
        links = ", ".join(seen_from(name, each) for each in in_order(neighbours))
        each = by_name.get(name)
        shown = " ".join(filter(None, (name, (each or {}).get("bits"))))
        named = map(Text, (shown, gateways.get(name, "")) if gateways else (shown,))
        if each is not None:
            is_cut_off = not neighbours and (len(known) > 1 or each["problems"])
            table.add_row(
                *named,
                *map(Text, (each["address"], "cut off" if is_cut_off else links)),
                _span(each["uptime_seconds"]),
                f"{max(each['clients'] - 1, 0):,}",  # besides the one that asks
                f"{sum(each['owed'].values()):,}",
                style="yellow" if is_cut_off else "",
            )
        elif name in reached:
            table.add_row(*named, "", Text(links), style="dim")
        else:
            table.add_row(*named, "", "lost", style="red")
    return table


def _known(answered: Sequence[Status]) -> dict[str, set[str]]:
    """The links of all brokers that any of those asked knows of, linked or not."""
    known: dict[str, set[str]] = {}
    for each in answered:
        for name, neighbours in each["topology"].items():
            known.setdefault(name, set()).update(neighbours)
        for name in (each["broker"], *map(broker_of, (*each["owed"], *each["homes"]))):
            known.setdefault(name, set())
    return known


def _reached(names: Sequence[str], known: Mapping[str, Collection[str]]) -> set[str]:
    """The brokers to which links lead from those named."""
    reached = set(names)
    waiting = list(names)
    while waiting:
        for neighbour in known.get(waiting.pop(), ()):
            if neighbour not in reached:
                reached.add(neighbour)
                waiting.append(neighbour)
    return reached


def _doors(groups: Sequence[Status]) -> Table:
    """The doors of each group: the one that leads, and those that stand by."""
    table = _table("doors", ("broker", "leads", "stand by"), ())
    for each in groups:
        others = "" if each["standing_by"] is None else ", ".join(each["standing_by"]) or "none"
        style = "yellow" if others == "none" else ""
        table.add_row(*map(Text, (each["broker"], each["door"], others)), style=style)
    return table


def _documents(answered: Sequence[Status]) -> Table:
    """What went through the brokers that were asked, and how large their tables are."""
    counts = ("in", "out", "forwarded")
    title = "documents, since each broker runs, and tables"
    table = _table(title, ("broker",), (*counts, "patterns", "sent"))
    for each in sorted(answered, key=lambda each: str(each["broker"])):
        numbers = [each["documents"][name] for name in counts]
        numbers += [each["tables"][name] for name in ("patterns", "sent")]
        table.add_row(Text(each["broker"]), *(f"{number:,}" for number in numbers))
    return table


def _links(links: Sequence[tuple[str, Status]]) -> Table:
    within = ("unit",) if any(link["unit"] for _, link in links) else ()
    words = ("broker", "neighbour", *within, "address")
    table = _table("links, since each is up", words, ("cost", "up", "sent", "received"))
    for broker, link in links:
        units = (link["unit"] or "whole",) if within else ()
        table.add_row(
            *map(Text, (broker, link["broker"], *units, _address(link))),
            f"{link['cost']:g}",
            _span(link["up_seconds"]),
            *(f"{link[name]:,}" for name in ("documents_sent", "documents_received")),
        )
    return table


def _address(link: Status) -> str:
    """Where a neighbour is; one that called has a port of no use to anybody."""
    address: str = link["address"]
    if link["called"] != "neighbour":
        return address
    kind, colon, rest = address.partition(":")
    host = unquote(rest if colon and kind in ("ipv4", "ipv6") else address).rpartition(":")[0]
    return host or address


def _queues(queues: Sequence[tuple[str, Status]]) -> Table:
    has_owners = len({queue["owner"] for _, queue in queues}) > 1
    within = ("within",) if any(queue["scope"] for _, queue in queues) else ()
    words = ("broker", "name", "expressions", *within)
    table = _table("durable subscriptions", words, ("queued", "waiting", "client"))
    for broker, queue in queues:
        expressions = [xpath for _, xpath in sorted(queue["expressions"].items())]
        shown = ", ".join(expressions[:_MOST_EXPRESSIONS])
        if len(expressions) > _MOST_EXPRESSIONS:
            shown += f" … and {len(expressions) - _MOST_EXPRESSIONS:,} more"
        name = f"{queue['name']} of {queue['owner']}" if has_owners else queue["name"]
        table.add_row(
            *map(Text, (broker, name, shown)),
            *([Text(queue["scope"] or "")] if within else ()),
            *(f"{queue[count]:,}" for count in ("last", "waiting")),
            "here" if queue["attached"] else "away",
        )
    return table


def _problems(answered: Sequence[Status]) -> Iterator[str]:
    for each in answered:
        for home, count in each["owed"].items():
            if count:
                yield f"{each['broker']} owes {named_home(home)} {_count(count)}"
        for reason in each["problems"].values():
            yield f"{each['broker']}: {reason}"
        if each["letters"]:
            yield f"{each['broker']} has set {_count(each['letters'])} aside: twigcast letters"
        for link in each["links"]:
            for count, fate in ((link["waiting"], "holds"), (link["dropped"], "has dropped")):
                if count:
                    yield f"{each['broker']} {fate} {_count(count)} for {link['broker']}"
        for queue in each["durable"]:
            if queue["missed"]:
                whose = f"{queue['name']} at {each['broker']}"
                yield f"{whose} has missed {_count(queue['missed'])}"


def _count(documents: int) -> str:
    return f"{documents:,} document{'' if documents == 1 else 's'}"


def _span(seconds: float) -> str:
    """How long, in the two largest units."""
    whole = int(seconds)
    days, hours, minutes = whole // 86_400, whole // 3600 % 24, whole // 60 % 60
    if days:
        return f"{days}d {hours}h"
    if hours:
        return f"{hours}h {minutes}m"
    return f"{minutes}m {whole % 60}s" if minutes else f"{whole}s"
