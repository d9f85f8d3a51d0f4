"""Network files: brokers, links and clients, written in TOML.

A small one with everything that may stand in it::

    strategy = "advertisements-covering"     # a name that Strategy.named knows; this one if absent
    brokers = ["london", "paris", "rome"]

    [[links]]
    between = ["london", "paris"]
    cost = 2.5                               # 1 if absent
    latency_ms = 12                          # 1 if absent

    [[links]]
    between = ["paris", "rome"]

    [[clients]]
    name = "desk-7"
    broker = "rome"
    subscriptions = { quotes = "//Stock[Price>15]", alerts = "//cap:alert" }
    namespaces = { cap = "urn:oasis:names:tc:emergency:cap:1.2" }

    [[clients]]
    name = "desk-8"
    broker = "rome"
    subscriptions_file = "desk8.txt"         # as twigcast.language.read_subscriptions reads it

    [[clients]]
    name = "agency"
    broker = "london"
    advertises = [
        { id = "feed", dtd = "news.dtd", root = "news" },   # root may be absent where it is plain
        { id = "quotes", path = "/Quotes(/Group)+/Stock" },
        { id = "rest", anything = true },
    ]

Files are found from where the network file is.  Each DTD is read once, and those who advertise it
with the same root share one schema, so what a router knows of it serves all of them.

Numbers are read as decimals: 12 milliseconds are the number nearest to 0.012 seconds, and what
:func:`write_network` writes is read back to the last bit.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from difflib import get_close_matches
from pathlib import Path

from twigcast.errors import AdvertisementError, OverlayError, SchemaError, SubscriptionFileError
from twigcast.language import Notices, Pattern, read_expression, read_subscriptions
from twigcast.routing.checked_table import CheckedTable, load_toml, show
from twigcast.routing.overlay import Link, LinkTraits, Overlay
from twigcast.routing.promises import ANYTHING, Promise
from twigcast.routing.strategy import Strategy
from twigcast.schema import Advertisement, Schema

_MILLISECONDS = 3
"""The power of ten of them in a second."""


@dataclass(frozen=True)
class ClientPlan:
    """A client, its broker, and what it wants and promises under ids of its own."""

    name: str
    broker: str
    subscriptions: Mapping[str, Pattern] = field(default_factory=dict)
    advertisements: Mapping[str, Promise] = field(default_factory=dict)


@dataclass(frozen=True)
class NetworkPlan:
    """What a network file describes."""

    overlay: Overlay
    strategy: Strategy = field(default_factory=Strategy)
    clients: tuple[ClientPlan, ...] = ()


def read_network(path: str | os.PathLike[str]) -> NetworkPlan:
    """The network that a file describes.

    Raises :class:`~twigcast.errors.OverlayError` with the file, the entry, what is wrong there and
    what to write instead.
    """
    reader = _Reader(Path(path))
    file = reader.table
    overlay = reader.overlay()
    strategy = Strategy()
    if "strategy" in file.values:
        name = file.text("strategy", 'strategy = "covering"')
        try:
            strategy = Strategy.named(name)
        except ValueError as error:
            file.refuse(str(error))
    return NetworkPlan(overlay, strategy, reader.clients(overlay))


class _Reader:
    """One reading of one file; keeps the schemas."""

    def __init__(self, path: Path) -> None:
        self._folder = path.parent.absolute()  # beside a relative "-" is no file of that name
        self.table = CheckedTable(
            str(path), load_toml(path), ("strategy", "brokers", "links", "clients")
        )
        self._schemas: dict[Path, dict[str | None, Schema]] = {}

    def overlay(self) -> Overlay:
        file = self.table
        brokers = file.values.get("brokers")
        if not isinstance(brokers, list) or not brokers:
            said = "are missing" if brokers is None else f"are {show(brokers)}"
            file.refuse(f'brokers {said}; list their names, as in brokers = ["a", "b"]')
        known: dict[str, None] = {}
        for broker in brokers:
            if not isinstance(broker, str) or not broker:
                file.refuse(f"brokers: {show(broker)} is no name; write a text")
            if broker in known:
                file.refuse(f"brokers: {broker!r} stands there twice; every one needs its own name")
            known[broker] = None
        links: dict[Link, LinkTraits] = {}
        for entry in file.entries("links", ("between", "cost", "latency_ms"), _LINKS_FORM):
            link = _between(entry, known)
            if link in links:
                entry.refuse(f"{link.first!r} and {link.second!r} are linked already; keep one")
            links[link] = LinkTraits(
                entry.number("cost", LinkTraits().cost, 0, above_zero=True),
                entry.number("latency_ms", LinkTraits().latency, _MILLISECONDS, above_zero=False),
            )
        return Overlay(known, links)

    def clients(self, overlay: Overlay) -> tuple[ClientPlan, ...]:
        found: dict[str, ClientPlan] = {}
        for entry in self.table.entries("clients", _CLIENT_KEYS, _CLIENTS_FORM):
            name = entry.text("name", 'name = "desk-7"')
            if name in found:
                entry.refuse("another client has that name; every one needs its own")
            if name in overlay:  # a router knows both by their names alone
                entry.refuse("a broker has that name; give the client another")
            broker = entry.text("broker", f'broker = "{overlay.brokers[0]}"')
            _require_broker(entry, broker, overlay)
            found[name] = ClientPlan(
                name, broker, self._subscriptions(entry), self._advertisements(entry)
            )
        return tuple(found.values())

    def _subscriptions(self, entry: CheckedTable) -> dict[str, Pattern]:
        if "subscriptions_file" in entry.values:
            return self._subscriptions_of_file(entry)
        namespaces = entry.texts("namespaces", 'namespaces = { cap = "urn:…" }')
        found: dict[str, Pattern] = {}
        notices = Notices()
        notices.bind(namespaces, entry.place)
        for key, text in entry.texts("subscriptions", 'subscriptions = { quotes = "//a" }').items():
            try:
                reading = read_expression(text, namespaces)
            except ValueError as error:  # a SubscriptionError, or a binding that cannot be
                entry.refuse(f"subscriptions: {key!r}: {error}")
            notices.add(reading, namespaces, f"{entry.place}: subscriptions: {key!r}")
            found[key] = reading.pattern
        notices.issue()
        return found

    def _subscriptions_of_file(self, entry: CheckedTable) -> dict[str, Pattern]:
        for key in ("subscriptions", "namespaces"):
            if key in entry.values:
                entry.refuse(
                    f"{key} and subscriptions_file do not go together; move it to the file"
                )
        path = entry.path("subscriptions_file", self._folder)
        try:
            return {each.key: each.pattern for each in read_subscriptions(path)}
        except SubscriptionFileError as error:
            entry.refuse(f"subscriptions_file: {error}")
        except OSError as error:
            entry.refuse(f"subscriptions_file: {path}: {error.strerror or error}; correct the path")

    def _advertisements(self, entry: CheckedTable) -> dict[str, Promise]:
        found: dict[str, Promise] = {}
        for each in entry.entries("advertises", _PROMISE_KEYS, _PROMISES_FORM):
            key = each.text("id", _PROMISES_FORM)
            if key in found:
                each.refuse("another advertisement has that id; every one needs its own")
            found[key] = self._promise(each)
        return found

    def _promise(self, entry: CheckedTable) -> Promise:
        kinds = [kind for kind in ("dtd", "path", "anything") if kind in entry.values]
        if len(kinds) != 1:
            said = " and ".join(kinds) if kinds else "nothing"
            entry.refuse(f"this promises {said}; choose one of dtd, path and anything")
        if "root" in entry.values and "dtd" not in entry.values:
            entry.refuse("root is the root element of a DTD; leave it out, or name the dtd")
        try:
            if "dtd" in entry.values:
                root = entry.text("root") if "root" in entry.values else None
                return self._schema(entry.path("dtd", self._folder), root)
            if "path" in entry.values:
                return Advertisement.parse(entry.text("path", 'path = "/a(/b)+/c"'))
        except (SchemaError, AdvertisementError) as error:
            entry.refuse(str(error))
        if entry.values["anything"] is not True:
            entry.refuse("anything is true or absent; name a dtd or a path instead")
        return ANYTHING

    def _schema(self, path: Path, root: str | None) -> Schema:
        """The schema of a DTD that is read once, whatever roots it is wanted with."""
        known = self._schemas.setdefault(path.resolve(), {})
        if root not in known:
            other = next(iter(known.values()), None)
            made = Schema.from_dtd(path, root) if other is None else Schema(other.elements, root)
            known[root] = known.setdefault(made.root, made)
        return known[root]


_LINKS_FORM = '[[links]] with between = ["a", "b"]'
_CLIENTS_FORM = '[[clients]] with name = "…" and broker = "…"'
_PROMISES_FORM = 'advertises = [{ id = "feed", anything = true }]'
_CLIENT_KEYS = (
    "name",
    "broker",
    "subscriptions",
    "subscriptions_file",
    "namespaces",
    "advertises",
)
_PROMISE_KEYS = ("id", "dtd", "root", "path", "anything")


def _between(entry: CheckedTable, brokers: Collection[str]) -> Link:
    ends = entry.values.get("between")
    if not isinstance(ends, list) or len(ends) != 2:
        said = "is missing" if ends is None else f"is {show(ends)}"
        entry.refuse(f'between {said}; name two brokers, as in between = ["a", "b"]')
    for end in ends:
        if not isinstance(end, str):
            entry.refuse(f"between: {show(end)} is no broker; write its name")
        _require_broker(entry, end, brokers)
    one, other = ends
    if one == other:
        entry.refuse(f"{one!r} is linked to itself; name two brokers")
    return Link.between(one, other)


def _require_broker(entry: CheckedTable, name: str, brokers: Collection[str]) -> None:
    if name not in brokers:
        near = get_close_matches(name, brokers, 1)
        hint = f"did you mean {near[0]!r}?" if near else "add it to brokers"
        entry.refuse(f"there is no broker {name!r}; {hint}")


def write_network(overlay: Overlay, strategy: Strategy | None = None) -> str:
    """The text of a network file, without clients, that :func:`read_network` reads as the same.

    Raises OverlayError for what cannot be written: a strategy without a name, a broker whose name
    is no Unicode text, and an overlay without brokers.
    """
    strategy = strategy or Strategy()
    name = strategy.name
    try:
        if Strategy.named(name) != strategy:
            raise ValueError
    except ValueError:
        raise OverlayError(f"{strategy} has no name to be written; choose a named one") from None
    if not len(overlay):
        raise OverlayError("an overlay without brokers cannot be written; give it one")
    lines = [f"strategy = {_quoted(name)}", "brokers = ["]
    lines += [f"    {_quoted(broker)}," for broker in overlay]
    lines.append("]")
    for link, traits in overlay.links.items():
        lines += ["", "[[links]]", f"between = [{_quoted(link.first)}, {_quoted(link.second)}]"]
        if traits.cost != LinkTraits().cost:
            lines.append(f"cost = {_decimal(traits.cost, 0)}")
        if traits.latency != LinkTraits().latency:
            lines.append(f"latency_ms = {_decimal(traits.latency, _MILLISECONDS)}")
    return "\n".join([*lines, ""])


def _quoted(text: str) -> str:
    if any("\ud800" <= each < "\ue000" for each in text):
        raise OverlayError(f"the broker {text!r} cannot be written; give it another name")
    # JSON escapes what TOML wants escaped, but for one character.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _decimal(value: float, power: int) -> str:
    """The shortest number that is read as this one, times a power of ten."""
    number = Decimal(repr(float(value))).scaleb(power).normalize()
    return f"{number:f}" if -6 <= number.adjusted() < 16 else str(number)
