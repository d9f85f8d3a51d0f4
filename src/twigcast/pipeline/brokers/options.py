"""The options of a Spark query about a broker: read once, checked, and sent to the executors.

Spark hands over options as texts under names without regard to case, so keys and prefixes that
stand in a name arrive in lower case.  All mistakes are reported together, before anything connects.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from difflib import get_close_matches
from types import ModuleType
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, cast

from twigcast.errors import PipelineError, TwigcastError
from twigcast.language import NO_BINDINGS, Bindings, Pattern, bindings_of_texts, read_bound
from twigcast.schema import Advertisement, Schema, is_path_expression

if TYPE_CHECKING:
    from twigcast.client import Client, SyncClient

PATIENCE: Final = 60.0
"""Seconds that a broker may be away before a query fails."""

_CONNECTING: Final = ("broker", "token", "ca", "certificate", "key", "tls")
_PREFIX: Final = re.compile(r"([^\W\d][\w.-]*):(?!:)")
_VARIABLE: Final = re.compile(r"\$([^\W\d][\w.-]*)")
_BINDING: Final = ("namespaces.", "variables.")
_OF_STREAMS: Final = ("xpath", "namespaces", "variables", "relativeto", "version", "scope")
"""How the names of options begin that make a subscription."""

OnRefused: TypeAlias = Literal["fail", "skip"]
Promised: TypeAlias = "Schema | Advertisement | None"
"""What is advertised; None for anything."""


@dataclass(frozen=True)
class BrokerOptions:
    """How to reach a broker.  The files it names are read wherever a connection is made."""

    address: str
    token: str | None = field(default=None, repr=False)
    ca: str | None = None
    certificate: str | None = None
    key: str | None = None
    tls: bool = False

    def connect(self) -> Client:
        """A client for an event loop; ``async with`` connects it."""
        client: Client = _load_client().connect(**asdict(self), name=f"spark/{os.getpid()}")
        return client

    def connect_sync(self) -> SyncClient:
        """A client that is connected."""
        client: SyncClient = _load_client().connect_sync(
            **asdict(self), name=f"spark/{os.getpid()}"
        )
        return client


@dataclass(frozen=True)
class QueueOptions:
    """A durable subscription to read, and how; without expressions, as the broker keeps it."""

    broker: BrokerOptions
    durable: str
    expressions: Mapping[str, Pattern]
    scope: str
    max_documents: int
    fail_on_data_loss: bool


@dataclass(frozen=True)
class PublishOptions:
    """Where to publish a column of documents, and how."""

    broker: BrokerOptions
    column: str
    on_refused: OnRefused
    scope: str
    advertises: bool
    promised: Promised


def stream_options(options: Mapping[str, str]) -> QueueOptions:
    """The options of a query that reads a queue as it grows."""
    reading = _Reading(
        options,
        ("durable", "xpath", "relativeTo", "version", "scope", "maxDocuments", "failOnDataLoss"),
        ("xpath.", *_BINDING),
    )
    broker = reading.broker()
    durable = reading.required("durable")
    expressions = {key: text for key, text in reading.under("xpath.").items() if key}
    if alone := reading.text("xpath"):
        expressions[alone] = alone
    bindings = _bindings(reading, expressions.values())
    patterns = {}
    for key, text in expressions.items():
        try:
            patterns[key] = read_bound(text, bindings).pattern
        except TwigcastError as error:
            reading.refuse(f"xpath{'' if key == text else f'.{key}'}: {error}")
    queue = QueueOptions(
        broker,
        durable,
        patterns,
        reading.text("scope") or "",
        reading.count("maxDocuments", 10_000),
        reading.flag("failOnDataLoss", True),
    )
    reading.finish()
    return queue


def batch_options(options: Mapping[str, str]) -> QueueOptions:
    """The options of a query that reads what a queue has now."""
    reading = _Reading(options, ("durable",), ())
    for name in options:
        if name.partition(".")[0].lower() in _OF_STREAMS:
            reading.refuse(
                f"{name} is for readStream, which makes the subscription; "
                "a batch reads one that is there"
            )
    broker = reading.broker()
    queue = QueueOptions(broker, reading.required("durable"), {}, "", 0, False)
    reading.finish()
    return queue


def publish_options(options: Mapping[str, str]) -> PublishOptions:
    """The options of a query that publishes."""
    reading = _Reading(options, ("column", "onRefused", "scope", "advertise", "advertiseRoot"), ())
    broker = reading.broker()
    on_refused = reading.text("onRefused") or "fail"
    if on_refused not in ("fail", "skip"):
        reading.refuse(f"onRefused is fail or skip, not {on_refused!r}")
    if reading.text("to"):
        reading.refuse(
            "to is no option but a column, array<string>, with the destinations of each document"
        )
    promise, root = reading.text("advertise"), reading.text("advertiseRoot")
    promised: Promised = None
    try:
        promised = _promised(promise, root)
    except (TwigcastError, OSError) as error:
        reading.refuse(f"advertise: {error}")
    publishing = PublishOptions(
        broker,
        reading.text("column") or "content",
        cast(OnRefused, on_refused),
        reading.text("scope") or "",
        promise is not None,
        promised,
    )
    reading.finish()
    return publishing


class _Reading:
    """Options while they are read; mistakes are collected until :meth:`finish`."""

    def __init__(
        self, options: Mapping[str, str], names: tuple[str, ...], prefixes: tuple[str, ...]
    ) -> None:
        self._options = {name.lower(): value for name, value in options.items()}
        self._missing: list[str] = []
        self._wrong: list[str] = []
        known = {name.lower(): name for name in (*_CONNECTING, *names)}
        for name in self._options:
            # Spark has options of its own among these, so only what looks like ours is refused.
            close = get_close_matches(name, known, 1, 0.8)
            if close and name not in known and not name.startswith(prefixes):
                self.refuse(f"there is no option {name}; {known[close[0]]} perhaps")

    def broker(self) -> BrokerOptions:
        address = self.required("broker")
        texts = {name: self.text(name) for name in ("token", "ca", "certificate", "key")}
        return BrokerOptions(address, **texts, tls=self.flag("tls", False))

    def text(self, name: str) -> str | None:
        """An option; None where it is not given, or empty."""
        return self._options.get(name.lower()) or None

    def required(self, name: str) -> str:
        text = self.text(name)
        if text is None:
            self._missing.append(name)
        return text or ""

    def count(self, name: str, default: int) -> int:
        """A number of things, at least one."""
        text = self.text(name) or str(default)
        if not re.fullmatch(r"[0-9]{1,9}", text) or not int(text):
            self.refuse(f"{name} is a number from 1 to 999999999, not {text!r}")
            return default
        return int(text)

    def flag(self, name: str, default: bool) -> bool:
        text = (self.text(name) or str(default)).lower()
        if text not in ("true", "false"):
            self.refuse(f"{name} is true or false, not {text!r}")
        return text == "true"

    def under(self, prefix: str) -> dict[str, str]:
        """All options whose names begin so, by what follows."""
        return {
            name.removeprefix(prefix): value
            for name, value in self._options.items()
            if name.startswith(prefix)
        }

    def refuse(self, reason: str) -> None:
        self._wrong.append(reason)

    def finish(self) -> None:
        if self._missing:
            said = " and ".join(f'.option("{name}", …)' for name in self._missing)
            self._wrong.insert(0, f"{' and '.join(self._missing)} must be given: {said}")
        if self._wrong:
            raise PipelineError("format twigcast: " + "; ".join(self._wrong))


def _bindings(reading: _Reading, expressions: Iterable[str]) -> Bindings:
    """What the expressions are read with."""
    text = " ".join(expressions)
    try:
        return bindings_of_texts(
            _as_spelled(reading.under("namespaces."), _PREFIX.findall(text)),
            _as_spelled(reading.under("variables."), _VARIABLE.findall(text)),
            reading.text("relativeTo"),
            reading.text("version"),
        )
    except ValueError as error:
        reading.refuse(str(error))
        return NO_BINDINGS


def _as_spelled(bound: Mapping[str, str], names: Iterable[str]) -> dict[str, str]:
    """What is bound, with names in the case in which the expressions have them."""
    return {**bound, **{name: bound[name.lower()] for name in names if name.lower() in bound}}


def _promised(promise: str | None, root: str | None) -> Promised:
    """What an option advertises, with files read here, where the query is planned."""
    if promise is None:
        if root is not None:
            raise PipelineError("advertiseRoot goes with a DTD or an XSD in advertise")
        return None
    if promise.lower() == "anything":
        return None
    if is_path_expression(promise):
        return Advertisement.parse(promise)
    return Schema.of(promise, root)


def _load_client() -> ModuleType:
    try:
        from twigcast import client
    except ImportError as error:
        raise PipelineError(
            f"brokers are reached with gRPC, and {error.name} is not installed here: "
            "pip install 'twigcast[client]'"
        ) from error
    return client
