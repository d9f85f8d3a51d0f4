"""``twigcast subscribe``: the documents of a live broker that match, as they come."""

from __future__ import annotations

import re
import time
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

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
from twigcast.cli.broker_options import (
    ClientOptions,
    noting_signals,
    parse_since,
    reporting_connection,
)
from twigcast.cli.console import leaving_early, note, warn
from twigcast.cli.documents_shown import Show, require_reader, shown, wait_for_reader
from twigcast.cli.subscription_argument import SKIP_BAD, report_skipped
from twigcast.documents import parse_value_path
from twigcast.errors import SubscriptionFileError
from twigcast.language import Bindings, Pattern, read_subscriptions

if TYPE_CHECKING:
    from twigcast.client import SyncSubscription

_EVERY: Final = 0.2
_WINDOW: Final = 256
_PATIENCE: Final = 0.2
"""Seconds in which whoever reads from a pipe takes a document, unless it is busy."""


def subscribe(
    xpaths: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="XPATH", help="Expressions; documents that match any of them are printed."
        ),
    ] = None,
    broker: broker_options.BROKER = broker_options.DEFAULT_ADDRESS,
    namespace: NAMESPACE = None,
    variable: VARIABLE = None,
    relative_to: RELATIVE_TO = None,
    xpath_version: XPATH_VERSION = None,
    subscriptions: Annotated[
        str | None,
        typer.Option(
            "--subscriptions",
            "-s",
            help="A file of expressions with keys: text, .csv or .parquet; - reads text.",
        ),
    ] = None,
    skip_bad: SKIP_BAD = False,
    durable: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Let the broker keep the subscription under this name, and its documents while "
            "nobody is here; without expressions, go on with it.",
        ),
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(
            metavar="WHEN",
            help="Where a durable one begins: a sequence number, a time as 2026-01-31T14:30 (UTC), "
            "or how long ago as 2h; otherwise with the first that is not acknowledged.",
        ),
    ] = None,
    shared: Annotated[
        bool | None,
        typer.Option(
            "--shared/--exclusive",
            help="Whether several clients share the documents of a durable one, each document for "
            "one of them; for a new one otherwise --exclusive.",
        ),
    ] = None,
    ordered_by: Annotated[
        str | None,
        typer.Option(
            metavar="XPATH",
            help="For a shared one: documents with the same value at a path, as /order/@customer, "
            "come in order.",
        ),
    ] = None,
    deliveries: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=2**31 - 1,
            help="How often a durable one gives a document out before it sets it aside as a "
            "letter; 0 for without end.",
        ),
    ] = None,
    scope: Annotated[
        str | None,
        typer.Option(
            metavar="UNIT",
            callback=broker_options.require_scope,
            help="Get only what is published in a unit that the broker is in: its name, or "
            "cluster, super-cluster or super-super-cluster.",
        ),
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="End after so many documents.")] = None,
    timeout: Annotated[
        float | None,
        typer.Option(
            min=0.0, help="End after so many seconds; status 1 if --limit is not reached by then."
        ),
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="Write each document to a file in this folder instead."
        ),
    ] = None,
    no_ack: Annotated[
        bool, typer.Option("--no-ack", help="Acknowledge nothing, so that everything comes again.")
    ] = False,
    forget: Annotated[
        bool,
        typer.Option("--forget", help="End the durable subscription for good, with its documents."),
    ] = False,
    token: broker_options.TOKEN = None,
    ca: broker_options.CA = None,
    certificate: broker_options.CERTIFICATE = None,
    key: broker_options.KEY = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON object a document.")] = False,
) -> None:
    """Subscribe: print documents as they come, until Ctrl-C.

    A document of a durable subscription is acknowledged when it is printed; one that is not comes
    again.  Who wants some only says so with --limit: a reader who goes away may leave more of them
    unread.
    """
    options = ClientOptions(broker, token, ca, certificate, key)
    for_durable = {
        "--since": since is not None,
        "--shared": shared is not None,
        "--ordered-by": ordered_by is not None,
        "--deliveries": deliveries is not None,
        "--no-ack": no_ack,
        "--forget": forget,
    }
    given = [option for option, is_given in for_durable.items() if is_given]
    _check(xpaths, subscriptions, durable, given)
    if forget and durable is not None:
        with options.connect_sync() as client:
            client.forget(durable)
        note(f"{durable} is forgotten")
        return
    bindings = chosen_bindings(namespace, variable, relative_to, xpath_version)
    expressions = _expressions(xpaths or [], bindings, subscriptions, skip_bad)
    path = _path(ordered_by, bindings)
    start = None if since is None else _start(since)
    show = shown(json=json, folder=folder)
    window = _WINDOW if limit is None else min(limit, _WINDOW)
    count = 0
    is_over = False
    with reporting_connection(), options.connect_sync() as client:
        subscription = client.subscribe(
            expressions or None,
            durable=durable,
            since=start,
            shared=shared,
            ordered_by=path,
            deliveries=deliveries,
            scope=scope or "",
            window=window,
        )
        with subscription, noting_signals() as signals:
            what = "subscribed" if durable is None else f"subscribed as {durable}"
            if subscription.scope:
                what += f" within {subscription.scope}"
            note(f"{what} at {client.broker or client.address}; Ctrl-C ends")
            if subscription.unreached:
                names = ", ".join(subscription.unreached)
                note(f"not reached: {names}; what is published there may be missed for a while")
            deadline = None if timeout is None else time.monotonic() + timeout
            following = _Following(
                subscription,
                show,
                acknowledging=durable is not None and not no_ack,
                patience=_PATIENCE if limit is None else 0.0,
            )
            with leaving_early():
                while not signals and (limit is None or count < limit):
                    left = _EVERY if deadline is None else min(_EVERY, deadline - time.monotonic())
                    count += following.show_next(max(0.0, left))
                    require_reader()
                    if deadline is not None and time.monotonic() >= deadline:
                        break
                is_over = not signals  # by itself, and with a reader who still reads
    if is_over and limit is not None and count < limit:
        note(f"{count:,} of {limit:,} documents came in {timeout:g} s")
        raise typer.Exit(1)


