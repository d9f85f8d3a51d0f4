"""Network files: brokers, links and clients, written in TOML.

``docs/routing.md`` shows everything that may stand in one.

Files are relative to the network file.  Each schema is read once, and clients that
advertise it with the same root share it, so what a router knows of it serves all of them.

Numbers are read as decimals: 12 milliseconds are the number nearest to 0.012 seconds.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from difflib import get_close_matches
from math import inf
from pathlib import Path
from typing import Annotated

from twigcast.errors import (
    AdvertisementError,
    ConfigError,
    NetworkError,
    OverlayError,
    SchemaError,
    SubscriptionFileError,
)
from twigcast.language import (
    Bindings,
    Notices,
    Pattern,
    bindings_of_row,
    read_bound,
    read_subscriptions,
)
from twigcast.routing.overlay import Link, LinkTraits, Overlay
from twigcast.routing.promises import ANYTHING, Promise
from twigcast.routing.scopes import depth_of_scope
from twigcast.routing.strategy import Strategy
from twigcast.schema import Advertisement, Schema
from twigcast.tables import Text, at, entry_name, read_file, show

_MILLISECONDS = 3
"""The power of ten of them in a second."""


@dataclass(frozen=True)
class ClientPlan:
    """A client, its broker, and what it wants and promises under ids of its own."""

    name: str
    broker: str
    subscriptions: Mapping[str, Pattern] = field(default_factory=dict)
    advertisements: Mapping[str, Promise] = field(default_factory=dict)
    scope: str = ""
    """The unit that its subscriptions are kept within."""
    advertised_within: Mapping[str, str] = field(default_factory=dict)
    """The units that advertisements are kept within, by the ids of these."""


@dataclass(frozen=True)
class NetworkPlan:
    """What a network file describes."""

    overlay: Overlay
    strategy: Strategy = field(default_factory=Strategy)
    clients: tuple[ClientPlan, ...] = ()


# --- what stands in a file --------------------------------------------------------------------


def _cost(value: Decimal) -> float:
    cost = float(value)
    if not 0 < cost < inf:
        raise ConfigError(f"this is {show(value)}; write a number above 0")
    return cost


def _seconds(milliseconds: Decimal) -> float:
    try:
        seconds = float(milliseconds.scaleb(-_MILLISECONDS))
    except ArithmeticError:
        seconds = inf
    if not 0 <= seconds < inf:
        raise ConfigError(f"this is {show(milliseconds)}; write a number of 0 or more")
    return seconds


def _most_patterns(value: int) -> int:
    if value < 0:
        raise ConfigError(f"this is {value}; write 0 for no limit, or more")
    return value


@dataclass(frozen=True)
class _LinkEntry:
    between: Annotated[tuple[str, str], 'between = ["a", "b"]']
    cost: Annotated[float, _cost] = LinkTraits().cost
    latency_ms: Annotated[float, _seconds] = LinkTraits().latency


@dataclass(frozen=True)
class _PromiseEntry:
    id: Annotated[Text, 'id = "feed"']
    dtd: Path | None = None
    xsd: Path | None = None
    root: str = ""
    path: str = ""
    anything: bool = False
    scope: str = ""

    def __post_init__(self) -> None:
        kinds = [kind for kind in ("dtd", "xsd", "path", "anything") if getattr(self, kind)]
        if len(kinds) != 1:
            promised = " and ".join(kinds) if kinds else "nothing"
            raise ConfigError(
                f"this promises {promised}; choose one of dtd, xsd, path and anything"
            )
        if self.root and not self.schema_file:
            raise ConfigError(
                "root is the root element of a schema; leave it out, or name the dtd or xsd"
            )

    @property
    def schema_file(self) -> Path | None:
        """The file of the schema, if one is promised."""
        return self.dtd or self.xsd


@dataclass(frozen=True)
class _ClientEntry:
    name: Annotated[Text, 'name = "desk-7"']
    broker: Annotated[Text, 'broker = "rome"']
    subscriptions: Annotated[dict[str, str] | None, 'subscriptions = { quotes = "//a" }'] = None
    subscriptions_file: Path | None = None
    namespaces: Annotated[dict[str, str] | None, 'namespaces = { cap = "urn:…" }'] = None
    variables: Annotated[dict[str, object] | None, "variables = { limit = 5 }"] = None
    relative_to: Annotated[str | None, 'relative_to = "document"'] = None
    version: Annotated[str | None, 'version = "2.0"'] = None
    scope: str = ""
    advertises: Annotated[
        tuple[_PromiseEntry, ...], 'advertises = [{ id = "feed", anything = true }]'
    ] = ()

    def __post_init__(self) -> None:
        for key in ("subscriptions", "namespaces", "variables", "relative_to", "version"):
            if self.subscriptions_file is not None and getattr(self, key) is not None:
                raise ConfigError(
                    "this and subscriptions_file do not go together; move it to the file", where=key
                )

    def patterns(self) -> dict[str, Pattern]:
        """The subscriptions, parsed."""
        if self.subscriptions_file is None:
            patterns = {}
            bindings = self._bindings()
            notices = Notices()
            notices.bind(bindings, f"client {self.name}")
            for key, text in (self.subscriptions or {}).items():
                try:
                    reading = read_bound(text, bindings)
                except ValueError as error:
                    raise ConfigError(str(error), where=f"subscriptions, {key}") from None
                where = f"client {self.name}: subscriptions, {key}"
                notices.add(reading, bindings, where)
                patterns[key] = reading.pattern
            notices.issue()
            return patterns
        try:
            return {each.key: each.pattern for each in read_subscriptions(self.subscriptions_file)}
        except SubscriptionFileError as error:
            reason = str(error)
        except OSError as error:
            reason = f"{self.subscriptions_file}: {error.strerror or error}; correct the path"
        raise ConfigError(reason, where="subscriptions_file")

    def _bindings(self) -> Bindings:
        try:
            return bindings_of_row(vars(self))
        except ValueError as error:
            raise ConfigError(str(error)) from None


@dataclass(frozen=True)
class _NetworkFile:
    brokers: Annotated[tuple[Text, ...], 'brokers = ["a", "b"]']
    strategy: Annotated[Strategy, Strategy.named, 'strategy = "covering"'] = field(
        default_factory=Strategy
    )
    most_patterns: Annotated[int | None, _most_patterns] = None
    gateways: Annotated[dict[str, str] | None, 'gateways = { "north/a" = "north" }'] = None
    links: tuple[_LinkEntry, ...] = ()
    clients: tuple[_ClientEntry, ...] = ()

    def __post_init__(self) -> None:
        with at("brokers"):
            if not self.brokers:
                raise ConfigError('this is a list of 0; name them, as in brokers = ["a", "b"]')
            name, count = Counter(self.brokers).most_common(1)[0]
            if count > 1:
                raise ConfigError(f"{name!r} stands there twice; every one needs its own name")


# --- from the file to the network -----------------------------------------------------------------


def read_network(path: str | os.PathLike[str]) -> NetworkPlan:
    """The network that a file describes.

    Raises :class:`~twigcast.errors.OverlayError` with the file, the entry, what is wrong there and
    what to write instead.
    """
    try:
        file = read_file(path, _NetworkFile)
        overlay = _overlay(file)
        strategy = replace(file.strategy, most_patterns=file.most_patterns or None)
        return NetworkPlan(overlay, strategy, _clients(file, overlay))
    except ConfigError as error:
        raise OverlayError(str(ConfigError(error.reason, str(path), error.where))) from None


def _overlay(file: _NetworkFile) -> Overlay:
    brokers = dict.fromkeys(file.brokers)
    links: dict[Link, LinkTraits] = {}
    for number, entry in enumerate(file.links, start=1):
        with at(entry_name("links", number)):
            one, other = entry.between
            for broker in entry.between:
                _require_broker("between", broker, brokers)
            if one == other:
                raise ConfigError(f"{one!r} is linked to itself; name two brokers")
            link = Link.between(one, other)
            if link in links:
                raise ConfigError(
                    f"{link.first!r} and {link.second!r} are linked already; keep one"
                )
            links[link] = LinkTraits(entry.cost, entry.latency_ms)
    with at("gateways"):
        for broker in file.gateways or {}:
            _require_broker("", broker, brokers)
    return Overlay(brokers, links, file.gateways or {})


def _clients(file: _NetworkFile, overlay: Overlay) -> tuple[ClientPlan, ...]:
    clients: dict[str, ClientPlan] = {}
    schemas: dict[Path, dict[str | None, Schema]] = {}
    for number, entry in enumerate(file.clients, start=1):
        with at(entry_name("clients", number, entry.name)):
            if entry.name in clients:
                raise ConfigError("another client has that name; every one needs its own")
            if entry.name in overlay:  # a router knows both by their names alone
                raise ConfigError("a broker has that name; give the client another")
            _require_broker("broker", entry.broker, overlay)
            _require_scope(entry.broker, entry.scope)
            promises: dict[str, Promise] = {}
            within: dict[str, str] = {}
            for count, each in enumerate(entry.advertises, start=1):
                with at(entry_name("advertises", count, each.id)):
                    if each.id in promises:
                        raise ConfigError("another advertisement has that id; choose another")
                    promises[each.id] = _promise(each, schemas)
                    _require_scope(entry.broker, each.scope)
                    if each.scope:
                        within[each.id] = each.scope
            clients[entry.name] = ClientPlan(
                entry.name, entry.broker, entry.patterns(), promises, entry.scope, within
            )
    return tuple(clients.values())


def _require_broker(key: str, name: str, brokers: Collection[str]) -> None:
    if name not in brokers:
        near = get_close_matches(name, brokers, 1)
        hint = f"did you mean {near[0]!r}?" if near else "add it to brokers"
        raise ConfigError(f"there is no broker {name!r}; {hint}", where=key)


def _require_scope(broker: str, scope: str) -> None:
    try:
        depth_of_scope(broker, scope)
    except NetworkError as error:
        raise ConfigError(str(error), where="scope") from None


def _promise(entry: _PromiseEntry, schemas: dict[Path, dict[str | None, Schema]]) -> Promise:
    """What an entry promises; each DTD is read once, an XSD once for each root."""
    try:
        file = entry.schema_file
        if file is None:
            return Advertisement.parse(entry.path) if entry.path else ANYTHING
        known = schemas.setdefault(file.resolve(), {})
        root = entry.root or None
        if root not in known:
            other = None if entry.dtd is None else next(iter(known.values()), None)
            read = Schema.from_dtd if entry.dtd is not None else Schema.from_xsd
            made = read(file, root) if other is None else Schema(other.elements, root)
            known[root] = known.setdefault(made.root, made)
        return known[root]
    except (SchemaError, AdvertisementError) as error:
        raise ConfigError(str(error)) from None