class _Following:
    """Shows the documents of a subscription, and acknowledges them."""

    def __init__(
        self, subscription: SyncSubscription, show: Show, *, acknowledging: bool, patience: float
    ) -> None:
        self._subscription = subscription
        self._show = show
        self._acknowledging = acknowledging
        self._patience = patience
        self._is_reading = True
        self._missed = 0
        self._interruptions = 0

    def show_next(self, timeout: float) -> int:
        """Show the next document, if one comes in time; how many did."""
        event = self._subscription.next(timeout)
        self._warn()
        if event is None:
            return 0
        self._show(event)
        if self._acknowledging:
            # A reader who takes nothing for so long is busy, and is not waited for until it reads.
            self._is_reading = wait_for_reader(self._patience if self._is_reading else 0.0)
            event.ack()
        return 1

    def _warn(self) -> None:
        missed = self._subscription.missed
        if missed > self._missed:
            warn(
                f"{missed - self._missed:,} documents were dropped, because the queue was full or "
                "they were kept for too long"
            )
            self._missed = missed
        interruptions = self._subscription.interruptions
        if interruptions > self._interruptions:
            warn("the connection was lost for a while; what was published meanwhile is missing")
            self._interruptions = interruptions


def _check(
    xpaths: list[str] | None, subscriptions: str | None, durable: str | None, given: list[str]
) -> None:
    """Refuse options that do not go together; ``given`` are those for durable ones."""
    if durable is None:
        for option in given:
            raise typer.BadParameter(f"{option} goes with --durable, which names what is kept")
        if not xpaths and subscriptions is None:
            raise typer.BadParameter(
                "there is nothing to subscribe to; give an XPath, --subscriptions, or --durable"
            )
    elif not durable:
        raise typer.BadParameter("the name of a durable subscription is not empty")
    elif "--forget" in given and (xpaths or subscriptions is not None or len(given) > 1):
        raise typer.BadParameter("--forget ends a subscription; leave out what would begin one")


def _path(ordered_by: str | None, bindings: Bindings) -> str | None:
    """A path to a value, with its prefixes resolved."""
    try:
        return str(parse_value_path(ordered_by, bindings.namespaces)) if ordered_by else ordered_by
    except ValueError as error:
        raise typer.BadParameter(f"--ordered-by: {error}") from None


def _expressions(
    xpaths: list[str], bindings: Bindings, subscriptions: str | None, skip_bad: bool
) -> dict[str, Pattern]:
    """Expressions by their keys: those of a file, and the texts of those that are arguments."""
    patterns: dict[str, Pattern] = {}
    if subscriptions is not None:
        skipped: list[SubscriptionFileError] = []
        named = read_subscriptions(subscriptions, skipped.append if skip_bad else None)
        patterns = {each.key: each.pattern for each in named}
        report_skipped(skipped)
        if not patterns:
            raise typer.BadParameter(f"there is no expression in {subscriptions}")
    parsed = parse_expressions(xpaths, bindings)
    for text, pattern in zip(xpaths, parsed, strict=True):
        if patterns.get(text, pattern) != pattern:
            raise typer.BadParameter(
                f"{text} is the key of another expression in {subscriptions}; rename that one"
            )
        patterns[text] = pattern
    return patterns


def _start(since: str) -> int | datetime:
    """A sequence number or a time; a number of more digits than queues get is no time either."""
    if re.fullmatch("[0-9]{1,18}", since):
        return int(since)
    return parse_since(since, "a sequence number as 120, ")
